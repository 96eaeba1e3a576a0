"""Runs one real program for a trial: its data in a scratch directory, its server, and Kasoku twice.

One Kasoku has the configuration under test. The other passes everything: what a visitor gets there is what the program says "without". A
program that is an HTTP server itself is asked directly instead.
"""

import functools
import shutil
import subprocess

from packages import NotInstallable, install
from servers import PROGRAM, WEB_USER, Servers, can_connect, free_port, run, until
from visitors import Way

CONFIGURATION = """listen = ["127.0.0.1:{port}"]
admin = "unix:{admin}"
{rules}"""


class Program(Servers):
    """A context with a program under test. A file of `under_test` has one subclass, which says what it needs and how it is asked."""

    # Debian's packages, and programs from PyPI, which get a virtual environment of their own.
    packages = ()
    pypi = ()
    # MariaDB and php-fpm, for those that need them.
    wants_database = False
    wants_php = False
    # The configuration as an operator writes it. `{line}` is the one line that makes it fast, and stands in the site.
    rules = ""
    line = 'ttl = "1h"'
    # How many further lines may be needed, all of them as explain prints them.
    further_max = 1
    # Regular expressions for what changes from one second to the next in what the program says: clocks, durations.
    clocks = ()
    # The same for what is made for one visitor, on pages that are never shared.
    tokens = ()
    # Ten pages with what should come; what people do besides reading them.
    pages = ()
    scenarios = ()

    def __init__(self):
        super().__init__()
        self.application = free_port()
        self.further = []
        self._passing_port = free_port()
        self._passing = None
        # What runs as the web server's user keeps its files here.
        self.data = self.directory / "data"
        self.data.mkdir()

    @classmethod
    def get_ready(cls):
        """Installs the packages; raises `NotInstallable`."""
        install(cls.packages, cls.pypi)
        for needed in cls.needs():
            if not shutil.which(needed, path="/usr/bin:/usr/sbin:/bin"):
                raise NotInstallable(f"{needed} is missing")

    @classmethod
    def needs(cls):
        return (["mariadbd"] if cls.wants_database else []) + (["php"] if cls.wants_php else [])

    def configure(self, further=()):
        """Starts Kasoku, or makes it reload, with the one line and these further ones."""
        self.further = list(further)
        lines = "\n".join([self.line, *self.further])
        self.serve(self.head() + self.filled(lines))
        if self._passing is None:
            self._pass()
        self.kasoku("purge", "--all")

    def filled(self, lines):
        """The configuration with these lines in its site."""
        return self.rules.format(line=lines, directory=self.directory, data=self.data, php=self.php_socket, root=self.root, application=self.application)

    def head(self):
        return f'user = "{WEB_USER}"\n' if "cgi:" in self.rules else ""

    @property
    def is_http_server(self):
        return "http://" in self.rules

    @functools.cached_property
    def without(self):
        """The way to the program around Kasoku's cache."""
        return Way("without", self, self.application if self.is_http_server else self._passing_port)

    @functools.cached_property
    def through(self):
        """The way through Kasoku."""
        return Way("through", self, self.port)

    def _pass(self):
        """Starts the Kasoku that passes everything, which runs CGI and FastCGI programs without a cache."""
        if self.is_http_server:
            self._passing = True
            return
        rules = self.filled("").replace("[[site.rule]]", "[[site.rule]]\npass = true")
        config, log = self.directory / "passing.toml", self.directory / "passing.log"
        config.write_text(f'listen = ["127.0.0.1:{self._passing_port}"]\nadmin = "unix:{self.directory}/passing.sock"\n' + self.head() + rules
                          + '\n[[site.rule]]\npath = "/*"\npass = true\n')
        self._passing = self._start([PROGRAM, "serve", "--config", config], log)
        until("the passing Kasoku serves", lambda: can_connect(self._passing_port), self._passing, log)

    def explain(self, path, *words):
        """What `kasoku explain` says, as a list of lines."""
        try:
            return self.kasoku("explain", *words, self.url + path).splitlines()
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return [f"explain failed: {error}"]

    def listening(self, name, words, port, **more):
        """Starts a server of the program, and waits until it accepts connections."""
        log = self.directory / f"{name}.log"
        with open(log, "ab") as out:
            child = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, **more)
        self._children.append(child)
        until(f"{name} serves", lambda: can_connect(port), child, log)
        return child

    def owned_by_web_user(self, *paths):
        for path in paths or [self.data]:
            run(["chown", "-R", f"{WEB_USER}:{WEB_USER}", path])

    def _database(self):
        if self.wants_database:
            super()._database()

    def _php(self):
        if self.wants_php:
            super()._php()
