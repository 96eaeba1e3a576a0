"""Installs and runs Debian's MediaWiki by its own installer, and configures it for Kasoku as its handbook says for a cache in front.

The sources stay in the package's directory; the files of this wiki (LocalSettings.php, uploads) are in the scratch directory.
"""

import contextlib
import shutil
import time
from pathlib import Path

from seen import PATIENCE_SECONDS
from servers import WEB_USER, Servers, away, run
from visitor import Visitor

MEDIAWIKI = Path("/var/lib/mediawiki")
MAINTENANCE = Path("/usr/share/mediawiki/maintenance")
ADMIN, PASSWORD = "Harbourmaster", "correct horse battery"

# The directories outside of the package. A separate program runs jobs, as the handbook advises if few requests reach PHP.
SETTINGS = """
$wgCacheDirectory = '{directory}/cache';
$wgUploadDirectory = '{directory}/images';
$wgJobRunRate = 0;
"""

# https://www.mediawiki.org/wiki/Manual:Performance_tuning#Page_view_caching: the wiki states lifetimes, and sends a PURGE when a page
# changes. It also has short addresses, as most wikis do.
PURGES = """
$wgArticlePath = '/wiki/$1';
$wgUseCdn = true;
$wgCdnServers = [ '127.0.0.1:{port}' ];
"""


class Site(Servers):
    """A context with MediaWiki, its servers, and Kasoku."""

    name = "mediawiki"

    def _install(self):
        self.root = MEDIAWIKI
        for name in ("cache", "images"):
            (self.directory / name).mkdir()
            shutil.chown(self.directory / name, WEB_USER, WEB_USER)
        run(["php", MAINTENANCE / "install.php", "--dbtype=mysql", f"--dbserver=localhost:{self.database_socket}",
             f"--dbname={self.name}", "--dbuser=root", "--dbpass=", "--installdbuser=root", "--installdbpass=",
             f"--confpath={self.directory}", f"--server={self.url}", "--scriptpath=", f"--pass={PASSWORD}", "Harbour wiki", ADMIN])
        self._installed = self._settings.read_text() + SETTINGS.format(directory=self.directory)
        self._settings.write_text(self._installed)

    @property
    def _settings(self):
        return self.directory / "LocalSettings.php"

    def _environment(self):
        return {"MW_CONFIG_FILE": self._settings}

    def set(self, lines):
        """Sets the wiki to its state after the installation, with these additional lines in its settings."""
        self._settings.write_text(self._installed + lines.format(port=self.port))
        self.kasoku("purge", "--all")

    @contextlib.contextmanager
    def without_database(self):
        before = self._settings.read_text()
        self._settings.write_text(before + "\n$wgDBserver = 'localhost:/nowhere';\n")
        try:
            yield
        finally:
            self._settings.write_text(before)

    def without_settings(self):
        return away(self._settings)

    def until_stale(self, path, text):
        """Waits until Kasoku serves the stale page; all answers until then must have that text."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "stale" not in (answer := Visitor(self).get(path)).decision:
            if (answer.status, answer.text) != (200, text) or time.monotonic() > deadline:
                raise AssertionError(f"{path}: {answer.status} {answer.decision} {answer.text[:300]}")
            time.sleep(0.05)

    def write_pages(self, pages):
        """Imports texts by their titles, as an operator does."""
        texts = self.directory / "texts"
        texts.mkdir()
        for title, text in pages.items():
            (texts / f"{title}.txt").write_text(text)
        run(["php", MAINTENANCE / "importTextFiles.php", f"--conf={self._settings}", "--use-timestamp", *sorted(texts.iterdir())])

    def run_jobs(self):
        """Runs the jobs, as cron does each minute: they update pages that include edited pages."""
        run(["php", MAINTENANCE / "runJobs.php", f"--conf={self._settings}"])
