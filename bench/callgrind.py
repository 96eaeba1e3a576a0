"""Reads a profile that callgrind dumped, and makes lists of it: by function and by source file.

callgrind_annotate gets partial dumps wrong (the frames that are active at the dump swallow everything as their own
cost), and it lists a function once for each file that was inlined into it. The format is small: `fn=` opens a function,
a `calls=` line makes the next line the inclusive cost of that call, every other line that starts with a position is own cost,
and names are written once, then by number: `fn=(7) name`, later `fn=(7)`.
https://valgrind.org/docs/manual/cl-format.html

A function that calls itself counts its inclusive cost more than once; here that is capped at the total.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

_SPEC = re.compile(r"^(c?(?:fn|fi|fl|fe|ob))=\((\d+)\)(?: (.*))?$")
_COST = re.compile(r"^[+*-]?\d*\s+(\d+)$")


@dataclass
class Profile:
    """Instructions; `total` is what the dump itself says."""

    total: int = 0
    own: Counter = field(default_factory=Counter)  # by function
    inclusive: Counter = field(default_factory=Counter)  # by function
    files: Counter = field(default_factory=Counter)  # own cost by source file, inlined code where it was written


def read(path):
    """The profile in one dump."""
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
    """Of a path what tells the place: `engine/src/request/route.rs`, `tokio-1.54.1/src/…`, `library/core/…`."""
    for mark in ("/crates/", "/registry/src/"):
        if mark in file:
            tail = file.split(mark, 1)[1]
            return tail.split("/", 1)[1] if mark == "/registry/src/" else tail
    return re.sub(r"^.*/(library/)", r"\1", file)


def listing(counts, total, requests, lines_max):
    """`instructions per request, share, name`, the dearest first."""
    lines = [f"{'per request':>12} {'share':>7}  name"]
    for name, count in counts.most_common(lines_max):
        lines.append(f"{count / requests:>12,.1f} {count / total:>7.2%}  {name}")
    return lines
