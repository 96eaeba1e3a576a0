"""Compares the texts of two answers: where they differ, in a few short lines."""

import difflib
import re


def without_clocks(text, clocks):
    """The text with everything that a clock changes taken out."""
    for clock in clocks:
        text = re.sub(clock, "⏲", text)
    return text


def changes(one, other, lines_max):
    """The lines that `other` has instead of those of `one`, the first so many; long lines from a little before where they differ."""
    found = [line for line in difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)
             if not line.startswith(("---", "+++", "@@"))]
    shown = [abridged(line, found) for line in found[:lines_max]]
    return shown + ([f"and {len(found) - lines_max} more lines"] if len(found) > lines_max else [])


def abridged(line, lines):
    twin = next((other for other in lines if other[0] != line[0] and other[1:20] == line[1:20]), "")
    at = next((at for at, (one, two) in enumerate(zip(line[1:], twin[1:])) if one != two), 0)
    return line[0] + ("…" if at > 80 else "") + line[1:][max(0, at - 80):at + 120]
