#!/usr/bin/env python3
"""Tests downloads of a board behind Kasoku: PHP reads and prints the file, or names it in one line (X-Sendfile).

The board is bench/seeds/downloads/board, which resembles gnuboard5; php-fpm has two children. The scenarios show that both scripts send the
same files to the same visitors, and how other visitors fare while four slow visitors download. Prints a line for each scenario and
`board downloads: N passed, M failed`; `--program FILE` tests another program than the release.
"""

import difflib
import hashlib
import http.client
import json
import os
import re
import select
import shutil
import socket
import sys
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from application_servers import (  # noqa: E402
    LARGE_BYTES, PATIENCE_SECONDS, ROOT, Answer, Servers, can_connect, children_of, equal, eventually, free_port, run_all,
)

BOARD = ROOT / "bench" / "seeds" / "downloads" / "board"
READS, NAMES = "download.php", "download-sendfile.php"
CHILDREN = 2
SLOW_VISITORS = 4
# The most memory that Kasoku may take for the four downloads together: a part of one file.
GATHERED_BYTES_MAX = LARGE_BYTES // 4

FPM = """[global]
error_log = {directory}/fpm.log
daemonize = no
[board]
user = nobody
group = nogroup
listen = 127.0.0.1:{fpm_port}
pm = static
pm.max_children = {children}
pm.status_path = /status.php
pm.status_listen = 127.0.0.1:{status_port}
env[BOARD_DATA] = {directory}/data
php_value[session.save_path] = {directory}/sessions
"""

CONFIG = """listen = ["127.0.0.1:{port}"]
admin = "127.0.0.1:{admin_port}"
{user}

[[site]]
hosts = ["board.test"]
origin = "fastcgi://127.0.0.1:{fpm_port}"
root = "{directory}/www"

[site.sendfile]
roots = ["{directory}/data/file"]
internal = {{ "/protected/" = "{directory}/data/file/" }}
unescape = false

[[site]]
hosts = ["status.test"]
origin = "fastcgi://127.0.0.1:{status_port}"
root = "{directory}/status"
"""

