#!/usr/bin/env python3
"""Tests real application servers behind Kasoku: php-fpm, a Perl program on FCGI.pm, CGI programs behind fcgiwrap, a Perl program on SCGI.

All are from Debian, each on its own socket. Prints a line for each scenario and `application servers: N passed, M failed`; exits with 1 if
a scenario failed. `--program FILE` tests another program than the release.
"""

import argparse
import ctypes
import errno
import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = Path(__file__).resolve().parent / "scripts"
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "kasoku"
PATIENCE_SECONDS = 30
# More than the sockets of a client that doesn't read can hold.
LARGE_BYTES = 32 << 20

FPM = """[global]
error_log = {directory}/fpm.log
daemonize = no
[www]
user = nobody
group = nogroup
listen = {directory}/fpm.sock
listen.mode = 0666
pm = static
pm.max_children = 4
ping.path = /ping
access.log = {directory}/fpm-access.log
access.format = "%m %r %s"
catch_workers_output = yes
"""

CONFIG = """listen = ["127.0.0.1:{port}"]
trusted-proxies = ["127.0.0.1"]
{user}

[[site]]
hosts = ["php.test"]
origin = "fastcgi://unix:{directory}/fpm.sock"
root = "{directory}/www"
index = ["all.php"]
try-files = ["{{path}}", "{{path}}/", "/all.php"]

[[site]]
hosts = ["board.test"]
origin = "fastcgi://unix:{directory}/fpm.sock"
root = "{directory}/www"
try-files = ["{{path}}", "{{path}}/", "/all.php"]
no-programs = ["/data/*"]
refuse-urls = ["*.sql", "*?refuse"]
rewrite = [
    "/{{bo_table:word}}/{{wr_id:digits}} => /all.php?bo_table={{bo_table}}&wr_id={{wr_id}}&rewrite=1",
    "/{{bo_table:word}}/{{title}}/ => /all.php?bo_table={{bo_table}}&wr_seo_title={{title}}&rewrite=1",
    "/file/{{name:word}} => /data/file/{{name}}.php",
]

[[site]]
hosts = ["kept.test"]
origin = "fastcgi://unix:{directory}/fpm.sock"
root = "{directory}/www"
origin-limits = {{ keepalive-connections-max = 2 }}
origin-health = {{ path = "/ping", interval = "100ms" }}

[[site]]
hosts = ["files.test"]
origin = "fastcgi://unix:{directory}/fpm.sock"
root = "{directory}/www"
sendfile = {{ roots = ["{directory}/private"], internal = {{ "/protected/" = "{directory}/private/" }} }}

[[site]]
hosts = ["perl.test"]
origin = "fastcgi://unix:{directory}/perl.sock"

[[site]]
hosts = ["perl-kept.test"]
origin = "fastcgi://unix:{directory}/perl.sock"
origin-limits = {{ keepalive-connections-max = 2 }}

[[site]]
hosts = ["spawned.test"]
origin = "fastcgi+spawn://{directory}/echo.fcgi?processes=1-3&requests=10"

[[site]]
hosts = ["one.test"]
origin = "fastcgi+spawn://{directory}/echo.fcgi?processes=1"

[[site]]
hosts = ["broken.test"]
origin = "fastcgi+spawn://{directory}/broken.fcgi?processes=2"

[[site]]
hosts = ["cgi.test"]
origin = "fastcgi://unix:{directory}/wrap.sock"
root = "{directory}/www"
script-suffixes = [".cgi"]

[[site]]
hosts = ["scgi.test"]
origin = "scgi://127.0.0.1:{scgi_port}"
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(what, attempt):
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := attempt()):
        if time.monotonic() > end:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.02)
    return found


def can_connect(family, address):
    with socket.socket(family) as probe:
        return probe.connect_ex(address) == 0


def children_of(pid, name):
    """The ids of the process's children whose command line contains `name`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            if parent == pid and name in (stat.parent / "cmdline").read_text():
                found.append(int(stat.parent.name))
        except (OSError, ValueError, IndexError):
            pass  # the process has ended meanwhile
    return found


