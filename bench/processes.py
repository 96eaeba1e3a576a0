"""Starts the programs that a round needs, each on its cores, and reliably ends all of them.

A `Programs` is a context. When it is left, also by an error or Ctrl-C, all programs that it started have ended, including the children of
their children (servers fork, some into new sessions). To this end this process is the reaper of its orphans. If it is killed itself, the
kernel sends SIGTERM to its direct children.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

STOP_SECONDS_MAX = 5
START_SECONDS_MAX = 30
# Longer than any turn.
CLIENT_SECONDS_MAX = 600

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


class BenchError(Exception):
    """An error that makes the figures worthless; the message is for the person who runs the bench."""


class Programs:
    """The programs of one measurement and their scratch directory."""

    def __init__(self):
        self._running = []

    def __enter__(self):
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        # In memory, so that no server waits for a disk; readable for servers that change their user.
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.scratch = Path(tempfile.mkdtemp(prefix="kasoku-bench-", dir=base))
        self.scratch.chmod(0o777)
        self._on_disk = None
        return self

    def __exit__(self, *_):
        for program in reversed(self._running):
            program.stop()
        self._running = []
        for made in (self.scratch, self._on_disk):
            if made:
                shutil.rmtree(made, ignore_errors=True)

    def directory(self, name):
        """A fresh directory for one program."""
        path = self.scratch / name
        path.mkdir()
        path.chmod(0o777)
        return path

    def disk_directory(self, name):
        """A fresh directory for what a server keeps on disk: below $BENCH_DISK, or /var/tmp."""
        if not self._on_disk:
            self._on_disk = Path(tempfile.mkdtemp(prefix="kasoku-bench-", dir=os.environ.get("BENCH_DISK", "/var/tmp")))
            self._on_disk.chmod(0o777)
            _check_page_cache(self._on_disk)
        path = self._on_disk / name
        path.mkdir()
        path.chmod(0o777)
        return path

    def start(self, name, command, cores, entered=None, **environment):
        """Starts a program on the given cores; its output goes to a file in the scratch directory.

        The new process calls `entered` before it executes the program, to enter a control group.
        """
        log = open(self.scratch / f"{name}.out", "wb")

        def prepare():
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            os.sched_setaffinity(0, cores)
            if entered:
                entered()

        with log:
            child = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=prepare,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        program = Program(name, child, Path(log.name))
        self._running.append(program)
        return program

    def stop(self, program):
        program.stop()
        self._running.remove(program)


class Program:
    """A running program with all its processes."""

    def __init__(self, name, child, log):
        self.name = name
        self.child = child
        self.log = log

    @property
    def pid(self):
        return self.child.pid

    def said(self):
        return self.log.read_text(errors="replace")

    def until_listening(self, place):
        """Waits until a port, or a Unix socket's path, accepts connections; an error if the program ends before."""
        family, address = (socket.AF_INET, ("127.0.0.1", place)) if isinstance(place, int) else (socket.AF_UNIX, str(place))
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            if self.child.poll() is not None:
                raise BenchError(f"{self.name} ended with {self.child.returncode}:\n{self.said()}")
            try:
                with socket.socket(family) as probe:
                    probe.settimeout(1)
                    probe.connect(address)
                return self
            except OSError:
                if time.monotonic() > deadline:
                    raise BenchError(f"{self.name} does not listen:\n{self.said()}") from None
                time.sleep(0.02)

    def kill(self):
        """Ends the first process as `kill -9` does, and waits for its end."""
        self.child.kill()
        self.child.wait()

    def stop(self):
        family = [self.pid, *descendants(self.pid)]
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                pass
        for pid in family:
            # This process has adopted orphans, so their ids can't be reused before it waits for them.
            if pid == self.pid and self.child.returncode is not None:
                continue
            if pid == self.pid or _parent(pid) in (os.getpid(), *family):
                _kill(pid)
        self.child.wait()
        for pid in family[1:]:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass


def run_client(words, cores):
    """Runs a client to its end on these cores; returns its output. It is an error if the client does not end: h2load never does if the
    server closes each connection after the first answer."""
    try:
        done = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            check=False,
            timeout=CLIENT_SECONDS_MAX,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
    except subprocess.TimeoutExpired as expired:
        raise BenchError(f"{words[0]} does not end: {' '.join(expired.cmd)}") from None
    if done.returncode != 0:
        raise BenchError(f"{words[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _check_page_cache(directory):
    """On a tmpfs, Kasoku can't read what is in memory without a thread that may wait, so a tmpfs is no disk for a comparison."""
    path = directory / "probe"
    path.write_bytes(b"probe")
    with open(path, "rb") as file:
        try:
            os.preadv(file.fileno(), [bytearray(5)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            pass
        except OSError as error:
            raise BenchError(f"{directory} is on no disk with a page cache ({error}): set BENCH_DISK") from None
    path.unlink()


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


def descendants(pid):
    """The ids of all children of a process, and of theirs."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            children.setdefault(_parent(int(entry)), []).append(int(entry))
    found = []
    queue = [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
