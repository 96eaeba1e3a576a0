"""Measures the CPU time of a group of processes by the kernel's own account, including children that have ended.

A CGI program lives for milliseconds, so /proc, which shows only running processes, misses its time. A control group's account includes it.
Both versions of control groups are supported; it is an error if neither can be written.
"""

import os
from pathlib import Path

from processes import BenchError

_V1 = (Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup/cpu,cpuacct"))
_V2 = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))


class Group:
    """A context with a new control group, which it removes after the group's processes have ended."""

    def __init__(self, name):
        self.path, self._cpu_ns, self._split = _make(f"kasoku-bench-{os.getpid()}-{name}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.path.rmdir()
        except OSError:
            # A process that is just ending still occupies the group; an empty group then remains.
            pass

    def enter(self):
        """Puts the calling process, and all that it starts, into the group."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def cpu_ns(self):
        """User and system time so far, in nanoseconds."""
        return self._cpu_ns(self.path)

    def times_ns(self):
        """The same, and its parts, user and system time. The kernel samples the parts, so only the sum is exact for short spans."""
        return (self.cpu_ns(), *self._split(self.path))


def _make(name):
    for root in _V1:
        if (root / "cpuacct.usage").exists() and (path := _made(root / name)):
            return path, lambda path: int((path / "cpuacct.usage").read_text()), _split_v1
    for root in _V2:
        if (root / "cgroup.controllers").exists() and (path := _made(root / name)):
            if (path / "cpu.stat").exists():
                return path, _usage_v2, _split_v2
            path.rmdir()
    raise BenchError("no control group with an account of CPU time can be made here (root, and cpuacct or version 2, are needed)")


def _made(path):
    try:
        path.mkdir()
    except OSError:
        return None
    return path


def _split_v1(path):
    return tuple(int((path / f"cpuacct.usage_{part}").read_text()) for part in ("user", "sys"))


def _usage_v2(path):
    return _of_stat_v2(path, "usage_usec")


def _split_v2(path):
    return _of_stat_v2(path, "user_usec"), _of_stat_v2(path, "system_usec")


def _of_stat_v2(path, wanted):
    for line in (path / "cpu.stat").read_text().splitlines():
        name, value = line.split()
        if name == wanted:
            return int(value) * 1_000
    raise BenchError(f"{path}/cpu.stat has no {wanted}")
