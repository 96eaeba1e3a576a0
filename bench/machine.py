"""Describes the conditions of a measurement: the machine, the versions of all programs, the commit."""

import datetime
import os
import platform
import re
import subprocess

from native import ROOT
from servers import ALL, kasoku
from servers.place import version_of


TOOLS = {"wrk": ("wrk", "-v"), "valgrind": ("valgrind", "--version")}


def description(servers=tuple(ALL), tools=TOOLS):
    """A list for the document of the machine and all programs that the bench needs. `tools`: commands that print a version, by name."""
    lines = [
        f"- {_processor()}, {os.cpu_count()} cores, {_memory_gib():.0f} GiB of memory; {_system()}, Linux {platform.release()}",
        "- " + ", ".join(f"{ALL[name].LABEL} {ALL[name].version()}" for name in servers),
        "- " + ", ".join([*(f"{name} {version_of(*command)}" for name, command in tools.items()), _rustc()]),
    ]
    return "\n".join(lines)


def stamp(table, wanted):
    """The date, the commit, the processor and the method of one table's measurement. Tables may be of different machines."""
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    words = [f"Measured on {day} at commit {_commit()}", _processor()]
    if table != "instructions":
        words.append(f"medians of {wanted.rounds} rounds of {wanted.seconds} s")
    words.append(f"access log {'on' if kasoku.has_access_log() else 'not there yet'}")
    return ", ".join(words) + "."


def _commit():
    """The last commit that changed the program, so that commits of documents don't make the figures look old."""
    if "KASOKU" in os.environ:
        return "unknown (the program of $KASOKU)"

    def git(*words):
        words = ["git", *words, "--", "crates", "Cargo.toml", "Cargo.lock"]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return git("log", "-1", "--format=%h") + (" with changes" if git("status", "--porcelain") else "")


def _processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
    return found[1] if found else platform.machine()


def _memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _system():
    return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")


def _rustc():
    said = subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = re.match(r"rustc [\d.]+", said)
    return found[0] if found else "rustc unknown"
