"""Tests the wiki as its installer leaves it, with `private, must-revalidate, max-age=0` on each page, for every visitor."""

from scenarios import equal, holds, lacks, picture, true
from seen import warm
from site_under_test import ADMIN, PASSWORD
from visitor import Visitor
from wiki import address, edit, log_in, log_out, preview, who

MAIN = address("Main_Page")

# Pages that readers request.
PUBLIC = ["/", MAIN, "/index.php/Main_Page", address("Main_Page", "&action=history"), address("Main_Page", "&action=history&feed=atom"),
          address("Main_Page", "&oldid=1"), address("Main_Page", "&printable=yes"), address("Main_Page", "&action=info"), "/index.php?search=harbour"]

# URLs that are for one reader, that change all the time, or that change something.
PERSONAL = [address("Special:UserLogin"), address("Special:CreateAccount"), address("Main_Page", "&action=edit"), address("Special:RecentChanges"),
            address("Special:Preferences"), "/index.php/Special:Random", "/api.php?action=query&meta=tokens&format=json", "/rest.php/v1/page/Main_Page"]

ANALYTICS = {"_ga": "GA1.1.1736502.1768000000", "_pk_id.1.1fff": "3f2a.1768000000", "mwuser-sessionId": "5b1cc0e1a9e2"}
ELSEWHERE = {"Accept-Language": "de-CH,de;q=0.9", "Referer": "https://news.example/ferries"}


def readers_get_hits(site, **_):
    for path in PUBLIC:
        # The first visitor of a kind of page gets a rendering of its own.
        Visitor(site).get(path)
        filled = Visitor(site).get(path)
        answer = Visitor(site, ANALYTICS, "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Safari/605.1").get(path, **ELSEWHERE)
        equal((answer.status, answer.is_hit), (filled.status, True), f"{path} again ({answer.decision})")
        equal(answer.text, filled.text, f"the page of {path}")


def styles_and_scripts_are_hits_and_complete(site, stranger, **_):
    stranger.open(site.url + MAIN)
    # MediaWiki as installed has no favicon.
    names = stranger.run("return performance.getEntriesByType('resource').map(e => [e.name, e.responseStatus]).filter(e => !e[0].endsWith('/favicon.ico'))")
    true(names, "files of the page")
    equal([name for name, status in names if not 200 <= status < 400], [], "files that did not come")
    for name, _ in names:
        if "/load.php" in name:
            path = name.removeprefix(site.url)
            Visitor(site).get(path)
            true(Visitor(site).get(path).is_hit, f"a hit of {path}")
    picture(stranger, "mediawiki-1-main-page")


def what_is_for_one_reader_passes(site, **_):
    for path in PERSONAL:
        for _ in range(2):
            answer = Visitor(site).get(path)
            equal(answer.is_hit, False, f"{path} is a hit ({answer.decision})")
            lacks(answer.decision, "stored", f"{path} is stored")


def two_who_log_in_get_two_sessions(site, **_):
    """The log-in form starts a session, in each spelling of its URL."""
    for path in [address("Special:UserLogin"), "/index.php?title=Special%3AUserLogin", "/index.php/Special:UserLogin", "/index.php?action=view&title=Special:UserLogin"]:
        found = {Visitor(site).get(path).fields.get("set-cookie", "").partition(";")[0] for _ in range(3)}
        equal((len(found), "" in found), (3, False), f"sessions that {path} has started: {found}")


def an_editor_logs_in(site, editor, stranger, **_):
    editor.open(site.url + MAIN)
    equal(who(editor), None, "whom the page is made for, before")
    log_in(editor, site, ADMIN, PASSWORD)
    picture(editor, "mediawiki-2-logged-in")
    for path in [MAIN, address("Main_Page", "&action=history")]:
        editor.open(site.url + path)
        equal(who(editor), ADMIN, f"whom the editor's {path} is made for")
        stranger.open(site.url + path)
        equal(who(stranger), None, f"whom a stranger's {path} is made for")


def what_the_editor_saves_is_there_for_all(site, editor, stranger, **_):
    ferry = address("Ferry")
    for path in [ferry, ferry]:
        equal(Visitor(site).get(path).status, 404, "a page that does not exist")
    edit(editor, site, "Ferry", "The ferry sails at dawn.", "mediawiki-3-form")
    holds(editor.source(), "The ferry sails at dawn.", "the editor's page")
    picture(editor, "mediawiki-4-saved")
    stranger.open(site.url + ferry)
    holds(stranger.source(), "The ferry sails at dawn.", "a stranger's page")
    picture(stranger, "mediawiki-5-a-stranger-reads-it")
    warm(lambda: Visitor(site), ferry)
    edit(editor, site, "Ferry", "The ferry sails at noon.")
    holds(editor.source(), "The ferry sails at noon.", "the editor's page after the second edit")
    holds(Visitor(site).get(ferry).text, "The ferry sails at noon.", "everybody's page, which was a hit before")


