#!/usr/bin/env python3
"""Tests the real Movable Type, versions 3.35, 6.8.8 and 9.2.1, behind Kasoku: searches, what an author writes, and an outage of the database.

    tests/movable_type/run.py [VERSION ...]

Each version runs twice: with `application = "movable-type"`, and with the line `ttl = "1h"` for its search and nothing else, as CGI and as
FastCGI. Versions whose archive is missing (install.py says where it is looked for) are skipped.

Prints a line for each scenario and `movable-type VERSION: N passed, M failed`; exits with 1 if a scenario failed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import freshness  # noqa: E402
import install  # noqa: E402
import outages  # noqa: E402
import searches  # noqa: E402
from scenarios import Tally  # noqa: E402
from site_under_test import Site  # noqa: E402

# Since version 8.4, each search says `no-store`, and only its operator may overrule that.
SAYS_NO_STORE = ("9.2.1",)
GRACE = 'grace = "1h"\n'


def tested(version):
    """Runs everything with one version; returns the exit status."""
    tally = Tally(f"movable-type {version}")
    line = 'ttl = "1h"\n'
    with Site(version) as site:
        disk = f'[disk]\npath = "{site.store}"\nsize = "64MiB"\n'
        site.serve(disk + site.lifetime(line))
        if version in SAYS_NO_STORE:
            tally.run(searches.REFUSED, site)
            line += 'ignore = ["no-store"]\n'
            site.serve(disk + site.lifetime(line))
        tally.run(searches.SHARED + searches.BY_FASTCGI, site)
        site.serve(disk + site.lifetime(line + GRACE))
        tally.run(outages.SCENARIOS[:1], site)
        site.serve(disk + site.lifetime(line.replace("1h", "2s") + GRACE))
        tally.run(outages.SCENARIOS[1:], site)
        site.serve(disk + site.policy())
        tally.run(searches.SHARED + freshness.SCENARIOS + outages.SCENARIOS[:1], site)
        return tally.end(site)


def main():
    missing = install.missing_modules()
    if missing:
        print(f"skipped: Perl lacks {', '.join(missing)}")
        return 0
    failed = False
    for version in sys.argv[1:] or install.VERSIONS:
        if install.archive(version) is None:
            print(f"skipped: there is no archive of Movable Type {version}")
            continue
        print(f"Movable Type {version}", flush=True)
        failed |= tested(version) != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