class Answer:
    """The answer to one request."""

    def __init__(self, response):
        self.status = response.status
        self.body = response.read()
        self.text = self.body.decode("utf-8", "replace")

        def field(name):
            return response.getheader(name) or ""

        self.field = field

    def json(self):
        return json.loads(self.text)


class Servers:
    """A context with the application servers, and Kasoku in front of them."""

    def __init__(self, program):
        self.program = program
        self.directory = Path(tempfile.mkdtemp(prefix="kasoku-gateways-"))
        self.directory.chmod(0o777)
        self.port, self.scgi_port = free_port(), free_port()
        self.children = []
        self.perl_socket = None
        self.kasoku = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            # fcgiwrap leaves its children behind.
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        www = self.directory / "www"
        www.mkdir(mode=0o755)
        for name in ["all.php", "hello.cgi"]:
            shutil.copy(SCRIPTS / name, www / name)
        # The user to which Kasoku switches may not be able to read the repository.
        shutil.copy(SCRIPTS / "echo.fcgi", self.directory)
        (www / "plain.css").write_text("a { color: red }")
        uploads = www / "data" / "file"
        uploads.mkdir(parents=True)
        for name in ["x.php", "x.PHP", "x.phtml", "x.php5", "x.phar"]:
            (uploads / name).write_text("<?php touch(__DIR__ . '/ran'); echo 'run';")
        (uploads / "a.jpg").write_bytes(b"\xff\xd8<?php touch(__DIR__ . '/ran'); ?>")
        uploads.chmod(0o777)
        (www / "dump.sql").write_text("secret")
        (www / "picture.jpg").write_bytes(b"\xff\xd8<?php echo 'run'; ?>")
        private = self.directory / "private"
        private.mkdir(mode=0o755)
        (private / "large.zip").write_bytes(b"x" * LARGE_BYTES)
        (self.directory / "fpm.conf").write_text(FPM.format(directory=self.directory))
        fpm = sorted(Path("/usr/sbin").glob("php-fpm*"))[-1]
        self.run([fpm, "-F", "-n", "-y", self.directory / "fpm.conf", "-d", "output_buffering=0", "-d", "upload_max_filesize=64M",
                  "-d", "post_max_size=64M"])
        self.run(["fcgiwrap", "-c", "2", "-s", f"unix:{self.directory}/wrap.sock"], umask=0)
        self.run(["perl", SCRIPTS / "echo.scgi", str(self.scgi_port)])
        self.perl_socket = socket.socket(socket.AF_UNIX)
        self.perl_socket.bind(str(self.directory / "perl.sock"))
        self.perl_socket.listen(64)
        os.chmod(self.directory / "perl.sock", 0o666)
        # One process more than connections that Kasoku keeps: a process serves one connection at a time.
        for _ in range(3):
            self.start_perl()
        for name in ["fpm", "wrap"]:
            eventually(name, lambda: can_connect(socket.AF_UNIX, str(self.directory / f"{name}.sock")))
        eventually("scgi", lambda: can_connect(socket.AF_INET, ("127.0.0.1", self.scgi_port)))
        broken = self.directory / "broken.fcgi"
        broken.write_text("#!/bin/sh\necho no database today >&2\nexit 1\n")
        broken.chmod(0o755)
        config = self.directory / "kasoku.toml"
        config.write_text(CONFIG.format(directory=self.directory, port=self.port, scgi_port=self.scgi_port,
                                        user='user = "nobody"' if os.getuid() == 0 else ""))
        self.kasoku = self.run([self.program, "serve", "--config", config])
        eventually("Kasoku", lambda: can_connect(socket.AF_INET, ("127.0.0.1", self.port)))

    def start_perl(self):
        return self.run(["perl", SCRIPTS / "echo.fcgi"], stdin=self.perl_socket)

    def run(self, command, **options):
        with open(self.directory / "log", "ab") as log:
            child = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, start_new_session=True, **options)
        self.children.append(child)
        return child

    def said(self):
        return (self.directory / "log").read_text("utf-8", "replace")

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)

    def ask(self, site, path, method="GET", body=None, fields=(), connection=None, chunked=False):
        connection = connection or self.connect()
        connection.request(method, path, body, {"Host": f"{site}.test", **dict(fields)}, encode_chunked=chunked)
        return Answer(connection.getresponse())


