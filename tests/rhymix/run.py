#!/usr/bin/env python3
"""Tests the real Rhymix 2.1.35 behind Kasoku: what it prints for guests and takes from them, which its policy stands on; then, with
`application = "rhymix"`, a crowd, members, what visitors write, Chromium, and an oracle that checks what each of many visitors is shown.

Prints a line for each scenario and `rhymix: N passed, M failed`; exits with 1 if a scenario failed. Without the archive (install.py), it is
skipped.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import browsers  # noqa: E402
import crowd  # noqa: E402
import freshness  # noqa: E402
import guests  # noqa: E402
import install  # noqa: E402
import mistakes  # noqa: E402
import oracle  # noqa: E402
import pretences  # noqa: E402
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
        for part in (guests, crowd, freshness, pretences, browsers, oracle, mistakes):
            tally.run(part.SCENARIOS, site)
        tally.run(guests.LAST, site)
        return tally.end(site)


if __name__ == "__main__":
    sys.exit(main())