# By the post's number: the file's name on the disk, the name that the visitor sees, and the content.
POSTS = {
    1: ("3232_notes.txt", "notes.txt", b"a line of text\n" * 1000),
    2: ("사진 모음 2026.zip", "사진 모음 2026.zip", bytes(range(256)) * 4000),
    3: ("100%20 할인.pdf", "100%20 할인.pdf", b"%PDF-" + b"\0\r\n\xff" * 5000),
    4: ("3232_empty.bin", "empty.bin", b""),
    5: ("3232_page.php", "page.php", b"<?php echo 'run'; ?>\n"),
    6: ("3232_large.zip", "large.zip", b"0123456789abcdef" * (LARGE_BYTES // 16)),
}
LARGE = 6


class Board(Servers):
    """A context with the board on php-fpm with two children, and Kasoku in front of it."""

    def start(self):
        self.fpm_port, self.status_port, self.admin_port = free_port(), free_port(), free_port()
        shutil.copytree(BOARD, self.directory / "www")
        # The file only has to exist: php-fpm itself answers requests for it.
        (self.directory / "status").mkdir()
        (self.directory / "status" / "status.php").touch()
        (self.directory / "data" / "file").mkdir(parents=True)
        for name, _, content in POSTS.values():
            path = self.directory / "data" / "file" / name
            path.write_bytes(content)
            # A file that was just written might change again within the same second, so its entity tag would be weak.
            os.utime(path, (1_700_000_000, 1_700_000_000))
        posts = {number: {"bf_file": name, "bf_source": source} for number, (name, source, _) in POSTS.items()}
        (self.directory / "data" / "posts.json").write_text(json.dumps(posts, ensure_ascii=False), encoding="utf-8")
        (self.directory / "sessions").mkdir()
        (self.directory / "sessions").chmod(0o777)
        places = {"directory": self.directory, "port": self.port, "admin_port": self.admin_port, "fpm_port": self.fpm_port,
                  "status_port": self.status_port, "children": CHILDREN, "user": 'user = "nobody"' if os.getuid() == 0 else ""}
        (self.directory / "fpm.conf").write_text(FPM.format(**places))
        (self.directory / "kasoku.toml").write_text(CONFIG.format(**places))
        fpm = sorted(Path("/usr/sbin").glob("php-fpm*"))[-1]
        self.fpm = self.run([fpm, "-F", "-n", "-y", self.directory / "fpm.conf"])
        for port in [self.fpm_port, self.status_port]:
            eventually("php-fpm", lambda: can_connect(socket.AF_INET, ("127.0.0.1", port)))
        self.kasoku = self.run([self.program, "serve", "--config", self.directory / "kasoku.toml"])
        eventually("Kasoku", lambda: can_connect(socket.AF_INET, ("127.0.0.1", self.port)))

    def php(self):
        """php-fpm's status: its children, and the requests that wait for one. A separate listener answers (pm.status_listen)."""
        return self.ask("status", "/status.php?json").json()

    def counted(self, name):
        """One of Kasoku's counters and gauges."""
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/stats")
        found = json.loads(connection.getresponse().read())
        connection.close()
        return found[name]


class Visitor:
    """A visitor who is logged in and has opened the posts `opened`, by default all."""

    def __init__(self, board, name="visitor", opened=tuple(POSTS)):
        self.board = board
        login = board.ask("board", "/login.php", "POST", urllib.parse.urlencode({"mb_id": name, "mb_password": "board"}),
                          {"Content-Type": "application/x-www-form-urlencoded"})
        equal((login.status, login.field("location")), (302, "list.php"))
        # The last one: the log-in has replaced the first session.
        self.session = re.findall(r"PHPSESSID=\w+", login.field("set-cookie"))[-1]
        for number in opened:
            equal(self.ask(f"/view.php?wr_id={number}").status, 200)

    def ask(self, path, method="GET", **fields):
        return self.board.ask("board", path, method, fields={"Cookie": self.session, **fields})

    def begin(self, path):
        """Sends a request without reading the answer."""
        connection = self.board.connect()
        connection.request("GET", path, headers={"Host": "board.test", "Cookie": self.session})
        return connection


def has_answer(connection):
    return bool(select.select([connection.sock], [], [], 0)[0])


def download(script, number):
    return f"/{script}?wr_id={number}"


def one_line_takes_the_place_of_the_loop(_):
    """docs/sendfile.md shows exactly these lines."""
    reads, names = ((BOARD / name).read_text().splitlines() for name in (READS, NAMES))
    changed = [line for line in difflib.unified_diff(reads, names, n=0, lineterm="") if re.match(r"[+-](?!\+\+|--)", line)]
    equal([line for line in changed if line[0] == "+"], ["+header('X-Sendfile: '.$filepath);"])
    equal((changed[0], changed[-2]), ("-flush();", "-fclose($fp);"))
    shown = re.search(r"```diff\n(.*?)```", (ROOT / "docs" / "sendfile.md").read_text(encoding="utf-8"), re.DOTALL)[1].splitlines()
    equal([line for line in shown if line[:1] in ("+", "-")], changed)
    equal([line for line in shown if line[:1] == " " and line[1:] not in names], [])


def both_send_the_same_files_under_the_same_names(board):
    visitor = Visitor(board)
    for number, (_, source, content) in POSTS.items():
        if number == LARGE:
            continue
        read, named = (visitor.ask(download(script, number)) for script in (READS, NAMES))
        equal((read.status, named.status), (200, 200))
        equal([hashlib.sha1(answer.body).hexdigest() for answer in (read, named)], [hashlib.sha1(content).hexdigest()] * 2)
        same = ["content-type", "content-length", "content-disposition", "content-transfer-encoding", "pragma", "expires", "cache-control"]
        equal({name: named.field(name) for name in same}, {name: read.field(name) for name in same})
        equal((read.field("content-type"), read.field("content-length")), ("application/octet-stream", str(len(content))))
        disposition = read.field("content-disposition").encode("latin-1").decode("utf-8")
        equal(disposition, f"attachment; filename=\"{source}\"; filename*=UTF-8''{urllib.parse.quote(source)}")
        equal((named.field("x-sendfile"), "no-store" in named.field("cache-status")), ("", True))
    by_uri = visitor.ask(download("download-accel.php", 2))
    equal((by_uri.status, by_uri.body == POSTS[2][2], by_uri.field("x-accel-redirect")), (200, True, ""))


def who_may_not_download_gets_no_byte_from_either(board):
    guest = {"Cookie": "PHPSESSID=0123456789abcdef0123456789"}
    member = Visitor(board, opened=[2])
    for script in (READS, NAMES):
        # A visitor with permission downloads first; that must not help visitors without it.
        Visitor(board).ask(download(script, 1))
        answers = {
            "Members only": board.ask("board", download(script, 1)),
            "please log in": board.ask("board", download(script, 1), fields={**guest, "Range": "bytes=0-9"}),
            "open the post first": member.ask(download(script, 1)),
            "no such post": member.ask(download(script, 99)),
        }
        for words, answer in answers.items():
            equal((answer.status, words in answer.text, "a line of text" in answer.text), (403, True, False))
    equal(board.ask("board", "/3232_notes.txt").status, 404)


def parts_and_conditions_come_with_the_file_alone(board):
    visitor = Visitor(board)
    content = POSTS[2][2]
    named = visitor.ask(download(NAMES, 2), Range="bytes=1000-1999")
    equal((named.status, named.body == content[1000:2000], named.field("content-range")), (206, True, f"bytes 1000-1999/{len(content)}"))
    equal((named.field("accept-ranges"), named.field("content-disposition")[:10]), ("bytes", "attachment"))
    rest = visitor.ask(download(NAMES, 2), **{"Range": f"bytes={len(content) - 10}-", "If-Range": named.field("etag")})
    equal((rest.status, rest.body == content[-10:]), (206, True))
    equal(visitor.ask(download(NAMES, 2), Range=f"bytes={len(content)}-").status, 416)
    equal(visitor.ask(download(NAMES, 2), **{"If-None-Match": named.field("etag")}).status, 304)
    head = visitor.ask(download(NAMES, 2), "HEAD")
    equal((head.status, head.field("content-length"), head.body), (200, str(len(content)), b""))
    # With the script that reads, a download that was cut starts from the beginning: it ignores `Range`.
    read = visitor.ask(download(READS, 2), Range="bytes=1000-1999")
    equal((read.status, read.body == content, read.field("accept-ranges"), read.field("etag")), (200, True, "", ""))


def each_download_asks_the_board_and_none_is_kept(board):
    visitor = Visitor(board)
    stored, asked = board.counted("stored"), board.php()["accepted conn"]
    # PHP says no-store on each page with a session.
    for script in (READS, NAMES):
        for _ in range(3):
            status = visitor.ask(download(script, 1)).field("cache-status")
            equal(("fwd=" in status, "detail=no-store" in status, "stored" in status), (True, True, False))
    equal((board.counted("stored") - stored, board.php()["accepted conn"] - asked), (0, 6))


def slow_downloads_that_php_reads_leave_no_process_for_a_page(board):
    visitors = [Visitor(board, f"slow-{number}") for number in range(SLOW_VISITORS)]
    other = Visitor(board, "other")
    before = resident_bytes(board.kasoku.pid)
    downloads = [visitor.begin(download(READS, LARGE) + f"&visitor={number}") for number, visitor in enumerate(visitors)]
    # Two downloads occupy a child each, and two wait for one.
    eventually("two downloads to wait", lambda: waiting(board) == (CHILDREN, SLOW_VISITORS - CHILDREN))
    page = other.begin("/list.php")
    eventually("the page to wait behind them", lambda: waiting(board) == (CHILDREN, SLOW_VISITORS - CHILDREN + 1))
    equal(has_answer(page), False)
    equal(resident_bytes(board.kasoku.pid) - before < GATHERED_BYTES_MAX, True)
    for connection in downloads:
        connection.close()
    answer = Answer(page.getresponse())
    equal((answer.status, "Files for other" in answer.text), (200, True))


def slow_downloads_that_kasoku_sends_leave_php_to_others(board):
    visitors = [Visitor(board, f"slow-{number}") for number in range(SLOW_VISITORS)]
    other = Visitor(board, "other")
    before = resident_bytes(board.kasoku.pid)
    downloads = [visitor.begin(download(NAMES, LARGE)) for visitor in visitors]
    heads = [connection.getresponse() for connection in downloads]
    equal([(head.status, head.getheader("content-length")) for head in heads], [(200, str(LARGE_BYTES))] * SLOW_VISITORS)
    eventually("php-fpm to have nothing to do", lambda: waiting(board) == (0, 0))
    answer = other.ask("/list.php")
    equal((answer.status, "Files for other" in answer.text), (200, True))
    equal([board.counted(name) for name in ("stored_bytes", "memory_used_bytes", "fills_running")], [0, 0, 0])
    equal(resident_bytes(board.kasoku.pid) - before < GATHERED_BYTES_MAX, True)
    # All four downloads were unfinished meanwhile, since a file is larger than the sockets' buffers; and all arrive whole.
    expected = hashlib.sha1(POSTS[LARGE][2]).hexdigest()
    equal([hashlib.sha1(head.read()).hexdigest() for head in heads], [expected] * SLOW_VISITORS)


def a_visitor_s_own_pages_wait_for_a_download_that_php_reads(board):
    """PHP keeps a session locked as long as a script that has opened it runs."""
    visitor = Visitor(board)
    reading = visitor.begin(download(READS, LARGE))
    equal(reading.getresponse().status, 200)
    page = visitor.begin("/list.php")
    eventually("a child that waits for a lock", lambda: set(waiting_for_locks()) & set(children_of(board.fpm.pid, "php-fpm")))
    equal(has_answer(page), False)
    reading.close()
    equal(page.getresponse().status, 200)
    named = visitor.begin(download(NAMES, LARGE))
    head = named.getresponse()
    equal(visitor.ask("/list.php").status, 200)
    equal(hashlib.sha1(head.read()).hexdigest(), hashlib.sha1(POSTS[LARGE][2]).hexdigest())


def waiting(board):
    """The number of PHP's busy children, and of connections that wait for a child."""
    php = board.php()
    return php["active processes"], php["listen queue"]


def resident_bytes(pid):
    """The anonymous resident memory of a process, without pages of files, in bytes."""
    return int(re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def waiting_for_locks():
    """The ids of processes that wait for a lock: `1: -> FLOCK ADVISORY WRITE PID …` (proc_locks(5))."""
    return [int(pid) for pid in re.findall(r"-> FLOCK +\w+ +\w+ +(\d+)", Path("/proc/locks").read_text())]


SCENARIOS = [
    one_line_takes_the_place_of_the_loop, both_send_the_same_files_under_the_same_names, who_may_not_download_gets_no_byte_from_either,
    parts_and_conditions_come_with_the_file_alone, each_download_asks_the_board_and_none_is_kept,
    slow_downloads_that_php_reads_leave_no_process_for_a_page, slow_downloads_that_kasoku_sends_leave_php_to_others,
    a_visitor_s_own_pages_wait_for_a_download_that_php_reads,
]


if __name__ == "__main__":
    sys.exit(run_all("board downloads", __doc__, Board, SCENARIOS))
