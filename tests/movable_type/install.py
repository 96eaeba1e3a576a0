"""Installs a real Movable Type (3.35, 6.8.8 or 9.2.1) in a directory: its programs, a database, and a site with some hundred entries.

Six Apart's sources come as archives, which are not part of the project (tests/browsing/archives.py says where they are looked for). Where the
archive of a version is missing, `archive` returns None, and tests and benches skip that version. No browser is needed: the tables are made by Movable
Type's own tools/upgrade, the content by its own interface for Perl (populate.pl).

Version 3.35 is of 2007. `_mend_for_todays_perl` names what has to give way for Perl 5.36, and nothing of Movable Type's own code does.
Version 6.8.8 needs one word for today's SQLite.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import archives

HERE = Path(__file__).resolve().parent
ENTRIES_TOOL = HERE.parents[1] / "bench" / "seeds" / "mt-search" / "blog" / "make-entries"
VERSIONS = ("3.35", "6.8.8", "9.2.1")
ENTRIES = 300
PATIENCE_SECONDS = 900
# Version 3.35 makes an author with this name and password; the later ones ask for them.
AUTHOR = {"3.35": ("Melody", "Nelson")}
# A theme that the version ships, which makes the site's templates. Version 3 has none.
THEME = {"3.35": "", "6.8.8": "classic_website", "9.2.1": "eigerwand"}
DEFAULT_AUTHOR = ("melody", "correct Horse 7 battery")
# Debian's modules: CGI.pm left Perl in 2014, and the others never were in it.
MODULES = ("CGI", "CGI::Fast", "FCGI", "DBI", "DBD::SQLite", "DBD::mysql", "DB_File", "Image::Size", "HTML::Parser")

CONFIG = """
CGIPath {url}/mt/
StaticWebPath {url}/mt-static/
TempDir {scratch}
{database}
"""


# The name in the environment is read once, since a FastCGI process has another environment for each request.
EXPIRES_PATCH = """
    if ($Expires && $app->isa('MT::App::Search')) {
        delete @{$app->{cgi_headers}}{grep { /cache.control/i } keys %{$app->{cgi_headers}}};
        delete $app->{query}{cache};
        $app->{cgi_headers}{-expires} = $Expires;
    }"""


def archive(version):
    """The path of the archive of a version, or None."""
    return archives.archive(f"movabletype-{version}")


def missing_modules():
    """The modules of Perl that are not installed."""
    return [name for name in MODULES if subprocess.run(["perl", f"-M{name}", "-e", "1"], capture_output=True, check=False).returncode != 0]


def content(page):
    """The page without what differs each time: 6.8.8 prints the visitor's rights in Perl's random order of keys, and a feed has a clock."""
    page = re.sub(r"<updated>[-0-9TZ:]+</updated>", "<updated>", page)
    return re.sub(r"(?m)^( *var user = )(\{.*\});$", lambda found: found[1] + json.dumps(json.loads(found[2]), sort_keys=True) + ";", page)


class Installed:
    """A Movable Type in `directory`: its programs in mt/, what it publishes in www/, and its database, unless a server has that.

    `url` is the address that it writes into its pages. `owner` is the user who runs its programs.
    """

    def __init__(self, version, directory, url, owner, mysql_socket=None):
        self.version = version
        self.programs = directory / "mt"
        self.root = directory / "www"
        self.data = directory / "data"
        self.config = self.programs / "mt-config.cgi"
        self.author, self.password = AUTHOR.get(version, DEFAULT_AUTHOR)
        self._url = url
        self._owner = owner
        self._mysql_socket = mysql_socket
        self._unpack()
        self.write_config()
        self._make_tables()
        self.blog = self._populate()

    @property
    def is_old(self):
        return self.version.startswith("3.")

    @property
    def has_commenters(self):
        """Whether visitors can log in to write comments, and pages of results say so."""
        return self.version.startswith("6.")

    def write_config(self, more=""):
        """Writes the configuration as it was installed, with these lines added."""
        self.config.write_text(CONFIG.format(url=self._url, scratch=self.data, database=self._database_lines()) + more)
        self.config.chmod(0o644)

    def patch_expires(self):
        """Adds the lines that people put into Movable Type around 2009, without which no cache in front may store a search. They count in a
        process with SEARCH_EXPIRES in its environment, so that the same copy also runs as it is."""
        path = self.programs / "lib" / "MT" / "App.pm"
        text = path.read_text(encoding="latin-1")
        patched, count = re.subn(r"(\n +\$app->\{cgi_headers\}\{-type\} += \$type;)", lambda found: found[0] + EXPIRES_PATCH, text)
        patched, count_read = re.subn(r"\nsub send_http_header \{", lambda found: "\nour $Expires = $ENV{SEARCH_EXPIRES};" + found[0], patched)
        if (count, count_read) != (1, 1):
            raise RuntimeError(f"{path} has {count} and {count_read} places for the patch")
        path.write_text(patched, encoding="latin-1")

    def run_perl(self, script, *words, stdin=None):
        """Runs a Perl script with Movable Type's modules, as the user who runs its programs; returns its output."""
        paths = [f"-I{self.programs}/lib", f"-I{self.programs}/extlib", f"-I{self.programs}"]
        return self._run(["perl", *paths, script, *words], stdin)

    def _unpack(self):
        for directory in (self.programs, self.root, self.data):
            directory.mkdir()
            shutil.chown(directory, self._owner, self._owner)
        self._run(archives.unpack(f"movabletype-{self.version}", self.programs))
        if self.is_old:
            self._build()
            self._mend_for_todays_perl()
        elif self.version.startswith("6."):
            self._mend_for_todays_sqlite()
        # mod_fcgid and `fastcgi+spawn` run the same script: it finds out how it was started.
        shutil.copy(self.programs / "mt-search.cgi", self.programs / "mt-search.fcgi")
        shutil.chown(self.programs / "mt-search.fcgi", self._owner, self._owner)

    def _build(self):
        """Makes the files that are templates in the archive of version 3.35, with the rules of its own Makefile."""
        self._run(["make", "--silent", "code", "BUILD_LANGUAGE=en_US", "BUILD_PACKAGE=MT", "BUILD_VERSION_ID=3.35"])

    def _mend_for_todays_perl(self):
        # `defined(@array)` and `defined(%hash)` end with an error since Perl 5.22. Perl and Debian have both modules, in later versions. They
        # belong together with I18N::LangTags and Math::BigInt, of which an older copy does not fit.
        for name in ("CGI.pm", "CGI", "Locale", "I18N", "Math"):
            path = self.programs / "extlib" / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        # Perl has no `.` in @INC since 5.26. Plugins are named by paths below the program's directory.
        for script in [*self.programs.glob("*.cgi"), self.programs / "tools" / "upgrade"]:
            script.write_text(script.read_text(encoding="latin-1").replace("\nuse strict;", "\nuse strict;\nuse lib '.';", 1), encoding="latin-1")
        # tools/upgrade still reads the settings of version 2.
        (self.programs / "mt.cfg").symlink_to("mt-config.cgi")

    def _mend_for_todays_sqlite(self):
        # Today's SQLite names types as they were written. Movable Type knows them in small letters; version 9 has this line itself.
        path = self.programs / "lib" / "MT" / "ObjectDriver" / "DDL" / "SQLite.pm"
        path.write_text(path.read_text().replace("$ddl->db2type( $row->{type} )", "$ddl->db2type( lc $row->{type} )"))

    def _database_lines(self):
        if self._mysql_socket:
            return f"ObjectDriver DBI::mysql\nDatabase movabletype\nDBUser root\nDBSocket {self._mysql_socket}\n"
        # The name of the driver is that of its file.
        return f"ObjectDriver DBI::{'sqlite' if self.is_old else 'SQLite'}\nDatabase {self.data}/mt.db\n"

    def _make_tables(self):
        words = ["--username", self.author, "--password", self.password, "--nickname", "Melody", "--email", "melody@example.org", "--preferred_language", "en-us"]
        if self.version.startswith("6."):
            words += ["--site_name", "Harbour", "--site_url", f"{self._url}/", "--site_path", self.root, "--site_timezone", "0", "--site_theme", THEME[self.version]]
        self.run_perl(self.programs / "tools" / "upgrade", *([] if self.is_old else words))

    def _populate(self):
        entries = subprocess.run([ENTRIES_TOOL], capture_output=True, check=True).stdout.splitlines(keepends=True)[:ENTRIES]
        said = self.run_perl(HERE / "populate.pl", self.config, self.author, self.password, f"{self._url}/", self.root, THEME[self.version], stdin=b"".join(entries))
        return int(said.split()[-1])

    def _run(self, words, stdin=None):
        environment = {"PATH": os.environ["PATH"], "MT_HOME": str(self.programs)}
        done = subprocess.run(words, cwd=self.programs, input=stdin, env=environment, user=self._owner, group=self._owner, capture_output=True,
                              check=False, timeout=PATIENCE_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))} ended with {done.returncode}: {(done.stdout + done.stderr).decode(errors='replace')}")
        return done.stdout.decode()
