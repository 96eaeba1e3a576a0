"""Configures Kasoku in its default profile, with metrics and, if the build has one, the access log."""

import subprocess
import tempfile
from functools import cache

import native
from servers.place import version_of

LABEL = "Kasoku"


def version():
    return version_of(native.kasoku(), "--version")


@cache
def has_access_log():
    """Whether this build can write an access log."""
    command = [native.kasoku(), "serve", "--help"]
    return "--access-log" in subprocess.run(command, capture_output=True, text=True, check=False).stdout


@cache
def knows(setting):
    """Whether this build knows a setting: some tables have a row only for builds that do."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(f'{setting}\n[[site]]\norigin = "http://127.0.0.1:1"\n')
        file.flush()
        return subprocess.run([native.kasoku(), "check", file.name], capture_output=True, check=False).returncode == 0


def command(place):
    words = [native.kasoku(), "serve"]
    words += ["--listen", f"127.0.0.1:{place.port}", "--origin", f"http://127.0.0.1:{place.origin}"]
    words += ["--memory", f"{place.memory_mib}MiB", "--workers", place.workers]
    if place.admin:
        words += ["--admin", f"127.0.0.1:{place.admin}"]
    if has_access_log():
        words += ["--access-log", place.directory / "access.log"]
    if place.store:
        words += ["--disk", f"{place.store}:{place.store_mib}MiB"]
    if place.settings:
        words += ["--config", place.write("kasoku.toml", place.settings)]
    return words
