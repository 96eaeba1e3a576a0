"""gitweb 2.39, by CGI, and `git http-backend` beside it for clones and pushes.

- It sends no cookie, no token and no `Vary`. A POST is never needed.
- Pages of an object by its hash state `Expires` in a day; all others state nothing.
- Clocks: ages ("3 hours ago") in lists, and the time that a page took, here switched on as many sites have it. A feed has `pubDate` and `generated`.
- The age of a thing is shown by class and text (`age0`, `age1`), so that it changes at midnight as well.
- `git http-backend` answers another protocol to `Git-Protocol: version=2`, and says `no-cache` where a push changes the answer.
"""

import program
from repository import cloned, git, make, pushes
from page import hit
from scenarios import equal, holds, true

BACKEND = "/usr/lib/git-core/git-http-backend"


class Program(program.Program):
    packages = ["gitweb", "git", "libcgi-pm-perl"]
    rules = """
[[site]]
origin = "file:///usr/share/gitweb"
environment = ["GITWEB_CONFIG={directory}/gitweb.conf", "GIT_PROJECT_ROOT={data}", "GIT_HTTP_EXPORT_ALL=1", "HOME={data}"]
{line}

[[site.rule]]
path = "/"
origin = "cgi:///usr/share/gitweb/gitweb.cgi"

[[site.rule]]
path = "/gitweb.cgi*"
url-prefix = "/gitweb.cgi"
origin = "cgi:///usr/share/gitweb/gitweb.cgi"

[[site.rule]]
path = "/git/*"
url-prefix = "/git"
origin = "cgi:///usr/lib/git-core/git-http-backend"
"""
    clocks = [
        r"\d+ (?:sec|min|hour|day|week|month|year)s? ago|right now",
        r'class="age\d+"',
        r'id="generating_(?:time|cmd)"[^>]*>[^<]*',
        r"<(pubDate|lastBuildDate|updated)>[^<]*",
    ]

    def _install(self):
        self.repository = make(self.data, "harbour")
        make(self.data, "lighthouse", 5)
        settings = [f'$projectroot = "{self.data}"', '$site_name = "Example Bay"', "$feature{'timed'}{'default'} = [1]",
                    "$feature{'blame'}{'default'} = [1]", "$feature{'snapshot'}{'default'} = ['tgz']"]
        (self.directory / "gitweb.conf").write_text(";\n".join(settings) + ";\n1;\n")
        self.owned_by_web_user()
        git(None, "config", "--file", self.data / ".gitconfig", "safe.directory", "*")
        self.owned_by_web_user()

    @property
    def pages(self):
        newest = git(self.repository, "-c", "safe.directory=*", "rev-parse", "main")
        return [
            hit("/"),
            hit("/gitweb.cgi?p=harbour.git;a=summary"),
            hit("/gitweb.cgi?p=harbour.git;a=shortlog"),
            hit("/gitweb.cgi?p=harbour.git;a=log"),
            hit(f"/gitweb.cgi?p=harbour.git;a=commitdiff;h={newest}"),
            hit("/gitweb.cgi?p=harbour.git;a=tree;hb=HEAD"),
            hit("/gitweb.cgi?p=harbour.git;a=blob;f=berths.txt;hb=HEAD"),
            hit("/gitweb.cgi?p=harbour.git&a=search&h=HEAD&st=commit&s=swept"),
            hit("/gitweb.cgi?p=harbour.git;a=rss"),
            hit("/gitweb.cgi?p=harbour.git;a=snapshot;h=HEAD;sf=tgz"),
        ]

    @property
    def scenarios(self):
        return [a_clone_has_the_newest_commit, what_is_pushed_is_cloned_at_once, a_page_that_is_missing_says_so]


def a_clone_has_the_newest_commit(way):
    for version in ("version=2", "version=0"):
        git(None, "ls-remote", f"{way.url}/git/harbour.git", env={"GIT_PROTOCOL": version})
    newest = git(way.site.repository, "-c", "safe.directory=*", "rev-parse", "main")
    for number in range(2):
        equal(cloned(f"{way.url}/git/harbour.git", way.site.directory / f"clone-{way.name}-{number}"), newest, "the newest commit")


def what_is_pushed_is_cloned_at_once(way):
    url, clone = f"{way.url}/git/lighthouse.git", way.site.directory / f"push-{way.name}"
    cloned(url, clone)
    for number in range(2):
        newest = pushes(url, clone, f"lamp {number} {way.name}")
        equal(cloned(url, way.site.directory / f"pushed-{way.name}-{number}"), newest, "the newest commit")


def a_page_that_is_missing_says_so(way):
    for path, status in [("/gitweb.cgi?p=nowhere.git;a=summary", 404), ("/gitweb.cgi?p=harbour.git;a=blob;f=nowhere;hb=HEAD", 404)]:
        for browser in range(2):
            answer = way.visitor(browser).get(path)
            equal(answer.status, status, path)
            holds(answer.text, "404", path)
    true("harbour" in way.visitor().get("/").text, "the list of projects")
