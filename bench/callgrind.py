"""Runs a program under callgrind, reads the profiles that it dumps, and makes lists of them: by function and by source file.

callgrind_annotate gets partial dumps wrong (it counts all cost as the own cost of the frames that are active at the dump), and it lists a
function once for each file that was inlined into it. The format is small: `fn=` opens a function, a `calls=` line tells how often the function
of the last `cfn=` was called and makes the next line the inclusive cost of those calls, and every other line that starts with a position is
own cost. A name is written once, later only its number: `fn=(7) name`, then `fn=(7)`. https://valgrind.org/docs/manual/cl-format.html

The inclusive cost of a recursive function is counted more than once; here it is capped at the total.
"""

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from processes import BenchError

DUMP_SECONDS_MAX = 60
PIPES = "vgdb"  # how the names of the files begin through which a process under valgrind is controlled

_SPEC = re.compile(r"^(c?(?:fn|fi|fl|fe|ob))=\((\d+)\)(?: (.*))?$")
_CALLS = re.compile(r"^calls=(\d+)")
_COST = re.compile(r"^[+*-]?\d*\s+(\d+)$")


@dataclass
class Profile:
    """Numbers of instructions; `total` is the dump's own sum."""

    total: int = 0
    own: Counter = field(default_factory=Counter)  # by function
    inclusive: Counter = field(default_factory=Counter)  # by function
    files: Counter = field(default_factory=Counter)  # own cost by source file; inlined code counts for the file that contains it
    calls: Counter = field(default_factory=Counter)  # numbers of calls, by caller and callee


def under(counts):
    """The words before a command that run it under callgrind, with its dumps in files of this name and a number. `%p` in the name is the
    number of the process: a child that it forks is under callgrind as well, and is asked for its own dumps."""
    return ["valgrind", "--tool=callgrind", "--trace-children=yes", _pipes(counts), f"--callgrind-out-file={counts}", "--dump-line=yes"]


def dump(process, counts):
    """Dumps the counts of a process since its last dump; returns the file, which has the highest number."""
    for pipe in counts.parent.glob(f"{PIPES}-*"):
        pipe.chmod(0o666)
    command = [*_as_user_of(process), "callgrind_control", _pipes(counts), "--dump", str(process)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DUMP_SECONDS_MAX, check=False)
    if "OK" not in done.stdout:
        raise BenchError(f"callgrind_control: {done.stdout}{done.stderr}")
    return max(counts.parent.glob(f"{counts.name}.*"), key=lambda path: int(path.suffix[1:]))


def _pipes(counts):
    """The option of valgrind and of callgrind_control that says where they meet: beside the counts."""
    return f"--vgdb-prefix={counts.parent}/{PIPES}"


def _as_user_of(process):
    """The words before a command that run it as the user of the process, if that has changed its user: valgrind answers nobody whom it may
    not send a signal. Such a process can't be traced without a capability, not even by its own user."""
    status = Path(f"/proc/{process}/status").read_text()
    user, group = (re.search(rf"^{name}:\t(\d+)", status, re.MULTILINE)[1] for name in ("Uid", "Gid"))
    if int(user) == os.getuid():
        return []
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace"]


def measured(process, counts):
    """The profile of a process since its last dump, and its file."""
    path = dump(process, counts)
    profile = read(path)
    if sum(profile.own.values()) != profile.total or profile.total == 0:
        raise BenchError(f"{path.name} was not understood: its parts are not its total")
    return profile, path


def read(path):
    """Reads the profile of one dump."""
    profile = Profile()
    names = {"fn": {}, "file": {}}
    function = file = callee = None
    is_call = False
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in map(str.strip, lines):
            if spec := _SPEC.match(line):
                key, number, name = spec.groups()
                kind = "fn" if key.endswith("fn") else "ob" if key.endswith("ob") else "file"
                if kind != "ob" and name is not None:
                    names[kind][number] = name
                if key == "fn":
                    function = names["fn"][number]
                elif key == "cfn":
                    callee = names["fn"][number]
                elif key in ("fl", "fi", "fe"):
                    file = names["file"][number]
            elif calls := _CALLS.match(line):
                profile.calls[function, callee] += int(calls[1])
                is_call = True
            elif line.startswith("totals:"):
                profile.total = int(line.split()[1])
            elif function and (cost := _COST.match(line)):
                count = int(cost[1])
                profile.inclusive[function] += count
                if not is_call:
                    profile.own[function] += count
                    profile.files[_short(file)] += count
                is_call = False
    for name in profile.inclusive:
        profile.inclusive[name] = min(profile.inclusive[name], profile.total)
    return profile


def _short(file):
    """The part of a path that identifies the file: `engine/src/request/route.rs`, `tokio-1.54.1/src/…`, `library/core/…`."""
    for mark in ("/crates/", "/registry/src/"):
        if mark in file:
            tail = file.split(mark, 1)[1]
            return tail.split("/", 1)[1] if mark == "/registry/src/" else tail
    return re.sub(r"^.*/(library/)", r"\1", file)


def listing(counts, total, requests, lines_max):
    """Lines of instructions per request, share and name, the most expensive first."""
    lines = [f"{'per request':>12} {'share':>7}  name"]
    for name, count in counts.most_common(lines_max):
        lines.append(f"{count / requests:>12,.1f} {count / total:>7.2%}  {name}")
    return lines
