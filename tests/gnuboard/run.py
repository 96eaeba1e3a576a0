#!/usr/bin/env python3
"""Tests gnuboard5 with its shop behind Kasoku, as its authors publish it and installed by its own installer.

All programs are real: gnuboard5, php-fpm, MariaDB, nginx, and Chromium where a browser matters. The tests run twice: with php-fpm as
Kasoku's origin (FastCGI), and with nginx, in the configuration that the documentation shows.

    tests/gnuboard/run.py [--version VERSION] [--skins] [fastcgi|http ...]

Prints a line for each scenario and `gnuboard: N passed, M failed`; exits with 1 if a scenario failed. Without the archive (see
site_under_test.py) it is skipped.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import browsers  # noqa: E402
import counters  # noqa: E402
import freshness  # noqa: E402
import guard  # noqa: E402
import mistakes  # noqa: E402
import oracle  # noqa: E402
import pretences  # noqa: E402
import relief  # noqa: E402
import skins  # noqa: E402
import table  # noqa: E402
from scenarios import Tally  # noqa: E402
from site_under_test import VERSIONS, Site, archive  # noqa: E402

APPLICATION = 'application = "gnuboard5"\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--version", choices=VERSIONS, default=VERSIONS[0])
    parser.add_argument("--skins", action="store_true", help="the crowd once more with each of the other skins")
    parser.add_argument("ways", nargs="*", default=["fastcgi", "http"], help="fastcgi, http, or both")
    wanted = parser.parse_args()
    if archive(wanted.version) is None:
        print(f"skipped: there is no archive of gnuboard5 {wanted.version}")
        return 0
    tally = Tally("gnuboard")
    for way in wanted.ways:
        print(f"-- {wanted.version}, {way}")
        with Site(wanted.version) as site:
            rules = site.fastcgi_rules() if way == "fastcgi" else site.http_rules()
            site.serve(rules + APPLICATION)
            site.set(cf_delay_sec=-1)
            for part in (guard, relief, table, counters, freshness, pretences, browsers, oracle):
                tally.run(part.SCENARIOS, site)
            tally.run(guard.LAST, site)
            # It is enough to show with one origin that the oracle can fail, and what other skins do.
            others = skins.SCENARIOS if wanted.skins else []
            tally.run(others + mistakes.SCENARIOS if way == wanted.ways[0] else [], site)
            status = tally.end(site) if way == wanted.ways[-1] else 0
    return status


if __name__ == "__main__":
    sys.exit(main())
