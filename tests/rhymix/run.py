#!/usr/bin/env python3
"""Tests the real Rhymix 2.1.35 behind Kasoku: what it prints for guests and takes from them, which its policy stands on; then, with
`application = "rhymix"`, a crowd, members, and what visitors write.

Prints a line for each scenario and `rhymix: N passed, M failed`; exits with 1 if a scenario failed. Without the archive (install.py), it is
skipped.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import crowd  # noqa: E402
import freshness  # noqa: E402
import guests  # noqa: E402
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
        site.serve(site.policy())
        tally.run(guests.SCENARIOS + crowd.SCENARIOS + freshness.SCENARIOS + guests.LAST, site)
        return tally.end(site)


if __name__ == "__main__":
    sys.exit(main())
