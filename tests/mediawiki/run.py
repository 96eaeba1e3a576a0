#!/usr/bin/env python3
"""MediaWiki behind Kasoku with `application = "mediawiki"`: read, searched, edited with an account and without, logged in to and out of.

Everything is the real program from Debian: MediaWiki, php-fpm, MariaDB, and Chromium for what a person does. First the wiki as its
installer leaves it, which says `private` to everybody, with what went wrong once with others, and how soon a write is seen; then with the lines that its handbook has for a cache in front
($wgUseCdn), where it states lifetimes of hours and sends a PURGE for what changes.

Prints a line for each scenario and `mediawiki: N passed, M failed`; exits with 1 when anything failed. With KASOKU_SCREENSHOTS=DIRECTORY it
leaves pictures there.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import freshness  # noqa: E402
import plain  # noqa: E402
import purged  # noqa: E402
import rows  # noqa: E402
from browser import Browser  # noqa: E402
from scenarios import Tally  # noqa: E402
from site_under_test import PURGES, Site  # noqa: E402

# Debian's package lies in two places, and links them.
RULES = """
[[site]]
origin = "fastcgi://unix:{socket}"
root = "{root}"
symlinks = "anywhere"
application = "mediawiki"
"""

# Short addresses: what is no file is for the wiki. It purges what an edit changes, so edits drop nothing else.
SHORT = RULES + 'try-files = ["{{path}}", "/index.php"]\nchanges = []\n'


def main():
    tally = Tally("mediawiki")
    with Site() as site:
        for rules, settings, scenarios in [(RULES, "", plain.SCENARIOS), (RULES, "", rows.SCENARIOS + freshness.SCENARIOS), (SHORT, PURGES, purged.SCENARIOS)]:
            site.rules = rules.format(socket=site.php_socket, root=site.root)
            site.serve(site.rules)
            site.set(settings)
            with Browser() as editor, Browser() as passer_by, Browser() as stranger:
                tally.run(scenarios, site, editor=editor, passer_by=passer_by, stranger=stranger)
        return tally.end(site)


if __name__ == "__main__":
    sys.exit(main())