def equal(got, expected):
    if got != expected:
        raise AssertionError(f"{got!r} is not {expected!r}")


def php_is_told_what_it_expects(servers):
    told = servers.ask("php", "/all.php/a%20b?x=y", fields={"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.9",
                                                            "Authorization": "Basic dTpw", "Proxy": "http://evil/"}).json()
    server = told["server"]
    expected = {
        "SCRIPT_NAME": "/all.php", "SCRIPT_FILENAME": f"{servers.directory}/www/all.php", "PATH_INFO": "/a b",
        "DOCUMENT_ROOT": f"{servers.directory}/www", "PHP_SELF": "/all.php/a b", "REQUEST_URI": "/all.php/a%20b?x=y",
        "QUERY_STRING": "x=y", "HTTP_HOST": "php.test", "SERVER_NAME": "php.test", "HTTPS": "on", "SERVER_PORT": "443",
        "REQUEST_SCHEME": "https", "PHP_AUTH_USER": "u", "REQUEST_METHOD": "GET", "GATEWAY_INTERFACE": "CGI/1.1",
    }
    equal({name: server.get(name) for name in expected}, expected)
    equal([name for name in ["HTTP_PROXY", "CONTENT_LENGTH"] if name in server], [])
    equal(told["get"], {"x": "y"})


def a_front_controller_answers_for_what_is_no_file(servers):
    server = servers.ask("php", "/2024/hello?do=show").json()["server"]
    equal((server["SCRIPT_NAME"], server["REQUEST_URI"], server.get("PATH_INFO")), ("/all.php", "/2024/hello?do=show", None))


def a_short_address_leads_to_its_script(servers):
    told = servers.ask("board", "/free/12?page=2&x=%26").json()
    equal(told["get"], {"bo_table": "free", "wr_id": "12", "rewrite": "1", "page": "2", "x": "&"})
    server = told["server"]
    expected = {
        "SCRIPT_NAME": "/all.php", "SCRIPT_FILENAME": f"{servers.directory}/www/all.php", "PHP_SELF": "/all.php",
        "REQUEST_URI": "/free/12?page=2&x=%26", "QUERY_STRING": "bo_table=free&wr_id=12&rewrite=1&page=2&x=%26",
    }
    equal({name: server.get(name) for name in expected}, expected)
    equal("PATH_INFO" in server, False)
    for title, value in [("%EA%B0%80%20b", "\uac00 b"), ("a&rewrite=0;c=d+e", "a&rewrite=0;c=d+e"), ("a%26b%3Dc%2B", "a&b=c+")]:
        got = servers.ask("board", f"/free/{title}/").json()["get"]
        equal(got, {"bo_table": "free", "wr_seo_title": value, "rewrite": "1"})
    posted = servers.ask("board", "/free/12", "POST", "a=b", {"Content-Type": "application/x-www-form-urlencoded"}).json()
    equal((posted["post"], posted["get"]["wr_id"]), ({"a": "b"}, "12"))
    # The URL of an existing file is not rewritten, and a URL that matches no line goes to the front controller.
    equal(servers.ask("board", "/plain.css").field("content-type").split(";")[0], "text/css")
    equal(servers.ask("board", "/free/a-b").json()["get"], [])


def an_uploaded_script_does_not_run(servers):
    for path in ["x.php", "x.PHP", "x.php/y", "x.php/a.jpg", "x.phtml", "x.php5", "x.phar", "x.%70hp", "x%2ephp", "./x.php", "/x.php"]:
        for method, body in [("GET", None), ("POST", "a=b")]:
            answer = servers.ask("board", f"/data/file/{path}", method, body)
            equal((path, answer.status, "run" in answer.text, "<?php" in answer.text), (path, 403, False, False))
    for path in ["/%64ata/file/x.php", "//data//file/x.php", "/x/../data/file/x.php", "/x/%2e%2e/data/file/x.php", "/file/x"]:
        equal((path, servers.ask("board", path).status), (path, 403))
    equal(servers.ask("board", "/data/file/a.jpg").status, 200)
    equal((servers.directory / "www" / "data" / "file" / "ran").exists(), False)
    # Only the setting keeps the script from running: without it, the script runs.
    equal(servers.ask("kept", "/data/file/x.php").text, "run")
    (servers.directory / "www" / "data" / "file" / "ran").unlink()


