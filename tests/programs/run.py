#!/usr/bin/env python3
"""Runs twelve real programs behind Kasoku, each with the one line that its operator writes.

    tests/programs/run.py [NAME ...]             all programs, or these
    tests/programs/run.py --changing [NAME ...]  what changes on their pages without Kasoku

Each program's file in `under_test` lists ten URLs with what should come: a hit at the second request, or never a hit and why. Three visitors
with different browsers ask them. Where pages are not as expected, the line of the configuration that `kasoku explain` proposes for most of them
is added, and all pages are asked once more; more lines than one count as a failure, unless the program's file says why it needs more. Then
people log in, write, clone and download, first without Kasoku and then through it.

Prints a table for each program and `programs: N passed, N failed`; exits with 1 if anything failed. It installs what is missing.
"""

import argparse
import importlib
import sys
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "browsing")]

import changing  # noqa: E402
import trial  # noqa: E402
from packages import NotInstallable  # noqa: E402
from servers import PROGRAM  # noqa: E402

# The lines that explain proposes and that are tried.
LINES_MAX = 3
NAMES = ["gitweb", "cgit", "hgweb", "datasette", "dokuwiki", "mediawiki", "dwww", "omega", "awstats", "smokeping", "redmine", "hyperkitty"]


def main():
    # A line is there when it is true, also in a file.
    sys.stdout.reconfigure(line_buffering=True)
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--changing", action="store_true", help="show what changes on the pages without Kasoku")
    words.add_argument("--also", action="append", default=[], metavar="LINE", help="a further line of the configuration, from the beginning")
    words.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    words = words.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: `make build` makes it")
    passed = failed = skipped = 0
    for name in words.names or NAMES:
        print(f"\n== {name}", flush=True)
        try:
            counts = program(name, words)
        except NotInstallable as error:
            print(f"skipped {name}: {error}", flush=True)
            skipped += 1
            continue
        except Exception:  # any error fails this program alone, and the others still run
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
            counts = (0, 1)
        passed, failed = passed + counts[0], failed + counts[1]
    print(f"\n{skipped} skipped\nprograms: {passed} passed, {failed} failed")
    return 1 if failed else 0


def program(name, words):
    """Runs one program; returns how many pages and scenarios passed, and how many failed."""
    kind = importlib.import_module(f"under_test.{name}").Program
    kind.name = name
    kind.get_ready()
    with kind() as running:
        running.configure(words.also)
        if words.changing:
            changing.show(running)
            return 0, 0
        results = pages(running) + [scenario(running, one) for one in running.scenarios]
    return results.count(True), results.count(False)


def pages(running):
    """Asks the pages, again with each line that explain proposes while some fail; returns which passed with all these lines."""
    while True:
        rows = trial.pages(running)
        print("        with " + ", and ".join([running.line, *running.further]))
        trial.table(rows)
        lines = () if all(row.has_passed for row in rows) else trial.proposed(rows, running.further)
        if not lines or len(running.further) >= LINES_MAX:
            break
        running.configure([*running.further, *lines])
    results = [row.has_passed for row in rows]
    if len(running.further) > running.further_max:
        print(f"FAILED  {len(running.further)} further lines, not {running.further_max}")
        results.append(False)
    return results


def scenario(running, one):
    """Runs a scenario without Kasoku, then through it; whether both passed."""
    name = one.__name__.replace("_", " ")
    for way in (running.without, running.through):
        try:
            one(way)
        except Exception:  # any error fails this scenario alone, and the others still run
            print(f"FAILED  {name} ({way.name})\n{traceback.format_exc()}", flush=True)
            return False
    print(f"ok      {name}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
