#!/usr/bin/env python3
"""Tests what the real Rhymix 2.1.35 prints for guests, and what it takes from them: what its policy stands on.

Prints a line for each scenario and `rhymix: N passed, M failed`; exits with 1 if a scenario failed. Without the archive (install.py), it is
skipped.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import install  # noqa: E402
import tokens  # noqa: E402
from scenarios import Tally  # noqa: E402


def main():
    if install.archive() is None:
        print(f"skipped: there is no archive of {install.NAME}")
        return 0
    tally = Tally("rhymix")
    with install.Site() as site:
        tally.run(tokens.SCENARIOS, site)
        return tally.end(site)


if __name__ == "__main__":
    sys.exit(main())
