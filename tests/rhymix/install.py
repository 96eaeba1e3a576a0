"""Installs and runs the real Rhymix 2.1.35 by its own installer: php-fpm, MariaDB, Kasoku, and three boards with posts and comments.

The sources come as an archive, which is not part of the project (tests/browsing/archives.py says where it is looked for). Rhymix installs itself with the first request if config/install.config.php is there; population.php then
fills the boards, each with another skin that Rhymix ships.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import archives
from servers import FPM, WEB_USER, Servers, run, until
from visitor import Visitor

HERE = Path(__file__).resolve().parent
NAME = "rhymix-2.1.35"
ADMIN, ADMIN_PASSWORD, ADMIN_NICK = "operator", "correct Horse 7 battery", "운영자Q0x"
MEMBERS = {f"member{number}": f"닉네임Q{number}x" for number in range(1, 4)}
# A hundred posts, with what each of them makes Rhymix write anew.
SCRIPT_SECONDS = 300
MEMBER_PASSWORD = "tern and gannet 7"
# The board, its skin for desktops, its layout for desktops.
SKINS = {"board": ("xedition", "xedition"), "qna": ("default", "default"), "notice": ("default", "user_layout")}

RULES = """
[[site]]
origin = "fastcgi://unix:{socket}"
root = "{root}"
{more}
"""
# While the program is installed, nothing is shared.
PLAIN = 'try-files = ["{path}", "{path}/", "/index.php"]\n'

INSTALL = """<?php
$install_config = ['db_hostname' => 'localhost', 'db_port' => 3306, 'db_userid' => 'root', 'db_password' => '', 'db_database' => '{database}',
    'db_table_prefix' => 'rx', 'db_charset' => 'utf8mb4', 'db_type' => 'mysqli_innodb', 'use_rewrite' => 'Y', 'use_ssl' => 'none',
    'time_zone' => '+0900', 'email_address' => 'operator@example.org', 'password' => '{password}', 'nick_name' => '{nick}', 'user_id' => '{user}'];
"""


def archive():
    """The path of the archive, or None: then the tests are skipped."""
    return archives.archive(NAME)


class Site(Servers):
    """A context with Rhymix, its servers, and Kasoku."""

    name = "rhymix"

    def rules(self, more=""):
        """A configuration with these lines of the site."""
        return RULES.format(socket=self.php_socket, root=self.root, more=more)

    def policy(self, more=""):
        return self.rules(f'application = "rhymix"\n{more}')

    def set(self, **settings):
        """Changes settings of Rhymix, such as session__delay=True or security__check_csrf_token=True."""
        self.php("set.php", {name.replace("__", "."): value for name, value in settings.items()})
        self.kasoku("purge", "--all")

    def add_members(self, members):
        """Makes members: their nicks by id."""
        self.php("members.php", {"members": members, "password": MEMBER_PASSWORD})

    def php(self, script, values):
        """Runs a PHP script beside this file with Rhymix loaded, as the web user; returns what it prints, as JSON."""
        settings = [f"-d{name}={value}" for name, value in self._php_values().items()]
        environment = {**os.environ, "VALUES": json.dumps(values), "RHYMIX": str(self.root), "URL": f"127.0.0.1:{self.port}"}
        done = subprocess.run(["php", *settings, HERE / script], env=environment, user=WEB_USER, group=WEB_USER, cwd=self.root, capture_output=True, text=True,
                              check=False, timeout=SCRIPT_SECONDS)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(f"{script}: {done.stdout}{done.stderr}") from None

    def _php_values(self):
        return {"session.save_path": self.directory / "sessions", "pdo_mysql.default_socket": self.database_socket, "display_errors": "1"}

    def _install(self):
        for directory in (self.root, self.directory / "sessions"):
            directory.mkdir()
            shutil.chown(directory, WEB_USER, WEB_USER)
        run(archives.unpack(NAME, self.root), user=WEB_USER, group=WEB_USER)
        config = INSTALL.format(database=self.name, password=ADMIN_PASSWORD, nick=ADMIN_NICK, user=ADMIN)
        (self.root / "config" / "install.config.php").write_text(config)

    def _php(self):
        config = self.directory / "php-fpm.conf"
        values = "".join(f"php_admin_value[{name}] = {value}\n" for name, value in self._php_values().items())
        config.write_text(FPM.format(directory=self.directory, socket=self.php_socket, user=WEB_USER) + values)
        log = self.directory / "php-fpm.out"
        child = self._start([max(Path("/usr/sbin").glob("php-fpm*")), "--nodaemonize", "--fpm-config", config], log)
        until("php-fpm serves", self.php_socket.exists, child, log)
        self.serve(self.rules(PLAIN))
        answer = Visitor(self).get("/")
        installed = self.root / "files" / "config" / "config.php"
        if not installed.exists():
            raise RuntimeError(f"Rhymix could not be installed: {answer.status} {answer.text[:2000]}")
        (self.root / "config" / "install.config.php").unlink()
        self.add_members(MEMBERS)
        self.content = self.php("population.php", {"boards": SKINS})