def a_refused_url_is_answered_without_php(servers):
    for path in ["/dump.sql", "/dump.s%71l", "/all.php?refuse", "/all.php?a=b&%72efuse=1"]:
        answer = servers.ask("board", path)
        equal((path, answer.status, "refused-url" in answer.field("cache-status")), (path, 403, True))


def files_are_served_and_only_scripts_run(servers):
    css = servers.ask("php", "/plain.css")
    equal((css.status, css.field("content-type").split(";")[0]), (200, "text/css"))
    equal(servers.ask("kept", "/picture.jpg/x.php").status, 404)
    equal(servers.ask("kept", "/none.php").status, 404)
    equal(servers.ask("kept", "/hello.cgi").status, 403)


def forms_and_uploads_arrive(servers):
    form = servers.ask("php", "/all.php", "POST", "a=b&c=d", {"Content-Type": "application/x-www-form-urlencoded"}).json()
    equal((form["post"], form["server"]["CONTENT_LENGTH"]), ({"a": "b", "c": "d"}, "7"))
    data = os.urandom(3 << 20)
    parts = b'--B\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n--B\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    body = parts + data + b"\r\n--B--\r\n"
    uploaded = servers.ask("php", "/all.php?do=upload", "POST", body, {"Content-Type": "multipart/form-data; boundary=B"})
    equal(uploaded.text, f"{hashlib.sha1(data).hexdigest()} {len(data)} hello")
    for chunks, length in [([b"abc", b"de" * 1000], 2003), ([b"a" * 700_001] * 3, 2_100_003)]:
        chunked = servers.ask("php", "/all.php", "POST", iter(chunks), {"Transfer-Encoding": "chunked"}, chunked=True).json()
        equal((chunked["length"], chunked["server"]["CONTENT_LENGTH"]), (length, str(length)))


def statuses_and_redirects_are_php_s(servers):
    gone = servers.ask("php", "/all.php?do=status")
    equal((gone.status, gone.text, gone.field("x-powered-by")), (410, "gone", "nobody"))
    moved = servers.ask("php", "/all.php?do=redirect")
    equal((moved.status, moved.field("location")), (302, "/all.php?do=status"))
    head = servers.ask("php", "/all.php?do=large", "HEAD")
    equal((head.status, head.body), (200, b""))


def what_php_logs_is_in_our_log_with_the_request_s_id(servers):
    answer = servers.ask("php", "/all.php?do=log", fields={"X-Request-Id": "ours-4711"})
    equal(answer.text, "logged")
    line = eventually("the line", lambda: next((line for line in servers.said().splitlines() if "a word for the log" in line), None))
    equal(("\x1b[31m" in line.split("a word")[1], "\\u{1b}[31mred" in line, "request=" in line), (False, True, True))


def large_answers_come_whole(servers):
    expected = hashlib.sha1(b"".join(bytes([97 + i % 26]) * 65536 for i in range(320))).hexdigest()
    equal(hashlib.sha1(servers.ask("php", "/all.php?do=large").body).hexdigest(), expected)


def an_answer_flows_while_the_script_runs(servers):
    mark = servers.directory / "go-on"
    connection = servers.connect()
    connection.request("GET", f"/all.php?do=slow&until={mark}", headers={"Host": "php.test"})
    response = connection.getresponse()
    equal(response.read(60), b"first " * 10)
    mark.touch()
    equal(response.read(), b"second")


def a_child_that_dies_is_502_or_a_cut_answer(servers):
    died = servers.ask("php", "/all.php?do=die")
    equal((died.status, "origin-closed-early" in died.field("cache-status")), (502, True))
    connection = servers.connect()
    connection.request("GET", "/all.php?do=kill", headers={"Host": "php.test"})
    try:
        response = connection.getresponse()
        body = response.read()
    except http.client.IncompleteRead as cut:
        equal(cut.partial, b"half")
    except ConnectionError:
        pass
    else:
        equal((response.status, b"half" in body), (502, False))
    equal(servers.ask("php", "/all.php?do=status").status, 410)


