"""Reads the CPU time of a server and of all its processes from /proc."""

import os
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def seconds(pids):
    """User and system time so far of these processes and all their descendants, including children that have ended."""
    stats = _stats()
    below = {}
    for pid, (parent, _) in stats.items():
        below.setdefault(parent, []).append(pid)
    found, left = 0, list(pids)
    while left:
        pid = left.pop()
        found += stats.get(pid, (0, 0))[1]
        left += below.get(pid, [])
    return found / _TICKS_PER_SECOND


def _stats():
    """Parent and ticks by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The program's name, in brackets, may contain any character; in proc(5) the fields after it begin with number 3.
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    return found
