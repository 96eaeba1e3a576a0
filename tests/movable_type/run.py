#!/usr/bin/env python3
"""Tests the real Movable Type, versions 3.35, 6.8.8 and 9.2.1, behind Kasoku: searches, what an author writes, and an outage of the database.

    tests/movable_type/run.py [--outage SECONDS] [--half grant|policy] [VERSION ...]

Each version runs twice: with the line `ttl = "1h"` for its search and nothing else ("grant"), and with `application = "movable-type"`
("policy"), as CGI and as FastCGI. Versions whose archive is missing (install.py says where it is looked for) are skipped.

In each half the database is away once for ten minutes, over a restart of Kasoku. `--outage 20` makes that 20 seconds.

Prints a line for each scenario and `movable-type VERSION HALF: N passed, M failed`; exits with 1 if a scenario failed.
"""

import argparse
import functools
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import documented  # noqa: E402
import freshness  # noqa: E402
import install  # noqa: E402
import outages  # noqa: E402
import searches  # noqa: E402
from scenarios import Tally  # noqa: E402
from site_under_test import Site  # noqa: E402

# Since version 8.4, each search says `no-store`, and only its operator may overrule that.
SAYS_NO_STORE = ("9.2.1",)
OUTAGE_SECONDS = 600
GRACE = 'grace = "1h"\n'


def disk(site):
    return f'[disk]\npath = "{site.store}"\nsize = "64MiB"\n'


def with_the_grant(site, outage):
    """The scenarios with one line; returns the exit status."""
    tally = Tally(f"movable-type {site.version} grant")
    line = 'ttl = "1h"\n'
    site.serve(disk(site) + site.lifetime(line))
    if site.version in SAYS_NO_STORE:
        tally.run(searches.REFUSED, site)
        line += 'ignore = ["no-store"]\n'
        site.serve(disk(site) + site.lifetime(line))
    tally.run(searches.SHARED, site)
    site.serve(disk(site) + site.lifetime(line + GRACE))
    tally.run(outages.SCENARIOS[:1], site)
    site.serve(disk(site) + site.lifetime(line.replace("1h", "2s") + GRACE))
    tally.run([*outages.SCENARIOS[1:], outage], site)
    return tally.end(site)


def with_the_policy(site, outage):
    """The scenarios with the policy; returns the exit status."""
    tally = Tally(f"movable-type {site.version} policy")
    site.serve(disk(site) + site.policy())
    tally.run(searches.SHARED + freshness.SCENARIOS + outages.SCENARIOS[:1], site)
    tally.run(documented.SCENARIOS, site)
    # The policy's lifetime is five minutes.
    site.serve(disk(site) + site.policy('ttl-max = "2s"'))
    tally.run([*outages.SCENARIOS[1:], outage], site)
    return tally.end(site)


HALVES = {"grant": with_the_grant, "policy": with_the_policy}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="*", choices=[[], *install.VERSIONS], metavar="VERSION", help="by default all three")
    parser.add_argument("--outage", type=int, default=OUTAGE_SECONDS, metavar="SECONDS", help="for how long the database is away (default: %(default)s)")
    parser.add_argument("--half", choices=HALVES, help="by default both, one after the other")
    return parser.parse_args()


def main():
    chosen = arguments()
    missing = install.missing_modules()
    if missing:
        print(f"skipped: Perl lacks {', '.join(missing)}")
        return 0
    # The servers end as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    outage = functools.partial(outages.an_outage_over_a_restart, seconds=chosen.outage)
    outage.__name__ = f"an_outage_of_{chosen.outage}_seconds_over_a_restart"
    failed = False
    for version in chosen.versions or install.VERSIONS:
        if install.archive(version) is None:
            print(f"skipped: there is no archive of Movable Type {version}")
            continue
        with Site(version) as site:
            for half in [chosen.half] if chosen.half else HALVES:
                print(f"Movable Type {version}, {half}", flush=True)
                failed |= HALVES[half](site, outage) != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