def a_script_whose_client_has_left_ends(servers):
    mark = servers.directory / "aborted"
    connection = servers.connect()
    # A POST is for its client alone, so no other request waits for it.
    connection.request("POST", f"/all.php?do=endless&mark={mark}", "x", headers={"Host": "php.test"})
    response = connection.getresponse()
    response.read(100_000)
    # The response holds the socket as well, so both must be closed.
    response.close()
    connection.close()
    eventually("the script to end", mark.exists)


def many_at_a_time_each_get_their_own(servers):
    wrong = []

    def ask(number):
        connection = servers.connect()
        for turn in range(10):
            query = f"n={number}-{turn}"
            site = "kept" if number % 2 else "php"
            try:
                got = servers.ask(site, f"/all.php?{query}", "POST", query * 50, connection=connection).json()
                if (got["server"]["QUERY_STRING"], got["sha"]) != (query, hashlib.sha1((query * 50).encode()).hexdigest()):
                    wrong.append((query, got))
            except Exception as error:  # any error is reported below
                wrong.append((query, repr(error)))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(wrong, [])


def a_file_that_php_names_is_sent(servers):
    for by, name in [("X-Sendfile", f"{servers.directory}/private/large.zip"), ("X-Accel-Redirect", "/protected/large.zip"),
                     ("X-LIGHTTPD-send-file", "large.zip")]:
        answer = servers.ask("files", f"/all.php?do=sendfile&by={by}&name={name}", fields={"Range": "bytes=5-9"})
        equal((answer.status, answer.text, answer.field("content-type")), (206, "xxxxx", "application/zip"))
        equal((answer.field("content-disposition"), answer.field(by)), ('attachment; filename="b.zip"', ""))
    for name, status in [("none.zip", 404), ("/etc/passwd", 403), ("../www/all.php", 403)]:
        equal(servers.ask("files", f"/all.php?do=sendfile&by=X-Sendfile&name={name}").status, status)
    refused = servers.ask("php", "/all.php?do=sendfile&by=X-Sendfile&name=large.zip")
    equal((refused.status, "sendfile-off" in refused.field("cache-status"), "half" in refused.text), (502, True, False))
    equal("names a file in X-Sendfile, which the configuration does not allow (`sendfile`)" in servers.said(), True)


def php_is_free_while_its_files_are_on_their_way(servers):
    """There are more downloads by clients that don't read than PHP has children, but all children answer other requests."""
    downloads = []
    for _ in range(12):
        connection = servers.connect()
        connection.request("GET", "/all.php?do=sendfile&by=X-Sendfile&name=large.zip", headers={"Host": "files.test"})
        response = connection.getresponse()
        equal((response.status, response.getheader("content-length")), (200, str(LARGE_BYTES)))
        downloads.append((connection, response))
    for _ in range(8):
        equal(servers.ask("php", "/all.php?do=status", "POST", "").status, 410)
    for connection, response in downloads[1:]:
        response.close()
        connection.close()
    equal(len(downloads[0][1].read()), LARGE_BYTES)


def a_check_finds_php_fpms_ping(servers):
    log = servers.directory / "fpm-access.log"
    eventually("checks", lambda: log.read_text().count("GET /ping 200") > 5)
    equal("checks in a row failed" in servers.said(), False)
    equal(servers.ask("kept", "/ping").status, 404)  # clients have no use for it


def a_perl_program_answers_one_request_after_the_other(servers):
    connection = servers.connect()
    answers = [servers.ask("perl", f"/app/{n}?q", "POST", "x" * n, connection=connection) for n in [0, 1, 70_000]]
    equal([answer.text for answer in answers], [f"POST /app/{n}?q {n} [][/app/{n}]" for n in [0, 1, 70_000]])
    servers.ask("perl", "/?log", "POST")
    eventually("its standard error", lambda: "/perl.sock: request " in servers.said())


def a_perl_program_s_connection_is_kept(servers):
    connection = servers.connect()
    answers = [servers.ask("perl-kept", f"/{n}", "POST", "x", connection=connection) for n in range(20)]
    counts = [int(answer.field("x-count")) for answer in answers]
    equal(counts, list(range(counts[0], counts[0] + 20)))
    equal(len({answer.field("x-process") for answer in answers}), 1)


