"""Reads a profile that callgrind dumped, and makes lists of it: by function and by source file.

callgrind_annotate gets partial dumps wrong (it counts all cost as the own cost of the frames that are active at the dump), and it lists a
function once for each file that was inlined into it. The format is small: `fn=` opens a function, a `calls=` line makes the next line the
inclusive cost of that call, and every other line that starts with a position is own cost. A name is written once, later only its number:
`fn=(7) name`, then `fn=(7)`. https://valgrind.org/docs/manual/cl-format.html

The inclusive cost of a recursive function is counted more than once; here it is capped at the total.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

_SPEC = re.compile(r"^(c?(?:fn|fi|fl|fe|ob))=\((\d+)\)(?: (.*))?$")
_COST = re.compile(r"^[+*-]?\d*\s+(\d+)$")


@dataclass
class Profile:
    """Numbers of instructions; `total` is the dump's own sum."""

    total: int = 0
    own: Counter = field(default_factory=Counter)  # by function
    inclusive: Counter = field(default_factory=Counter)  # by function
    files: Counter = field(default_factory=Counter)  # own cost by source file; inlined code counts for the file that contains it


def read(path):
    """Reads the profile of one dump."""
    profile = Profile()
    names = {"fn": {}, "file": {}}
    function = file = None
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
                elif key in ("fl", "fi", "fe"):
                    file = names["file"][number]
            elif line.startswith("calls="):
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
