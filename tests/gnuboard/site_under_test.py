"""Installs and runs gnuboard5 with its shop, by its own installer, with boards, posts, members and items that are the same in each run.

The archive is not part of the project (tests/browsing/archives.py says where it is looked for). Kasoku serves the site in one of two ways: with php-fpm as its origin, serving files itself (`fastcgi_rules`), or with nginx as its origin for all
requests (`http_rules`). nginx.conf is the text that the documentation shows; this class replaces only its address, document root and
socket.

gnuboard writes the Host of a request into the links of the page. So a browser may also connect to nginx directly, without Kasoku.
"""

import base64
import functools
import hashlib
import html
import http.client
import json
import os
import re
import shutil
import subprocess
import time
import urllib.parse
from pathlib import Path

import archives
from servers import FPM, PROGRAM, WEB_USER, Servers, can_connect, free_port, run, until

HERE = Path(__file__).resolve().parent
VERSIONS = ("5.6.34", "5.7.5")
ADMIN, ADMIN_PASSWORD, ADMIN_NICK = "admin", "correct horse battery", "운영자Q0x"
MEMBERS = {f"member{number}": f"닉네임Q{number}x" for number in range(1, 7)}
MEMBER_PASSWORD = "tern and gannet"
DATABASE_USER, DATABASE_PASSWORD = "board", "shearwater"
# The password and address of the guests who wrote the first posts and comments.
GUEST_PASSWORD, GUEST_ADDRESS = "seagull", "127.0.0.77"
# Boards in addition to the four that the installer makes.
MEMBERS_BOARD, LONG_BOARD, SECRETS_BOARD = "memonly", "b2026k11test", "askus"

FASTCGI = """
[[site]]
origin = "fastcgi://unix:{socket}"
root = "{root}"
"""

HTTP = """
[[site]]
origin = "{nginx}"
"""

# The frame that a distribution's nginx.conf has around a site.
NGINX = """daemon off;
user {user};
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/nginx-error.log;
events {{ worker_connections 512; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    log_format told '$remote_addr "$request" $status $body_bytes_sent "$http_referer" "$http_cookie"';
    access_log {directory}/nginx-access.log told;
    client_body_temp_path {directory}/nginx-body;
    fastcgi_temp_path {directory}/nginx-fastcgi;
    proxy_temp_path {directory}/nginx-proxy;
    uwsgi_temp_path {directory}/nginx-uwsgi;
    scgi_temp_path {directory}/nginx-scgi;
    include {directory}/site.conf;
}}
"""

# Sets the variables of a request. The script counts as no visit, and its session belongs to no visitor.
SCRIPT = """<?php
$_SERVER = ['HTTP_HOST' => '127.0.0.1:{port}', 'SERVER_PORT' => '{port}', 'SERVER_NAME' => '127.0.0.1', 'REQUEST_URI' => '/',
    'REQUEST_METHOD' => 'GET', 'SCRIPT_NAME' => '/index.php', 'SCRIPT_FILENAME' => '{root}/index.php', 'PHP_SELF' => '/index.php',
    'DOCUMENT_ROOT' => '{root}', 'SERVER_SOFTWARE' => 'script', 'REMOTE_ADDR' => '{address}', 'HTTP_USER_AGENT' => 'script'] + $_SERVER;
$_COOKIE = [md5('ck_visit_ip') => base64_encode('{address}')];
chdir('{root}');
require '{root}/common.php';
ob_end_clean();
$values = json_decode(getenv('VALUES'), true);
"""


def archive(version=VERSIONS[0]):
    """The path of a version's archive, or None: then the tests that need it are skipped."""
    return archives.archive(f"gnuboard5-{version}")