def a_preview_is_for_its_author_alone(site, passer_by, stranger, **_):
    preview(passer_by, site, "Ferry", "Perhaps the ferry sinks.")
    picture(passer_by, "mediawiki-6-preview-without-account")
    for path in [address("Ferry"), address("Ferry", "&action=edit"), address("Ferry", "&action=submit")]:
        stranger.open(site.url + path)
        lacks(stranger.source(), "Perhaps the ferry sinks.", f"a stranger's {path}")


def an_edit_without_an_account_is_there_for_all(site, passer_by, stranger, **_):
    edit(passer_by, site, "Ferry", "The ferry sails at dusk.")
    holds(passer_by.source(), "The ferry sails at dusk.", "the page of who edited")
    picture(passer_by, "mediawiki-7-edited-without-account")
    stranger.open(site.url + address("Ferry"))
    holds(stranger.source(), "The ferry sails at dusk.", "a stranger's page")
    sessions = [cookie for cookie in passer_by.cookies() if cookie["name"].endswith("_session")]
    equal(len(sessions), 1, "the sessions of who edited")
    lacks(stranger.source(), sessions[0]["value"], "a stranger's page")
    # A visitor with a session passes until the browser drops it.
    answer = Visitor(site, {sessions[0]["name"]: sessions[0]["value"]}).get(address("Ferry"))
    equal((answer.is_hit, sessions[0]["name"] in answer.decision), (False, True), f"a page for who has a session ({answer.decision})")


def after_logging_out_it_is_everybodys_page(site, editor, **_):
    log_out(editor, site)
    picture(editor, "mediawiki-8-logged-out")
    editor.open(site.url + MAIN)
    equal(who(editor), None, "whom the page is made for")
    # For ten seconds after a change, MediaWiki makes the editor pass by cookies; after that no cookie is left that makes a request pass.
    for_ten_seconds = ("UseDC", "UseCDNCache")
    left = {cookie["name"]: cookie["value"] for cookie in editor.cookies() if cookie["name"] not in for_ten_seconds}
    Visitor(site).get(MAIN)
    answer = Visitor(site, left).get(MAIN)
    true(answer.is_hit, f"a hit with the cookies that are left, {sorted(left)} ({answer.decision})")
    lacks(answer.text, ADMIN, "the page for who has logged out")


def no_visitor_is_served_what_was_made_for_a_member(site, **_):
    for path in [*PUBLIC, address("Ferry"), address("Ferry", "&action=history")]:
        text = Visitor(site).get(path).text
        for marker in ["pt-userpage", "pt-logout", f'"wgUserName":"{ADMIN}"', "Perhaps the ferry sinks."]:
            lacks(text, marker, f"{path} for everybody")
        # Without a session, each token is the same two characters.
        if "csrfToken" in text:
            holds(text, r'"csrfToken":"+\\"', f"the token in {path}")


def explain_names_the_line_of_the_policy(site, **_):
    Visitor(site).get(MAIN)
    said = site.kasoku("explain", site.url + MAIN)
    holds(said, "mediawiki.toml", "which line keeps the page")
    said = site.kasoku("explain", "-H", "Cookie: mediawikiUserID=1", site.url + MAIN)
    holds(said, "mediawikiUserID", "why a logged-in visitor passes")


def a_wiki_in_another_language_has_sessions_for_one_each(site, **_):
    """No URL pattern matches the names of its special pages, but an answer that sets the session cookie is not stored."""
    site.set("$wgLanguageCode = 'de';")
    for path in [address("Spezial:Anmelden"), address("Spezial:Benutzerkonto_anlegen")]:
        answers = [Visitor(site).get(path) for _ in range(3)]
        equal(len({answer.fields.get("set-cookie", "").partition(";")[0] for answer in answers} - {""}), 3, f"sessions that {path} has started")
        equal([answer.decision for answer in answers if answer.is_hit or "stored" in answer.decision], [], f"what was kept of {path}")


SCENARIOS = [
    readers_get_hits,
    styles_and_scripts_are_hits_and_complete,
    what_is_for_one_reader_passes,
    two_who_log_in_get_two_sessions,
    an_editor_logs_in,
    what_the_editor_saves_is_there_for_all,
    a_preview_is_for_its_author_alone,
    an_edit_without_an_account_is_there_for_all,
    after_logging_out_it_is_everybodys_page,
    no_visitor_is_served_what_was_made_for_a_member,
    explain_names_the_line_of_the_policy,
    a_wiki_in_another_language_has_sessions_for_one_each,
]
