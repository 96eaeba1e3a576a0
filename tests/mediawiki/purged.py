"""Tests the wiki with $wgUseCdn and short addresses: it states lifetimes of hours for readers, and sends a PURGE for each changed page.

By default, MediaWiki's command-line programs use other URLs of pages than MediaWiki behind php-fpm, so the purges of its jobs would have no
effect. $wgArticlePath sets the URLs.
"""

import time

from scenarios import equal, holds, lacks, picture, true
from site_under_test import ADMIN, PASSWORD
from visitor import Visitor
from wiki import address, edit, log_in, who


def short(title):
    return f"/wiki/{title}"



def what_the_wiki_states_counts(site, **_):
    for path in [short("Main_Page"), address("Main_Page", "&action=history")]:
        Visitor(site).get(path)
        answer = Visitor(site).get(path)
        true(answer.is_hit, f"{path} again ({answer.decision})")
        holds(answer.fields["cache-control"], "s-maxage=18000", f"what the wiki states for {path}")
        true(int(answer.decision.partition("ttl=")[2].partition(";")[0]) > 17000, f"the lifetime of {path} ({answer.decision})")


def what_is_for_one_reader_passes_under_short_addresses(site, **_):
    for path in [short("Special:UserLogin"), short("Special:RecentChanges"), short("Main_Page") + "?action=edit", short("Main_Page") + "?veaction=edit"]:
        for _ in range(2):
            answer = Visitor(site).get(path)
            equal((answer.is_hit, "stored" in answer.decision), (False, False), f"{path} is a hit, or stored ({answer.decision})")


def an_edit_is_there_for_all_since_the_wiki_purges(site, editor, stranger, **_):
    log_in(editor, site, ADMIN, PASSWORD)
    edit(editor, site, "Pilot", "The pilot waits.")
    history = address("Pilot", "&action=history")
    for path in [short("Pilot"), history]:
        Visitor(site).get(path)
        true(Visitor(site).get(path).is_hit, f"a hit of {path}")
    edit(editor, site, "Pilot", "The pilot is aboard.")
    equal(who(editor), ADMIN, "whom the editor's page is made for")
    holds(editor.source(), "The pilot is aboard.", "the editor's page")
    stranger.open(site.url + short("Pilot"))
    holds(stranger.source(), "The pilot is aboard.", "a stranger's page")
    equal(who(stranger), None, "whom a stranger's page is made for")
    picture(stranger, "mediawiki-9-purged")
    # The edit redirects to the page, which Kasoku therefore drops; only the PURGE drops the page's history.
    equal(Visitor(site).get(history).text.count("mw-changeslist-date"), 2, "the edits in the history that everybody sees")


def a_page_that_includes_another_is_purged_with_it(site, editor, **_):
    edit(editor, site, "Template:Tide", "High water.")
    edit(editor, site, "Quay", "{{Tide}}")
    for _ in range(2):
        page = Visitor(site).get(short("Quay"))
        holds(page.text, "High water.", "the page that includes another")
    true(page.is_hit, f"a hit of it ({page.decision})")
    # MediaWiki's times are in seconds, and it takes a page that was made in the same second as the edit for newer.
    made = int(time.time())
    editor.wait_for("the next second", "return Date.now() / 1000 >= arguments[0]", made + 1)
    edit(editor, site, "Template:Tide", "Low water.")
    site.run_jobs()
    holds(Visitor(site).get(short("Quay")).text, "Low water.", "the page, after the one that it includes was edited")


def who_has_just_edited_reads_what_is_there_now(site, passer_by, **_):
    edit(passer_by, site, "Buoy", "Red, on the left.")
    edit(passer_by, site, "Buoy", "Red, on the right.")
    holds(passer_by.source(), "Red, on the right.", "the page of who edited twice without an account")
    lacks(Visitor(site).get(short("Buoy")).text, "on the left", "everybody's page")


SCENARIOS = [
    what_the_wiki_states_counts,
    what_is_for_one_reader_passes_under_short_addresses,
    an_edit_is_there_for_all_since_the_wiki_purges,
    a_page_that_includes_another_is_purged_with_it,
    who_has_just_edited_reads_what_is_there_now,
]