def a_local_redirect_is_followed(servers):
    equal(servers.ask("perl-kept", "/a?local", "POST").text, "GET /elsewhere 0 [][/elsewhere]")


def a_program_that_ends_is_followed_by_the_next(servers):
    equal(servers.ask("perl-kept", "/?end", "POST").text.startswith("last words"), True)
    servers.start_perl()
    equal(servers.ask("perl-kept", "/again", "POST").text, "POST /again 0 [][/again]")


def cgi_programs_behind_fcgiwrap_run(servers):
    answer = servers.ask("cgi", "/hello.cgi?a=b", "POST", "body")
    equal(answer.text, "cgi POST a=b /hello.cgi \nbody")
    equal(servers.ask("cgi", "/hello.cgi/info").text, "cgi GET  /hello.cgi /info\n")
    equal(servers.ask("cgi", "/all.php").status, 403)


def process_of(answer):
    equal((answer.status, answer.field("x-process") != ""), (200, True))
    return int(answer.field("x-process"))


def a_spawned_program_serves_one_request_after_the_other_and_is_replaced_in_time(servers):
    connection = servers.connect()
    processes = [process_of(servers.ask("spawned", f"/{n}", "POST", "x", connection=connection)) for n in range(25)]
    # A process ends after ten requests. Another process then serves, or the next request waits for its successor.
    equal([process for process in set(processes) if processes.count(process) > 10], [])
    equal(len(set(processes)) >= 3, True)


def more_processes_come_with_the_requests_and_the_rest_waits(servers):
    mark = servers.directory / "spawned-go-on"
    answers = []

    def ask():
        answers.append(servers.ask("spawned", f"/?wait={mark}", "POST"))

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    eventually("three processes", lambda: len(children_of(servers.kasoku.pid, "echo.fcgi")) >= 3)
    mark.touch()
    for thread in threads:
        thread.join()
    equal([answer.text for answer in answers], ["waited"] * 5)
    equal(2 <= len({process_of(answer) for answer in answers}) <= 5, True)


def a_process_that_is_killed_is_replaced(servers):
    first = process_of(servers.ask("one", "/", "POST"))
    os.kill(first, signal.SIGKILL)
    second = process_of(eventually("an answer", lambda: (lambda a: a if a.status == 200 else None)(servers.ask("one", "/", "POST"))))
    equal(first != second, True)


def a_client_that_leaves_costs_no_process(servers):
    mark = servers.directory / "left"
    first = process_of(servers.ask("one", "/", "POST"))
    connection = servers.connect()
    connection.request("POST", f"/?wait={mark}", headers={"Host": "one.test"})
    response = connection.getresponse()
    response.close()
    connection.close()
    mark.touch()
    equal(process_of(servers.ask("one", "/", "POST")), first)


def slow_uploads_leave_the_only_process_to_others(servers):
    slow = [servers.connect() for _ in range(2)]
    for connection in slow:
        connection.putrequest("POST", "/slow", skip_host=True)
        for name, value in [("Host", "one.test"), ("Content-Length", "200000")]:
            connection.putheader(name, value)
        connection.endheaders(b"x" * 100_000)
    equal(servers.ask("one", "/", "POST", "quick").text, "POST / 5 [][/]")
    for connection in slow:
        connection.send(b"x" * 100_000)
        equal(Answer(connection.getresponse()).text, "POST /slow 200000 [][/slow]")


def a_program_that_does_not_stay_alive_is_502_at_once_and_not_started_for_ever(servers):
    answers = [servers.ask("broken", f"/{n}") for n in range(20)]
    equal({answer.status for answer in answers} <= {502, 503}, True)
    starts = servers.said().count("broken.fcgi has ended")
    equal(1 <= starts <= 8, True)
    equal("broken.fcgi: no database today" in servers.said(), True)


