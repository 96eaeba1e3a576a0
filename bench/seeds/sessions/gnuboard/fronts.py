"""Starts gnuboard5 and the fronts that the bench compares: nginx alone, Varnish before and after a patch, and Kasoku over FastCGI and HTTP.

All share one database and one php-fpm, and get their crowds one after the other, so the CPU time of these two belongs to the front that has
its turn. Each front has its own port, and its visitors know the site by that port.
"""

import copy
import shutil
import subprocess
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path

from servers import can_connect, free_port, run, until
from site_under_test import Site

HERE = Path(__file__).resolve().parent
VARNISH = "/usr/sbin/varnishd"
APPLICATION = 'application = "gnuboard5"\n'


class Board(Site):
    """gnuboard5 with its servers. `beside` returns the same site at another port."""

    def __enter__(self):
        super().__enter__()
        # Visitors here write within seconds of each other; by default gnuboard5 makes each wait 30 seconds.
        self.set(cf_delay_sec=-1)
        self._content = self.directory / "content.sql"
        self._content.write_text(run(["mariadb-dump", *self._database_words()]), encoding="utf-8")
        return self

    def beside(self, name, port=None):
        """The same site at another port, with a directory for the servers that are started there. They end with this one."""
        one = copy.copy(self)
        one.directory = self.directory / name
        one.directory.mkdir()
        one.directory.chmod(0o755)
        one.port = port or free_port()
        one.url = f"http://127.0.0.1:{one.port}"
        one.admin, one._config = one.directory / "admin.sock", one.directory / "kasoku.toml"
        one._kasoku = one._nginx_port = None
        return one

    def patched(self):
        """The same site with a copy of the program to which lazy.patch has been applied."""
        one = self.beside("patched")
        one.root = one.directory / "www"
        shutil.copytree(self.root, one.root, symlinks=True)
        # Uploads and cached files belong to the web user.
        shutil.chown(one.root / "data", "www-data", "www-data")
        for path in (one.root / "data").rglob("*"):
            shutil.chown(path, "www-data", "www-data")
        said = run(["patch", "--no-backup-if-mismatch", "-p1", "-d", one.root, "-i", HERE / "lazy.patch"])
        if "fuzz" in said or "FAILED" in said:
            raise RuntimeError(f"lazy.patch does not fit this gnuboard5: {said}")
        return one

    def restore(self):
        """Restores content, counters and sessions as they were before the first crowd."""
        with open(self._content, encoding="utf-8") as content:
            subprocess.run(["mariadb", *self._database_words()], stdin=content, check=True)
        for path in self.sessions.iterdir():
            path.unlink(missing_ok=True)

    def pids(self, program, *words):
        """The ids of the servers that were started with this program and have these words among their arguments."""
        found = [child for child in self._children if Path(child.args[0]).name.startswith(program)]
        return [child.pid for child in found if set(map(str, words)) <= set(map(str, child.args))]

    def nginx_pids(self):
        """The ids of nginx in this directory."""
        return self.pids("nginx", self.directory / "nginx.conf")

    def start_varnish(self, vcl, backend, cookie=""):
        """Starts Varnish at this site's port, with that VCL, in front of that URL; returns its process ids."""
        own = self.directory / "site.vcl"
        text = (HERE / vcl).read_text(encoding="utf-8")
        own.write_text(text.replace("BACKEND_PORT", str(urllib.parse.urlsplit(backend).port)).replace("PASSING_COOKIE", cookie), encoding="utf-8")
        words = [VARNISH, "-F", "-j", "none", "-n", self.directory / "work", "-f", own, "-a", f"127.0.0.1:{self.port}", "-s", "malloc,256M"]
        log = self.directory / "varnish.log"
        child = self._start(words, log)
        until("Varnish serves", lambda: can_connect(self.port), child, log)
        return [child.pid]

    def start_kasoku(self, rules):
        """Starts Kasoku at this site's port; returns its process ids."""
        self.serve(rules + APPLICATION)
        return [self._kasoku.pid]

    def _database_words(self):
        return ["--no-defaults", f"--socket={self.database_socket}", "--user=root", "--default-character-set=utf8mb4", self.name]


@dataclass
class Front:
    """A front of the comparison."""

    name: str
    site: Board
    cache: list = field(default_factory=list)  # process ids
    nginx: list = field(default_factory=list)
    is_kasoku: bool = False

    def empty(self):
        """Empties the cache, and gnuboard5's own cache."""
        for pattern in ("latest-*", "kcaptcha-*"):
            for path in (self.site.root / "data" / "cache").glob(pattern):
                path.unlink(missing_ok=True)
        if self.is_kasoku:
            self.site.kasoku("purge", "--all")
        elif self.cache:
            run(["varnishadm", "-n", self.site.directory / "work", "ban", "req.url ~ ."])


def start(board):
    """Starts the fronts; returns them in the order of the tables. The first is the reference for the others."""
    nginx, patched = board.nginx(), board.patched()
    plain_pids = board.nginx_pids()
    patched_nginx = patched.nginx()
    patched_pids = patched.nginx_pids()

    def varnish(name, at, vcl, backend, pids, cookie=""):
        site = at.beside(name)
        return Front(name, site, site.start_varnish(vcl, backend, cookie), pids)

    def kasoku(name, rules, pids):
        site = board.beside(name)
        return Front(name, site, site.start_kasoku(rules), pids, is_kasoku=True)

    return [
        Front("direct", board.beside("direct", urllib.parse.urlsplit(nginx).port), nginx=plain_pids),
        varnish("varnish", board, "careful.vcl", nginx, plain_pids),
        varnish("patched", patched, "patched.vcl", patched_nginx, patched_pids, "PHPSESSID"),
        varnish("patched-members", patched, "patched.vcl", patched_nginx, patched_pids, "g5_member"),
        kasoku("kasoku-fastcgi", board.fastcgi_rules(), []),
        kasoku("kasoku-http", board.http_rules(), plain_pids),
    ]
