"""Runs a real Movable Type behind Kasoku for one version (install.py), as CGI or FastCGI programs, with SQLite or MariaDB.

Its programs are under /mt/, as its handbook has them; what it publishes are static files, which Kasoku serves itself.
"""

import contextlib
import os
import shutil
import time
from pathlib import Path

from install import Installed
from servers import PATIENCE_SECONDS, PROGRAM, WEB_USER, Servers, end, run

# Version 6.8.8 has a database server, as most blogs of its time. The others have a file.
ON_MARIADB = ("6.8.8",)

# The lines of docs/applications.md: the site's origin are the programs, so that the rules of the policy hold for them.
POLICY = """
[[site]]
origin = "cgi://{programs}"
url-prefix = "/mt"
application = "movable-type"
{more}
"""
FILES = """
[[site.rule]]
path = "/mt-static/*"
origin = "file://{programs}/mt-static"
url-prefix = "/mt-static"
"""
PUBLISHED = "".join(f"""
[[site.rule]]
path = "{path}"
origin = "file://{{root}}"
url-prefix = "/"
""" for path in ("*/", "*.html", "*.css", "*.js", "*.xml"))

# FastCGI: a rule with its own origin hides the policy's rule, so it has the lines of that.
FASTCGI = """
[[site.rule]]
path = "/mt/mt-search.fcgi"
origin = "fastcgi+spawn://{programs}/mt-search.fcgi?processes=1"
url-prefix = "/mt/mt-search.fcgi"
{lines}
"""

# The lines of docs/expiry.md: no policy, and a lifetime for the search alone.
LIFETIME = """
[[site]]
origin = "file://{root}"
{more}

[[site.rule]]
path = "/mt/mt-search.cgi"
origin = "cgi://{programs}"
{search}

[[site.rule]]
path = "/mt/mt-search.fcgi"
origin = "fastcgi+spawn://{programs}/mt-search.fcgi?processes=1"
url-prefix = "/mt/mt-search.fcgi"
{search}

[[site.rule]]
path = "/mt/*.cgi"
origin = "cgi://{programs}"

[[site.rule]]
path = "/mt/*.cgi/*"
origin = "cgi://{programs}"
"""


class Site(Servers):
    """A context with one version of Movable Type, its database, and Kasoku."""

    name = "movabletype"

    def __init__(self, version):
        super().__init__()
        self.version = version
        self.blog = None
        self.is_on_mariadb = version in ON_MARIADB
        # Kasoku's disk tier.
        self.store = self.directory / "store"

    def _database(self):
        if self.is_on_mariadb:
            super()._database()

    def _install(self):
        self.store.mkdir()
        shutil.chown(self.store, WEB_USER, WEB_USER)
        self.installed = Installed(self.version, self.directory, self.url, WEB_USER, self.database_socket if self.is_on_mariadb else None)
        self.blog = self.installed.blog

    def _php(self):
        """Movable Type needs no PHP."""

    def policy(self, more=""):
        """A configuration with the policy."""
        return (POLICY + FILES + PUBLISHED + FASTCGI).format(more=more, root=self.root, programs=self.installed.programs, lines=policys_lines("*/mt-search.fcgi"))

    def lifetime(self, search, more=""):
        """A configuration without the policy; `search` are the lines of the rule for the search."""
        return (LIFETIME + FILES).format(search=search, more=more, root=self.root, programs=self.installed.programs)

    def search(self, words="harbour", program="mt-search.cgi", **more):
        """The path of a search for words."""
        return f"/mt/{program}?search={words}&IncludeBlogs={self.blog}" + "".join(f"&{name}={value}" for name, value in more.items())

    def tag(self, tag="x", program="mt-search.cgi", **more):
        """The path of a search for a tag."""
        return f"/mt/{program}?tag={tag}&blog_id={self.blog}" + "".join(f"&{name}={value}" for name, value in more.items())

    def until_idle(self):
        """Waits until no CGI program of this installation runs: the looks of the leak guard have ended."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while running := [words for words in map(command_line, Path("/proc").glob("[0-9]*")) if words and words[-1].startswith(f"{self.installed.programs}/")
                          and words[-1].endswith(".cgi")]:
            if time.monotonic() > deadline:
                raise AssertionError(f"a program does not end: {running}")
            time.sleep(0.05)

    @contextlib.contextmanager
    def without_database(self):
        """A context in which the database's server can't be reached, or its file can't be opened."""
        place = self.database_socket if self.is_on_mariadb else self.installed.data / "mt.db"
        elsewhere = place.with_name(f"away-{place.name}")
        place.rename(elsewhere)
        if not self.is_on_mariadb:
            # SQLite would make a new file.
            place.mkdir()
        try:
            yield
        finally:
            if not self.is_on_mariadb:
                place.rmdir()
            elsewhere.rename(place)

    def serve(self, rules):
        """As root, Kasoku runs no program."""
        super().serve(f'user = "{WEB_USER}"\n{rules}')

    def start_anew(self):
        """Ends Kasoku, and starts it again with the same configuration."""
        end(self._kasoku)
        self._children.remove(self._kasoku)
        self._kasoku = None
        super().serve(self._config.read_text().partition("\n")[2].partition("\n")[2])



def policys_lines(path):
    """The lines of the policy's rule for a path, without the path, as its operator reads them in `kasoku application movable-type`."""
    said = run([PROGRAM, "application", "movable-type"])
    return said.partition(f'path         = "{path}"\n')[2].partition("\n\n")[0]


def command_line(process):
    """The words of a process's command line; empty if it has ended."""
    try:
        return [os.fsdecode(word) for word in (process / "cmdline").read_bytes().split(b"\0") if word]
    except OSError:
        return []
