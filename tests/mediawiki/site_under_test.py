"""MediaWiki as Debian has it, installed by its own program, and told of Kasoku in the lines that its handbook wants for a cache in front.

The sources stay where the package has them; what belongs to this wiki (LocalSettings.php, uploads) is in the scratch directory.
"""

import shutil
from pathlib import Path

from servers import WEB_USER, Servers, run

MEDIAWIKI = Path("/var/lib/mediawiki")
ADMIN, PASSWORD = "Harbourmaster", "correct horse battery"

# What a wiki has that runs behind a cache. Jobs are run at the end of a request, so that links and searches are true at once.
SETTINGS = """
$wgCacheDirectory = '{directory}/cache';
$wgJobRunRate = 1;
$wgUploadDirectory = '{directory}/images';
$wgPhpCli = '/usr/bin/php';
"""

# https://www.mediawiki.org/wiki/Manual:Performance_tuning#Page_view_caching: the wiki states lifetimes, and sends PURGE when a page changes.
PURGES = """
$wgUseCdn = true;
$wgCdnServers = [ '127.0.0.1:{port}' ];
"""


class Site(Servers):
    """A context: MediaWiki, its servers, and Kasoku."""

    name = "mediawiki"

    def _install(self):
        self.root = MEDIAWIKI
        for name in ("cache", "images"):
            (self.directory / name).mkdir()
            shutil.chown(self.directory / name, WEB_USER, WEB_USER)
        run(["php", "/usr/share/mediawiki/maintenance/install.php", "--dbtype=mysql", f"--dbserver=localhost:{self.database_socket}",
             f"--dbname={self.name}", "--dbuser=root", "--dbpass=", "--installdbuser=root", "--installdbpass=",
             f"--confpath={self.directory}", f"--server={self.url}", "--scriptpath=", f"--pass={PASSWORD}", "Harbour wiki", ADMIN])
        self._installed = self._settings.read_text() + SETTINGS.format(directory=self.directory)
        self._settings.write_text(self._installed)

    @property
    def _settings(self):
        return self.directory / "LocalSettings.php"

    def _environment(self):
        return {"MW_CONFIG_FILE": self._settings}

    def purges(self, are_sent):
        """Whether the wiki knows of the cache in front of it."""
        self._settings.write_text(self._installed + (PURGES.format(port=self.port) if are_sent else ""))
