"""Mercurial's hgweb, by CGI (its example hgweb.cgi).

- Each page has an `ETag` of the repository's state, and it answers `If-None-Match` with 304. It states no lifetime.
- It sends no cookie, no token and no `Vary` in answers. Ages ("3 hours ago") are made by a script from the commit's time: nothing on a page changes,
  but for the time in a feed.
- `hg clone` asks URLs with `?cmd=…` and sends arguments in request fields (`X-HgArg-1`, `X-HgProto-1`) and `Accept: application/mercurial-0.1`, under one
  URL: the answer depends on these, and only the request's own `Vary` says so.
"""

import os

import program
from page import hit
from scenarios import equal, holds, true
from servers import run

ENVIRONMENT = {**os.environ, "HGRCPATH": "", "HGUSER": "Ann Pier <ann@harbour.example>", "HGPLAIN": "1"}


class Program(program.Program):
    packages = ["mercurial"]
    rules = """
[[site]]
origin = "cgi://{directory}/hgweb.cgi"
{line}
"""
    clocks = [r"<(?:updated|pubDate|lastBuildDate)>[^<]*"]

    def _install(self):
        self.make("harbour", 40)
        self.make("lighthouse", 3)
        (self.directory / "hgweb.config").write_text(f"[paths]\n/ = {self.data}/*\n[web]\nallow_archive = gz zip\nallow-push = *\npush_ssl = false\n"
                                                     "style = paper\ncontact = Ann Pier\nbaseurl = /\n")
        script = self.directory / "hgweb.cgi"
        script.write_text(f"""#!/usr/bin/python3
import os
os.environ["HGRCPATH"] = ""
from mercurial import demandimport
demandimport.enable()
from mercurial.hgweb import hgweb, wsgicgi
wsgicgi.launch(hgweb(b"{self.directory}/hgweb.config"))
""")
        script.chmod(0o755)
        self.owned_by_web_user()

    def make(self, name, commits):
        path = self.data / name
        hg("init", path)
        (path / ".hg" / "hgrc").write_text(f"[web]\ndescription = The {name} of Example Bay\n")
        for number in range(commits):
            (path / "berths.txt").write_text("\n".join(f"Berth {berth}: boat {(berth * 7 + number) % 40}" for berth in range(40)))
            hg("commit", "--quiet", "--addremove", "--message", f"berths: day {number}\n\nThe pier was swept.",
               "--date", f"{1_700_000_000 + number * 86400} 0", cwd=path)
        hg("tag", "v1.0", cwd=path)

    @property
    def pages(self):
        newest = self.newest("harbour")
        return [
            hit("/"),
            hit("/harbour/"),
            hit("/harbour/log"),
            hit("/harbour/graph"),
            hit(f"/harbour/rev/{newest}"),
            hit("/harbour/file/tip/berths.txt"),
            hit("/harbour/annotate/tip/berths.txt"),
            hit("/harbour/log?rev=swept"),
            hit("/harbour/atom-log"),
            hit("/harbour/archive/tip.tar.gz"),
        ]

    def newest(self, name):
        return hg("log", "--rev", "tip", "--template", "{node|short}", "--repository", self.data / name, "--config", "trusted.users=*")

    @property
    def scenarios(self):
        return [a_clone_has_the_newest_commit, what_is_pushed_is_cloned_at_once, a_browser_asks_whether_its_page_is_current, fields_choose_the_answer]


def hg(*words, cwd=None):
    return run(["hg", *words], cwd=cwd, env=ENVIRONMENT).strip()


def a_clone_has_the_newest_commit(way):
    for number in range(2):
        clone = way.site.directory / f"clone-{way.name}-{number}"
        hg("clone", "--quiet", f"{way.url}/harbour", clone)
        equal(hg("log", "--rev", "tip", "--template", "{node|short}", cwd=clone), way.site.newest("harbour"), "the newest commit")


def what_is_pushed_is_cloned_at_once(way):
    clone = way.site.directory / f"push-{way.name}"
    hg("clone", "--quiet", f"{way.url}/lighthouse", clone)
    for number in range(2):
        (clone / "lamp.txt").write_text(f"{number} {way.name}")
        hg("commit", "--quiet", "--addremove", "--message", f"lamp {number}", cwd=clone)
        hg("push", "--quiet", f"{way.url}/lighthouse", cwd=clone)
        other = way.site.directory / f"pushed-{way.name}-{number}"
        hg("clone", "--quiet", f"{way.url}/lighthouse", other)
        equal((other / "lamp.txt").read_text(), f"{number} {way.name}", "the file that was pushed")


def a_browser_asks_whether_its_page_is_current(way):
    visitor = way.visitor()
    # Kasoku gives a page that it shares an ETag of its own.
    visitor.get("/harbour/rev/0")
    answer = visitor.get("/harbour/rev/0")
    equal(answer.status, 200, "the page")
    true("etag" in answer.fields, "the page has an ETag")
    equal(visitor.get("/harbour/rev/0", **{"If-None-Match": answer.fields["etag"]}).status, 304, "the same page")


def fields_choose_the_answer(way):
    """hg sends the arguments of a command in fields: two requests of one URL, and two answers."""
    for _ in range(2):
        for keys in ("heads", "branchmap"):
            answer = way.visitor().get("/harbour?cmd=batch", **{"X-HgArg-1": f"cmds={keys}+", "X-HgProto-1": "0.1 0.2", "Accept": "application/mercurial-0.1",
                                                             "Vary": "X-HgArg-1,X-HgProto-1"})
            equal(answer.status, 200, "the batch")
            holds(answer.text, "default" if keys == "branchmap" else "\n", f"the answer to {keys}")
            true(("default" in answer.text) == (keys == "branchmap"), f"the answer to {keys}: {answer.text}")