class Site(Servers):
    """A context with gnuboard5, its servers, and Kasoku."""

    name = "gnuboard"

    def __init__(self, version=VERSIONS[0]):
        super().__init__()
        self.version = version
        self.sessions = self.directory / "sessions"
        # The numbers and names of the content that population.php has made.
        self.content = {}
        self._nginx_port = None

    def fastcgi_rules(self):
        """The configuration with php-fpm as origin; Kasoku serves the files."""
        return FASTCGI.format(socket=self.php_socket, root=self.root)

    def http_rules(self):
        """The configuration with nginx as origin, which serves the files and has php-fpm behind it."""
        return HTTP.format(nginx=self.nginx())

    def nginx(self):
        """The URL of nginx in front of php-fpm. The first call starts it."""
        if self._nginx_port is None:
            self._nginx_port = free_port()
            self._start_nginx()
        return f"http://127.0.0.1:{self._nginx_port}"

    def nginx_requests(self):
        """The number of requests that nginx has answered so far."""
        return (self.directory / "nginx-access.log").read_bytes().count(b"\n")

    def set(self, **settings):
        """Changes settings of the program (g5_config), such as cf_delay_sec=-1 (no wait between two posts) or cf_bbs_rewrite=1 (short
        addresses)."""
        self.sql("UPDATE g5_config SET " + ", ".join(f"{name} = '{value}'" for name, value in settings.items()))
        for kept in (self.root / "data" / "cache").glob("latest-*"):
            kept.unlink()

    def sql(self, statements):
        """The rows of the database's answer, each a list of texts."""
        words = ["mariadb", "--no-defaults", f"--socket={self.database_socket}", "--user=root", "--default-character-set=utf8mb4", "--batch",
                 "--skip-column-names", self.name, "-e", statements]
        return [line.split("\t") for line in run(words).splitlines()]

    def php(self, code, **values):
        """Runs PHP code with gnuboard loaded, as the web user, without any server; returns its output. The code finds `values` in
        $values."""
        script = self.directory / "script.php"
        script.write_text(SCRIPT.format(port=self.port, root=self.root, address=GUEST_ADDRESS) + code)
        settings = [f"-d{name}={value}" for name, value in {**self._php_values(), "display_errors": "1"}.items()]
        return run(["php", *settings, script], env={**os.environ, "VALUES": json.dumps(values)}, user=WEB_USER, group=WEB_USER)

    def captcha(self, session):
        """The digits that the captcha's picture shows in this session.

        The session has them encrypted by `str_encrypt` in lib/common.lib.php, which adds a byte of a key to each byte. The key depends on
        settings and on SERVER_SOFTWARE, so it differs between nginx and Kasoku. The right key is the one that yields digits.
        """
        kept = re.search(rb'ss_captcha_key\|s:\d+:"([^"]+)"', (self.sessions / f"sess_{session}").read_bytes())
        if kept is None:
            raise AssertionError(f"the session {session} has no captcha")
        secret = base64.b64decode(kept[1].translate(bytes.maketrans(b"._-", b"+/=")))
        for key in self._captcha_keys():
            plain = bytes((byte - key[place % len(key) - 1]) % 256 for place, byte in enumerate(secret))
            if found := re.fullmatch(rb"[0-9a-f]{32}(\d{6})", plain):
                return found[1].decode()
        raise AssertionError(f"no key fits the captcha of the session {session}")

    def _captcha_keys(self):
        settings = self.sql("SELECT cf_title, cf_theme, cf_admin_email_name, cf_login_point, cf_memo_send_point FROM g5_config")[0]
        serialized = "".join(f'i:{place};s:{len(text.encode())}:"{text}";' for place, text in enumerate(settings))
        digest = hashlib.md5(f"a:5:{{{serialized}}}".encode()).hexdigest()
        for software in (software_of("/usr/sbin/nginx", "-v"), software_of(PROGRAM, "--version")):
            mixed = re.sub(r"[^0-9A-Za-z]", digest[-1], f"{software}{digest}{self.root}")
            yield hashlib.sha256(mixed.encode()).hexdigest().encode()
            # Version 5.7.5.
            mixed = re.sub(r"[^0-9A-Za-z]", DATABASE_USER[-1], f"{software}{self.root}")
            yield hashlib.md5(mixed.encode()).hexdigest().encode()

    def _install(self):
        self.root.mkdir()
        run([*archives.unpack(f"gnuboard5-{self.version}", self.root), "--no-same-permissions"])
        for directory in (self.root / "data", self.sessions):
            directory.mkdir()
            shutil.chown(directory, WEB_USER, WEB_USER)

    def _php(self):
        config = self.directory / "php-fpm.conf"
        values = "".join(f"php_value[{name}] = {value}\n" for name, value in self._php_values().items())
        config.write_text(FPM.format(directory=self.directory, socket=self.php_socket, user=WEB_USER) + values)
        log = self.directory / "php-fpm.out"
        child = self._start([max(Path("/usr/sbin").glob("php-fpm*")), "--nodaemonize", "--fpm-config", config], log)
        until("php-fpm serves", self.php_socket.exists, child, log)
        self._run_the_installer()
        self._populate()

    def _php_values(self):
        return {"session.save_path": self.sessions, "mysqli.default_socket": self.database_socket}

    def _start_nginx(self):
        ours = {"127.0.0.1:8081": f"127.0.0.1:{self._nginx_port}", "/var/www/gnuboard5": str(self.root), "/run/php/php-fpm.sock": str(self.php_socket)}
        text = (HERE / "nginx.conf").read_text()
        for theirs, our in ours.items():
            if text.count(theirs) != 1:
                raise RuntimeError(f"nginx.conf should have {theirs} once")
            text = text.replace(theirs, our)
        (self.directory / "site.conf").write_text(text)
        config = self.directory / "nginx.conf"
        config.write_text(NGINX.format(directory=self.directory, user=WEB_USER))
        log = self.directory / "nginx.out"
        child = self._start(["/usr/sbin/nginx", "-c", config, "-e", self.directory / "nginx-error.log"], log)
        until("nginx serves", lambda: can_connect(self._nginx_port), child, log)

    def _run_the_installer(self):
        """Goes through the three pages of install/, with the fields of their forms."""
        form = self._ask_the_installer("install_config.php", {"agree": "동의함"})
        fields = {name: html.unescape(value) for name, value in re.findall(r'<input name="(\w+)" type="text"(?: value="([^"]*)")?', form)}
        fields["ajax_token"] = re.search(r'name="ajax_token" value="(\w+)"', form)[1]
        # Version 5.7.5 installs with no account that has no password.
        self.sql(f"CREATE USER {DATABASE_USER}@localhost IDENTIFIED BY '{DATABASE_PASSWORD}'; GRANT ALL ON {self.name}.* TO {DATABASE_USER}@localhost")
        fields |= {"mysql_host": "localhost", "mysql_user": DATABASE_USER, "mysql_pass": DATABASE_PASSWORD, "mysql_db": self.name, "g5_shop_install": "1",
                   "admin_id": ADMIN, "admin_pass": ADMIN_PASSWORD, "admin_name": ADMIN_NICK, "admin_email": "admin@example.org"}
        checked = json.loads(self._ask_the_installer("ajax.install.check.php", fields))
        if checked["success"] != "ok":
            raise RuntimeError(f"the installer refuses its form: {checked}")
        said = self._ask_the_installer("install_db.php", fields)
        if "설치가 완료되었습니다" not in said:
            raise RuntimeError(f"gnuboard could not be installed: {said}")

    def _ask_the_installer(self, page, form):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.nginx()).netloc, timeout=60)
        try:
            fields = {"Host": f"127.0.0.1:{self.port}", "Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", f"/install/{page}", urllib.parse.urlencode(form), fields)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"install/{page}: {answer.status} {text}")
        return text

    def _populate(self):
        # The content is a few days old: not new, but young enough for the list of new posts. gnuboard's clock has Korea's time.
        midnight = (int(time.time()) + 9 * 3600) // 86400 * 86400 - 9 * 3600
        code = (HERE / "population.php").read_text().removeprefix("<?php")
        said = self.php(code, url=self.url, midnight=midnight, members=MEMBERS, member_password=MEMBER_PASSWORD, guest_password=GUEST_PASSWORD,
                        boards={"members": MEMBERS_BOARD, "long": LONG_BOARD, "secrets": SECRETS_BOARD})
        try:
            self.content = json.loads(said)
        except ValueError:
            raise RuntimeError(f"gnuboard could not be populated: {said}") from None
        self.content["attachments"] = {int(post): files for post, files in self.content["attachments"].items()}


@functools.cache
def software_of(*version):
    """The SERVER_SOFTWARE of the server whose version this command prints."""
    done = subprocess.run(version, capture_output=True, text=True, check=True)
    return re.search(r"(nginx|kasoku)[/ ]([\d.]+)", done.stdout + done.stderr).expand(r"\1/\2")
