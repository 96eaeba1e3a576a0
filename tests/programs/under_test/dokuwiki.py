"""DokuWiki 2022-07-31 ("Igor") of Debian, by php-fpm, with its search index and access rights.

- Each answer of a script opens a session: `Set-Cookie: DokuWiki=…; HttpOnly`, deletes the log-in cookie `DW<hash>`, and says `Vary: Cookie`,
  `no-store, no-cache, must-revalidate`, `Expires` in 1981 and `Pragma: no-cache` (PHP's session_start). So `ttl` alone yields to the application's word; beside it,
  `ignore = ["no-store", "no-cache", "expires", "set-cookie"]` makes all ten pages hits, and log-in, forms and access rights work.
- A guest's form has an empty `sectok`: only a member's is a token, and only a member's is checked. So a guest's form works from a shared page.
- Clocks: `taskrunner.php?id=start&1795813351` in an image of each page, a parameter that is the time; ages ("7 seconds ago") in search results.
- The log-in form has no token for guests either. A member's log-in cookie is `DW<hash>`: it must never be taken for noise, nor may `DokuWiki`, which
  keeps a member's session.
- Images say `public, max-age=86400` beside the session's cookie.
- Pages of a feed and a sitemap depend on the access rights of who asks, like all others.
"""

import hashlib
import html
import re
import shutil
from pathlib import Path

import program
from page import hit
from scenarios import equal, holds, lacks, true
from servers import run

SOURCES, SETTINGS = Path("/usr/share/dokuwiki"), Path("/etc/dokuwiki")
NAME, PASSWORD = "ann", "correct horse battery"


class Program(program.Program):
    packages = ["dokuwiki", "php-fpm", "php-cli", "php-xml", "php-gd", "php-mbstring"]
    wants_php = True
    rules = """
[[site]]
origin = "fastcgi://unix:{php}"
root = "{root}"
index = ["doku.php"]
no-programs = ["/data/*", "/conf/*", "/inc/*", "/bin/*"]
{line}
"""
    clocks = [r"taskrunner\.php\?id=[^&\"]*&amp;\d+", r"\d+ (?:second|minute|hour|day)s? ago", r"<dc:date>[^<]*"]

    def _install(self):
        shutil.copytree(SOURCES, self.root)
        shutil.copytree(SETTINGS, self.root / "conf")
        (self.root / "inc" / "preload.php").write_text("<?php\nif (!defined('DOKU_CONF')) define('DOKU_CONF', dirname(__DIR__) . '/conf/');\n")
        (self.root / "conf" / "local.php").write_text("<?php\n$conf['title'] = 'Harbour';\n$conf['savedir'] = './data';\n$conf['useacl'] = 1;\n"
                                                      "$conf['superuser'] = '@admin';\n$conf['license'] = 'cc-by-sa';\n")
        password = hashlib.md5(PASSWORD.encode()).hexdigest()
        (self.root / "conf" / "users.auth.php").write_text(f"{NAME}:{password}:Ann Pier:ann@harbour.example:admin,user\n")
        (self.root / "conf" / "acl.auth.php").write_text("* @ALL 1\n* @user 8\nprivate:* @ALL 0\nprivate:* @user 8\nguestbook:* @ALL 4\n")
        self.write_pages()
        run(["chown", "-R", "www-data:www-data", self.root])
        run(["runuser", "-u", "www-data", "--", "php", self.root / "bin" / "indexer.php", "--quiet"])

    def write_pages(self):
        for name in ("attic", "cache", "index", "locks", "log", "media", "media_attic", "media_meta", "meta", "pages/private", "pages/guestbook", "tmp"):
            (self.root / "data" / name).mkdir(parents=True, exist_ok=True)
        pages = self.root / "data" / "pages"
        (pages / "start.txt").write_text("====== Harbour ======\n\nSee the [[boats]].\n\n{{pier.png}}\n")
        for number in range(30):
            text = "\n\n".join(f"===== Berth {berth} =====\n\nBoat {(berth * 7 + number) % 40} lies at berth {berth}. 舟" for berth in range(20))
            (pages / f"boats{number or ''}.txt").write_text(f"====== Boats of day {number} ======\n\n{text}\n")
        (pages / "private" / "safe.txt").write_text("====== Safe ======\n\nThe code is 4711.\n")
        (pages / "guestbook" / "2026.txt").write_text("====== Guests ======\n\nNobody yet.\n")
        shutil.copy("/usr/share/dokuwiki/lib/tpl/dokuwiki/images/logo.png", self.root / "data" / "media" / "pier.png")

    pages = [
        hit("/doku.php"),
        hit("/doku.php?id=boats"),
        hit("/doku.php?id=boats3&do=revisions"),
        hit("/doku.php?id=start&do=search&q=berth"),
        hit("/doku.php?id=start&do=index"),
        hit("/doku.php?id=start&do=recent"),
        hit("/doku.php?id=boats&do=export_raw"),
        hit("/feed.php"),
        hit("/lib/exe/fetch.php?media=pier.png"),
        hit("/lib/exe/css.php?t=dokuwiki"),
    ]

    @property
    def scenarios(self):
        return [a_member_logs_in_reads_and_writes, a_guest_writes_by_the_form, what_is_private_stays_so]


