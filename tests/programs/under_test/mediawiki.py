"""MediaWiki 1.39 of Debian, by php-fpm and MariaDB, with `application = "mediawiki"` as its one line.

- Each page says `private, must-revalidate, max-age=0`, `Vary: Accept-Encoding, Cookie` and sets no cookie for readers. So `ttl` alone yields.
- Clocks: `wgRequestId` and `wgBackendResponseTime` in a script of each page, `wgPageParseReport` (what a message cost) in lists and searches, comments
  with the time of the parser's cache, `generated` in feeds.
- A guest's token is the same two characters, `+\\`. Log-in and account forms open a session and have tokens.
- Special:RecentChanges (and each Special: page, which the policy passes) and what api.php says of tokens change with each request or with who asks.
- Results of a search that tie come in another order each second, without Kasoku as well. So the search here has one result.
- Readers by telephones get the same page unless the MobileFrontend extension is there.
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "mediawiki"))

import program  # noqa: E402
from page import hit, never  # noqa: E402
from scenarios import equal, holds, lacks, true  # noqa: E402
from site_under_test import ADMIN, PASSWORD, Site  # noqa: E402
from writer import field  # noqa: E402


class Program(program.Program, Site):
    packages = ["mediawiki", "mariadb-server", "php-fpm", "php-cli", "php-mysql", "php-xml", "php-mbstring", "php-intl"]
    wants_database = wants_php = True
    line = 'application = "mediawiki"'
    # Debian's package has its files in two directories, with links between them.
    rules = """
[[site]]
origin = "fastcgi://unix:{php}"
root = "{root}"
symlinks = "anywhere"
{line}
"""
    clocks = [
        r'"wgRequestId":"[^"]*"',
        r'"wgBackendResponseTime":\d+',
        # What a system message cost to parse.
        r'"wgPageParseReport":\{.*?\}\}',
        r"(?s)<!--\s*(?:NewPP|Transclusion|Saved in parser cache|Cached time).*?-->",
        r"<updated>[^<]*</updated>",
    ]

    def _install(self):
        Site._install(self)
        self.write_pages({f"Boats {number}" if number else "Boats": "\n".join(f"== Berth {berth} ==\nBoat {(berth * 7 + number) % 40} 舟, see [[Main Page]]."
                                                                             for berth in range(20)) for number in range(10)}
                         | {"Ferries": "The ferry calls at the lighthouse."})

    tokens = [r'(?:value=|"(?:login|csrf|create)token":)"[^"]*"', r'name="wpLoginToken"[^>]*>']

    pages = [
        hit("/index.php?title=Main_Page"),
        hit("/index.php/Boats"),
        hit("/index.php?title=Boats_3&action=history"),
        hit("/index.php?title=Boats&oldid=2"),
        hit("/index.php?title=Boats&action=info"),
        hit("/index.php?search=lighthouse&fulltext=1"),
        hit("/index.php/Main_Page"),
        hit("/load.php?lang=en&modules=skins.vector.styles.legacy&only=styles&skin=vector"),
        never("/index.php?title=Special:UserLogin", "it opens a session, and its form has a token"),
        never("/api.php?action=query&meta=tokens&format=json", "it is about who asks"),
    ]

    @property
    def scenarios(self):
        return [a_member_logs_in_and_edits, a_guest_edits, a_program_asks_the_interface]


def edit(visitor, title, text):
    form = visitor.get(f"/index.php?title={title}&action=edit").text
    names = ["wpEditToken", "wpStarttime", "wpEdittime", "editRevId", "parentRevId", "wpUnicodeCheck", "model", "format"]
    fields = {name: field(form, name) for name in names}
    fields |= {"oldid": "0", "wpUltimateParam": "1", "wpSummary": "", "wpTextbox1": text, "wpSave": "Go"}
    answer = visitor.post(f"/index.php?title={title}&action=submit", {name: value for name, value in fields.items() if value is not None})
    equal(answer.status, 302, f"the edit of {title}")


def a_member_logs_in_and_edits(way):
    for browser in range(2):
        member = way.visitor(browser)
        form = member.get("/index.php?title=Special:UserLogin").text
        fields = {"wpName": ADMIN, "wpPassword": PASSWORD, "wploginattempt": "Log in", "wpEditToken": "+\\", "title": "Special:UserLogin",
                  "authAction": "login", "force": "", "wpLoginToken": field(form, "wpLoginToken")}
        member.post("/index.php?title=Special:UserLogin", fields)
        true(member.cookie("mediawikiUserID") is not None, "the log-in cookie")
        for _ in range(2):
            holds(member.get("/index.php?title=Main_Page").text, "pt-userpage", "a member's page")
            lacks(way.visitor(1).get("/index.php?title=Main_Page").text, "pt-userpage", "a guest's page")
        edit(member, "Ferry", f"It sails at {browser}, {way.name}.")
        for visitor in (member, way.visitor(2)):
            holds(visitor.get("/index.php?title=Ferry").text, f"It sails at {browser}, {way.name}.", "the page at once")


def a_guest_edits(way):
    guest = way.visitor(1)
    edit(guest, "Guestbook", f"A guest was here, {way.name}.")
    for visitor in (guest, way.visitor()):
        holds(visitor.get("/index.php?title=Guestbook").text, f"A guest was here, {way.name}.", "the page at once")


def a_program_asks_the_interface(way):
    for _ in range(2):
        said = json.loads(way.visitor().get("/api.php?action=query&titles=Boats&prop=revisions&rvprop=ids&format=json", Accept="application/json").text)
        equal([page["title"] for page in said["query"]["pages"].values()], ["Boats"], "what the interface says")