def nothing_is_left_of_what_was_spawned(servers):
    spawned = [process_of(servers.ask(site, "/", "POST")) for site in ["one", "spawned"]]
    servers.kasoku.terminate()
    servers.kasoku.wait(PATIENCE_SECONDS)
    equal([pid for pid in spawned if Path(f"/proc/{pid}").exists()], [])
    equal(list(Path(tempfile.gettempdir()).glob(f"kasoku-fastcgi-{servers.kasoku.pid}-*")), [])


def a_system_that_refuses_openat2_is_told_of(servers):
    """Kasoku says that the system refuses openat2, as under systemd's RestrictSUIDSGID=; no other call keeps files within their root."""
    libc = ctypes.CDLL(None, use_errno=True)
    # Load the call's number; openat2 (437 on every architecture) is ENOSYS, all else is allowed (seccomp(2)).
    rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x0005_0000 | errno.ENOSYS), (0x06, 0, 0, 0x7FFF_0000)]
    filters = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    program = ctypes.create_string_buffer(filters, len(filters))
    argument = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rules), ctypes.addressof(program)))

    def refuse():
        no_new_privileges, seccomp, by_filter = 38, 22, 2
        if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(seccomp, by_filter, argument, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")

    port = free_port()
    command = [servers.program, "serve", "--listen", f"127.0.0.1:{port}", "--origin", f"file://{servers.directory}/www"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=refuse) as kasoku:
        try:
            eventually("it listens", lambda: can_connect(socket.AF_INET, ("127.0.0.1", port)))
            # Kasoku logs an origin that fails three times in a row.
            for number in range(3):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
                connection.request("GET", f"/{number}")
                equal(connection.getresponse().status, 502)
        finally:
            kasoku.terminate()
            said = kasoku.communicate(timeout=PATIENCE_SECONDS)[1]
    equal("the system refuses openat2(2)" in said, True)


def scgi_answers(servers):
    equal(servers.ask("scgi", "/a/b?c=d").text, "GET /a/b?c=d 0")
    equal(servers.ask("scgi", "/a", "POST", "x" * 100_000).text, "POST /a 100000")


SCENARIOS = [
    php_is_told_what_it_expects, a_front_controller_answers_for_what_is_no_file, a_short_address_leads_to_its_script,
    an_uploaded_script_does_not_run, a_refused_url_is_answered_without_php, files_are_served_and_only_scripts_run,
    forms_and_uploads_arrive, statuses_and_redirects_are_php_s, what_php_logs_is_in_our_log_with_the_request_s_id,
    large_answers_come_whole, an_answer_flows_while_the_script_runs, a_child_that_dies_is_502_or_a_cut_answer,
    a_script_whose_client_has_left_ends, many_at_a_time_each_get_their_own,
    a_file_that_php_names_is_sent, php_is_free_while_its_files_are_on_their_way, a_check_finds_php_fpms_ping,
    a_perl_program_answers_one_request_after_the_other, a_perl_program_s_connection_is_kept, a_local_redirect_is_followed,
    a_program_that_ends_is_followed_by_the_next, cgi_programs_behind_fcgiwrap_run, scgi_answers,
    a_spawned_program_serves_one_request_after_the_other_and_is_replaced_in_time,
    more_processes_come_with_the_requests_and_the_rest_waits, a_process_that_is_killed_is_replaced,
    a_client_that_leaves_costs_no_process, slow_uploads_leave_the_only_process_to_others,
    a_program_that_does_not_stay_alive_is_502_at_once_and_not_started_for_ever,
    nothing_is_left_of_what_was_spawned, a_system_that_refuses_openat2_is_told_of,
]


def run_all(name, description, servers_of, scenarios):
    """Runs the scenarios one after the other with the servers that `servers_of(program)` starts; returns the exit status."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    program = parser.parse_args().program
    # SIGTERM also ends the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    passed, failed = 0, 0
    with servers_of(program) as servers:
        for scenario in scenarios:
            title = scenario.__name__.replace("_", " ")
            try:
                scenario(servers)
                print(f"ok      {title}", flush=True)
                passed += 1
            except Exception:  # any error fails this scenario alone, and the others still run
                print(f"FAILED  {title}\n{traceback.format_exc()}", flush=True)
                failed += 1
        if failed:
            print(servers.said()[-4000:])
    print(f"{name}: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_all("application servers", __doc__, Servers, SCENARIOS))
