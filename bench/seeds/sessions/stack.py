"""Starts the board: a database, php-fpm, and the pages, as they are and with the patch that makes sessions start late."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import posts
from processes import BenchError

HERE = Path(__file__).resolve().parent
PHP_FPM = next(iter(sorted(Path("/usr/sbin").glob("php-fpm*"), reverse=True)), Path("/usr/sbin/php-fpm"))
PHP_PROCESSES = 8
DATABASE = "/usr/sbin/mariadbd"


@dataclass
class Board:
    """The running board; the requests of all servers go to the same php-fpm."""

    php: Path  # php-fpm's socket
    plain: Path  # the pages as they are
    lazy: Path  # the pages with the patch
    database: Path  # the database's socket
    sessions: Path
    log: Path  # a line for each request that PHP has answered

    def php_requests(self):
        """The number of requests that PHP has answered so far."""
        with open(self.log, "rb") as file:
            return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))

    def forget_sessions(self, but):
        """Removes all sessions except these, since the cost of ten thousand files in one directory must not be measured."""
        keep = {f"sess_{one}" for one in but}
        for path in self.sessions.iterdir():
            if path.name not in keep:
                path.unlink(missing_ok=True)


def start(programs, cores, php_entered=None, database_entered=None):
    """Starts a board with its posts on these cores; it ends with `programs`."""
    home = programs.directory("board")
    plain, lazy = home / "plain", home / "lazy"
    for pages in (plain, lazy):
        shutil.copytree(HERE / "board", pages)
    patched = run(["patch", "--quiet", "-p1", "-d", lazy, "-i", HERE / "lazy.patch"])
    if list(lazy.glob("*.orig")) + list(lazy.glob("*.rej")):
        raise BenchError(f"the patch does not fit the board:\n{patched}")
    readable(home)
    database = start_database(programs, cores, database_entered)
    files = programs.directory("board-files")
    (files / posts.FILE).write_bytes(bytes(range(250)) * (posts.FILE_BYTES // 250))
    board = Board(programs.scratch / "php.sock", plain, lazy, database, programs.directory("sessions"), programs.scratch / "php-access.log")
    start_php(programs, cores, php_entered, board, files)
    return board


def readable(directory):
    """Makes the files readable for servers that change their user, independent of the umask."""
    for path in [directory, *directory.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def start_database(programs, cores, entered):
    """Starts MariaDB on a Unix socket, with all data in memory, since none has to survive."""
    home = programs.directory("database")
    data = home / "data"
    data.mkdir()
    shutil.chown(home, "mysql", "mysql")
    shutil.chown(data, "mysql", "mysql")
    run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=mysql", "--skip-test-db", "--auth-root-authentication-method=normal"])
    socket = home / "database.sock"
    words = [DATABASE, "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking", "--user=mysql"]
    words += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=128M", "--innodb-log-file-size=32M", "--skip-log-bin"]
    # Enough for one connection for each PHP process, and connections that are being closed.
    words += ["--max-connections=200", "--thread-cache-size=32", "--skip-name-resolve"]
    programs.start("database", words, cores, entered=entered).until_listening(socket)
    run(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root"], posts.sql())
    return socket


def start_php(programs, cores, entered, board, files):
    config = programs.scratch / "php-fpm.conf"
    config.write_text(f"""
[global]
error_log = /dev/stderr
daemonize = no
[board]
user = www-data
group = www-data
listen = {board.php}
listen.mode = 0666
; A connection waits here for a process; the shorter queue that is usual turns some of 500 clients away.
listen.backlog = 4096
pm = static
pm.max_children = {PHP_PROCESSES}
access.log = {board.log}
access.format = "%s %m %r%Q%q"
catch_workers_output = yes
env[BOARD_DATABASE] = {board.database}
env[BOARD_FILES] = {files}
php_value[session.save_path] = {board.sessions}
php_value[session.gc_probability] = 0
""")
    command = [PHP_FPM, "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", config]
    programs.start("php-fpm", command, cores, entered=entered).until_listening(board.php)


def run(words, text=None):
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise BenchError(f"{words[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
