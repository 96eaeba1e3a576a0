"""The settings that the bench decides for all servers: ports, directories, memory, logs, connections."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# All caches get the same memory, which is more than the objects of the hit tables take.
MEMORY_MIB = 1024
# Access logs are on in all servers that have one, as in production, and buffered if the server can do that.
LOG_BUFFER_BYTES = 65536
# Connections stay open for a whole round, for any number of requests.
KEEP_ALIVE_SECONDS = 300


@dataclass
class Place:
    """The settings of one server."""

    port: int
    origin: int  # the origin's port
    directory: Path  # for its files, in memory
    workers: int = 1
    memory_mib: int = MEMORY_MIB
    admin: int | None = None  # a port, for Kasoku
    body_bytes: int = 0  # for the limit, which has one response
    store: Path | None = None  # a directory on disk for the cache's files; none: they are in memory
    store_mib: int = 0  # what they may take there
    keeps_open: bool = True  # whether a server may keep all files of its store open
    settings: str = ""  # more lines of Kasoku's configuration

    def write(self, name, text):
        """Writes a configuration file; returns its path."""
        path = self.directory / name
        path.write_text(text)
        return path


def version_of(*command):
    """The first text that looks like a version in the command's output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+(\.\d+)*", done.stdout + done.stderr)
    return found[0] if found else "unknown"
