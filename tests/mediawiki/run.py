#!/usr/bin/env python3
"""Tests MediaWiki behind Kasoku with `application = "mediawiki"`: reading, searching, editing with and without an account, log-in and
log-out.

All programs are real and from Debian: MediaWiki, php-fpm, MariaDB, and Chromium for a person's actions. The first part tests the wiki as
its installer leaves it, which says `private` to every visitor, problems that had occurred with other applications, and how soon a write
shows. The second part tests the wiki with the lines of its handbook for a cache in front ($wgUseCdn), with which it states lifetimes of
hours and sends a PURGE for each change.

Prints a line for each scenario and `mediawiki: N passed, M failed`; exits with 1 if a scenario failed. KASOKU_SCREENSHOTS=DIRECTORY saves
screenshots there.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import freshness  # noqa: E402
import plain  # noqa: E402
import pretences  # noqa: E402
import purged  # noqa: E402
import rows  # noqa: E402
from browser import Browser  # noqa: E402
from scenarios import Tally  # noqa: E402
from site_under_test import PURGES, Site  # noqa: E402

# Debian's package has its files in two directories, with links between them.
RULES = """
[[site]]
origin = "fastcgi://unix:{socket}"
root = "{root}"
symlinks = "anywhere"
application = "mediawiki"
"""

# Short addresses: a URL that is no file goes to the wiki. The wiki purges the pages that an edit changes, so edits drop no other pages.
SHORT = RULES + 'try-files = ["{{path}}", "/index.php"]\nchanges = []\n'


def main():
    tally = Tally("mediawiki")
    with Site() as site:
        for rules, settings, scenarios in [(RULES, "", plain.SCENARIOS), (RULES, "", rows.SCENARIOS + freshness.SCENARIOS + pretences.SCENARIOS), (SHORT, PURGES, purged.SCENARIOS)]:
            site.rules = rules.format(socket=site.php_socket, root=site.root)
            site.serve(site.rules)
            site.set(settings)
            with Browser() as editor, Browser() as passer_by, Browser() as stranger:
                tally.run(scenarios, site, editor=editor, passer_by=passer_by, stranger=stranger)
        return tally.end(site)


if __name__ == "__main__":
    sys.exit(main())
