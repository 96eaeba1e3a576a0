"""Kasoku in its default profile, memory tier, with metrics and, where the build has it, the access log on."""

import subprocess
from functools import cache

import native
from servers.place import version_of

LABEL = "Kasoku"


def version():
    return version_of(native.kasoku(), "--version")


@cache
def has_access_log():
    """Whether this build can write one."""
    command = [native.kasoku(), "serve", "--help"]
    return "--access-log" in subprocess.run(command, capture_output=True, text=True, check=False).stdout


def command(place):
    words = [native.kasoku(), "serve"]
    words += ["--listen", f"127.0.0.1:{place.port}", "--origin", f"http://127.0.0.1:{place.origin}"]
    words += ["--memory", f"{place.memory_mib}MiB", "--workers", place.workers]
    if place.admin:
        words += ["--admin", f"127.0.0.1:{place.admin}"]
    if has_access_log():
        words += ["--access-log", place.directory / "access.log"]
    return words