def field(page, name):
    tag = re.search(rf'<input[^>]*name="{name}"[^>]*>', page)
    value = re.search(r'value="([^"]*)"', tag[0]) if tag else None
    return html.unescape(value[1]) if value else ""


def log_in(way, browser=0):
    ann = way.visitor(browser)
    form = ann.get("/doku.php?id=start&do=login").text
    answer = ann.post("/doku.php?id=start&do=login", {"sectok": field(form, "sectok"), "id": "start", "do": "login", "u": NAME, "p": PASSWORD, "r": "1"})
    true(ann.cookie("DW") is not None and answer.status == 302, f"the log-in: {answer.status} {answer.set_cookies}")
    return ann


def edit(visitor, page, text):
    form = visitor.get(f"/doku.php?id={page}&do=edit").text
    fields = {name: field(form, name) for name in ("sectok", "rev", "date", "prefix", "suffix", "changecheck", "target")}
    answer = visitor.post(f"/doku.php?id={page}&do=edit", {"id": page, **fields, "wikitext": text, "summary": "", "do[save]": "1"})
    equal(answer.status, 302, f"the edit of {page}")


def a_member_logs_in_reads_and_writes(way):
    guest = way.visitor(1)
    guest.get("/doku.php?id=boats")
    ann = log_in(way)
    for _ in range(2):
        holds(ann.get("/doku.php?id=start").text, "Ann Pier", "a member's page")
        lacks(way.visitor(1).get("/doku.php?id=start").text, "Ann Pier", "a guest's page")
    edit(ann, "boats9", f"====== Boats ======\n\nThe pier is closed, {way.name}.\n")
    holds(ann.get("/doku.php?id=boats9").text, f"The pier is closed, {way.name}.", "what the member wrote, at once")
    # A guest who has been there before.
    holds(guest.get("/doku.php?id=boats").text, "Berth 3", "a guest's page")


def a_guest_writes_by_the_form(way):
    for browser in range(2):
        guest = way.visitor(browser)
        guest.get("/doku.php?id=guestbook:2026")
        edit(guest, "guestbook:2026", f"====== Guests ======\n\nGuest {browser} was here, {way.name}.\n")
        holds(guest.get("/doku.php?id=guestbook:2026").text, f"Guest {browser} was here, {way.name}.", "what the guest wrote, at once")


def what_is_private_stays_so(way):
    ann = log_in(way, 2)
    holds(ann.get("/doku.php?id=private:safe").text, "4711", "a member's private page")
    for browser in range(2):
        lacks(way.visitor(browser).get("/doku.php?id=private:safe").text, "4711", "a guest's private page")
    holds(ann.get("/doku.php?id=private:safe").text, "4711", "a member's private page, again")
