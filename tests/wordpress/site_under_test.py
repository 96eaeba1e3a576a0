"""WordPress as Debian has it, on a database and a php-fpm of its own; Kasoku in front of it. All in one scratch directory.

What listens, listens on Unix sockets in that directory, but for Kasoku, which has a free port of 127.0.0.1. Everything ends with
the context, children included.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "kasoku"
WORDPRESS = Path("/usr/share/wordpress")
PATIENCE_SECONDS = 60
USER, PASSWORD = "editor-in-chief", "correct horse battery"
WEB_USER = "www-data"

CONFIG = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $name)
    define($name, 'only for this test: ' . $name);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
define('WP_DEBUG', false);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""

# As the installer in the browser does it, and the permalinks that most sites have.
INSTALL = """<?php
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = '127.0.0.1:{port}';
$_SERVER['REQUEST_URI'] = '/';
require '{root}/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Harbour notes', '{user}', 'editor@example.org', true, '', '{password}');
update_option('siteurl', 'http://127.0.0.1:{port}');
update_option('home', 'http://127.0.0.1:{port}');
update_option('permalink_structure', '/%postname%/');
global $wp_rewrite;
$wp_rewrite->init();
$wp_rewrite->flush_rules(true);
echo get_option('permalink_structure');
"""

FPM = """[global]
error_log = {directory}/php-fpm.log
daemonize = no
[www]
user = {user}
group = {user}
listen = {socket}
listen.mode = 0666
pm = static
pm.max_children = 4
access.log = {directory}/php-access.log
access.format = "%m %r%Q%q %s"
catch_workers_output = yes
"""


class Site:
    """A context: WordPress, its servers, and Kasoku."""

    def __init__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="kasoku-wordpress-"))
        self.directory.chmod(0o755)
        self.root = self.directory / "www"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.php_socket = self.directory / "php.sock"
        self.admin = self.directory / "admin.sock"
        self._config = self.directory / "kasoku.toml"
        self._kasoku = None
        self._children = []

    def __enter__(self):
        try:
            self._database()
            self._wordpress()
            self._php()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self._children):
            end(child)
        shutil.rmtree(self.directory, ignore_errors=True)

    def serve(self, rules):
        """Kasoku with these lines in its file: started, or told to read it again."""
        self._config.write_text(f'listen = ["127.0.0.1:{self.port}"]\nadmin = "unix:{self.admin}"\n{rules}')
        if self._kasoku is None:
            log = self.directory / "kasoku.log"
            self._kasoku = self._start([PROGRAM, "serve", "--config", self._config], log)
            until("Kasoku serves", lambda: can_connect(self.port), self._kasoku, log)
            return
        before = self.said().count("the configuration was read again")
        self._kasoku.send_signal(signal.SIGHUP)
        until("a reload", lambda: self.said().count("the configuration was read again") > before, self._kasoku)

    def said(self):
        """What Kasoku has said so far."""
        return (self.directory / "kasoku.log").read_text(errors="replace")

    def php_requests(self):
        """How many requests PHP has answered so far."""
        return (self.directory / "php-access.log").read_bytes().count(b"\n")

    def kasoku(self, *words):
        """A command of the program to the one that runs; what it prints."""
        words = [PROGRAM, words[0], "--admin", f"unix:{self.admin}", *words[1:]]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"{words[1]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def _database(self):
        data = self.directory / "database"
        log = self.directory / "database.log"
        data.mkdir()
        shutil.chown(data, "mysql", "mysql")
        install = ["mariadb-install-db", f"--datadir={data}", "--user=mysql", "--skip-test-db", "--auth-root-authentication-method=normal"]
        run(install)
        self.database_socket = self.directory / "run" / "database.sock"
        self.database_socket.parent.mkdir()
        shutil.chown(self.database_socket.parent, "mysql", "mysql")
        # Nothing of this has to survive a loss of power.
        server = ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={self.database_socket}", "--skip-networking",
                  "--user=mysql", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--skip-log-bin"]
        child = self._start(server, log)
        until("the database serves", self.database_socket.exists, child, log)
        run(["mariadb", "--no-defaults", f"--socket={self.database_socket}", "--user=root", "-e", "CREATE DATABASE wordpress CHARACTER SET utf8mb4"])

    def _wordpress(self):
        # A copy, with what Debian links to: uploads are written below it.
        shutil.copytree(WORDPRESS, self.root, symlinks=False, ignore=shutil.ignore_patterns("wp-config.php"), ignore_dangling_symlinks=True)
        (self.root / "wp-content" / "uploads").mkdir(exist_ok=True)
        shutil.chown(self.root / "wp-content" / "uploads", WEB_USER, WEB_USER)
        (self.root / "wp-config.php").write_text(CONFIG.format(socket=self.database_socket))
        # What editors leave behind: never to be served.
        (self.root / "wp-config.php~").write_text(CONFIG.format(socket=self.database_socket))
        install = self.directory / "install.php"
        install.write_text(INSTALL.format(port=self.port, root=self.root, user=USER, password=PASSWORD))
        said = run(["php", "-d", "display_errors=1", install])
        if "/%postname%/" not in said:
            raise RuntimeError(f"WordPress could not be installed: {said}")

    def _php(self):
        config = self.directory / "php-fpm.conf"
        config.write_text(FPM.format(directory=self.directory, socket=self.php_socket, user=WEB_USER))
        programs = sorted(Path("/usr/sbin").glob("php-fpm*"))
        if not programs:
            raise RuntimeError("php-fpm is not installed")
        log = self.directory / "php-fpm.out"
        child = self._start([programs[-1], "--nodaemonize", "--fpm-config", config], log)
        until("php-fpm serves", self.php_socket.exists, child, log)

    def _start(self, words, log):
        with open(log, "ab") as out:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        self._children.append(child)
        return child


def end(child):
    """Ends a child and what it has started."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def until(what, is_so, child, log=None):
    """Waits until it is so, or the child has ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if child.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{what}: it never happened. {log.read_text(errors='replace') if log else ''}")
        time.sleep(0.05)


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
