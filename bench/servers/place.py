"""Where and how large a server is to run: what the bench decides, not the server's own module."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# All caches get the same, and it is more than the objects of the hit tables take.
MEMORY_MIB = 1024
# Access logs are on for all that have one, as they are in production, and buffered where the server can.
LOG_BUFFER_BYTES = 65536
# Connections stay open for as long as a round lasts, whatever the number of requests.
KEEP_ALIVE_SECONDS = 300


@dataclass
class Place:
    """Where a server is to run."""

    port: int
    origin: int  # the origin's port
    directory: Path  # for its files, in memory
    workers: int = 1
    memory_mib: int = MEMORY_MIB
    admin: int | None = None  # a port, for Kasoku
    body_bytes: int = 0  # for the limit, which has one response

    def write(self, name, text):
        """Writes a file of configuration; gives its path."""
        path = self.directory / name
        path.write_text(text)
        return path


def version_of(*command):
    """The first thing that looks like a version in what the command says."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+(\.\d+)*", done.stdout + done.stderr)
    return found[0] if found else "unknown"
