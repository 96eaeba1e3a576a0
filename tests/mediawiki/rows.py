"""Tests MediaWiki for problems that had occurred with other applications: shared browsers, unknown parameters and actions, outages, and
more.

Further ones are cookies that a log-in leaves, uploads that are programs, and the other files in MediaWiki's directory.
"""

from cached_visitor import CachedVisitor
from guarded import no_shared_page_is_a_false_alarm
from scenarios import equal, holds, lacks, true
from seen import warm
from site_under_test import ADMIN
from visitor import Visitor
from wiki import address
from writer import Writer

MAIN, HISTORY = address("Main_Page"), address("Main_Page", "&action=history")
MEMBER = f'"wgUserName":"{ADMIN}"'


class Browser(CachedVisitor, Writer):
    """A browser with a cache, in which a visitor may log in and write."""


def no_page_is_taken_for_a_readers_own(site, **_):
    buoys = [f"Buoy_{number}" for number in range(20)]
    site.write_pages({buoy: f"It is red. See [[{buoys[0]}]]." for buoy in buoys})
    no_shared_page_is_a_false_alarm(site, [MAIN, *map(address, buoys)])


def a_browser_that_was_closed_never_shows_a_members_page(site, **_):
    """A reader, an editor and a reader again use one browser, one after the other; its cache stays."""
    browser = Browser(site, has_account=False)
    for path in [MAIN, HISTORY]:
        for _ in range(2):
            lacks(browser.look(path).text, MEMBER, f"a reader's {path}")
    browser.log_in()
    for path in [MAIN, HISTORY]:
        for _ in range(2):
            shown = browser.look(path)
            holds(shown.text, MEMBER, f"the editor's {path} ({shown.decision})")
    browser.close_windows()
    for path in [MAIN, HISTORY]:
        everybodys = Visitor(site).get(path)
        shown = browser.look(path)
        lacks(shown.text, MEMBER, f"what the next reader is shown of {path}")
        equal(shown.text, everybodys.text, f"the next reader's {path}")
    for path in [MAIN, HISTORY]:
        fields = Visitor(site).get(path, **{"If-Modified-Since": "Wed, 01 Jan 2098 00:00:00 GMT"})
        equal((fields.status, fields.fields.get("last-modified")), (200, None), f"{path}, not changed since 2098")


def what_the_policy_does_not_know_passes(site, **_):
    for more in ["&sandbox=1", "&action=formedit", "&action=cargovalues", "&action=validate", "&action=raw", "&code=1&state=2", "&debug=1", "&safemode=1"]:
        for _ in range(2):
            answer = Visitor(site).get(MAIN + more)
            equal((answer.is_hit, "stored" in answer.decision), (False, False), f"{MAIN + more} is shared ({answer.decision})")
    for path in ["/load.php?modules=user&user=Harbourmaster&only=styles", "/thumb.php?f=x.png&temp=1&w=10"]:
        holds(Visitor(site).get(path).decision, "pass-parameter", path)
    # The installation keeps its input in a session.
    holds(Visitor(site).get("/mw-config/index.php").decision, "pass-rule", "the installation")
    warm(lambda: Visitor(site), MAIN + "&action=view", MAIN + "&oldid=1", MAIN + "&uselang=de", HISTORY + "&limit=20", address("Main_Page", "&action=info"))


def an_outage_is_not_kept_and_the_page_before_it_stays(site, **_):
    site.serve(site.rules + 'ttl-override = "1s"\n')
    try:
        # The first visitor of a kind of page gets a rendering of its own.
        Visitor(site).get(MAIN)
        page = Visitor(site).get(MAIN)
        equal(page.status, 200, "the page")
        for outage, status in [(site.without_database, 500), (site.without_settings, 200)]:
            with outage():
                site.until_stale(MAIN, page.text)
                other = Visitor(site).get(MAIN + "&printable=yes&limit=1")
                equal((other.status, "stored" in other.decision), (status, False), f"a page that was not there before ({other.decision})")
                answer = Visitor(site).get(MAIN)
                equal((answer.status, answer.text), (200, page.text), f"the old page ({answer.decision})")
    finally:
        site.serve(site.rules)


def no_cookie_of_a_log_in_is_noise(site, **_):
    """Each cookie by itself makes a request pass. The user name, which stays after a log-out, only fills in the log-in form."""
    writer = Writer(site)
    names = {line.partition("=")[0] for line in writer.logged_in.set_cookies}
    true(names >= {"mediawiki_session", "mediawikiUserID", "mediawikiUserName"}, f"cookies that a log-in sets: {sorted(names)}")
    warm(lambda: Visitor(site), MAIN)
    for name in sorted(names - {"mediawikiUserName"}):
        answer = Visitor(site, {name: "1"}).get(MAIN)
        equal((answer.is_hit, name in answer.decision), (False, True), f"the page with {name} ({answer.decision})")
    lacks(Visitor(site, {"mediawikiUserName": ADMIN}).get(MAIN).text, ADMIN, "the page with a name that was left")


def what_an_upload_may_hold_is_never_run_and_the_programs_directories_are_closed(site, **_):
    for path in ["/includes/Title.php", "/maintenance/update.php", "/maintenance/tables-generated.sql", "/languages/i18n/en.json", "/vendor/composer/installed.json",
                 "/LocalSettings.php", "/cache/x", "/composer.json", "/images/deleted/a/x.png", "//maintenance/update.php"]:
        answer = Visitor(site).get(path)
        equal(answer.status, 403, f"{path} ({answer.decision}) {answer.text[:100]}")
    equal(Visitor(site).get("/index.php/Pier/includes/all").status, 404, "a page with such a name, which does not exist")


SCENARIOS = [
    no_page_is_taken_for_a_readers_own,
    a_browser_that_was_closed_never_shows_a_members_page,
    what_the_policy_does_not_know_passes,
    an_outage_is_not_kept_and_the_page_before_it_stays,
    no_cookie_of_a_log_in_is_noise,
    what_an_upload_may_hold_is_never_run_and_the_programs_directories_are_closed,
]
