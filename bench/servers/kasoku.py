"""Kasoku in its default profile, with the admin listener (so metrics) and, where the build has it, the access log on."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import native

NAME = "kasoku"
LABEL = "Kasoku"


@dataclass
class Place:
    """Where a server is to run."""

    port: int
    origin: int  # the origin's port
    directory: Path
    workers: int = 1
    memory_mib: int = 1024
    admin: int | None = None  # a port, for servers that have such a thing


def version():
    said = subprocess.run([native.kasoku(), "--version"], capture_output=True, text=True, check=False).stdout
    return re.search(r"\d+(\.\d+)+", said)[0]


@cache
def _has_access_log():
    help_text = subprocess.run([native.kasoku(), "serve", "--help"], capture_output=True, text=True, check=False).stdout
    return "--access-log" in help_text


def command(place):
    words = [native.kasoku(), "serve"]
    words += ["--listen", f"127.0.0.1:{place.port}", "--origin", f"http://127.0.0.1:{place.origin}"]
    words += ["--memory", f"{place.memory_mib}MiB", "--workers", str(place.workers)]
    if place.admin:
        words += ["--admin", f"127.0.0.1:{place.admin}"]
    if _has_access_log():
        words += ["--access-log", str(place.directory / "access.log")]
    return words


def log():
    return "file, by a thread of its own" if _has_access_log() else "none yet"
