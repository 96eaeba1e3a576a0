"""Starts the other parsers, each as a server that runs while its context lasts.

Each listens on a free port of the loopback address, with limits above Kasoku's, so that it does not refuse a request only for its length.
All started processes end here, also after an error. """

import contextlib
import http
import pathlib
import shutil
import socket
import socketserver
import subprocess
import threading
import time

import streams

READERS = pathlib.Path(__file__).parent / "readers"

# The longest start of a server, in seconds: Go's is compiled first.
START_MAX = 120

# The longest head that a server must accept, in bytes: Kasoku's 64 KiB and its added fields.
HEAD_BYTES = 80 << 10


@contextlib.contextmanager
def running(command, address, **options):
    """A process that listens at `address`."""
    process = subprocess.Popen([str(word) for word in command], **options)
    try:
        until_it_listens(process, address)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until_it_listens(process, address):
    """Waits until the process accepts connections at `address`."""
    deadline = time.monotonic() + START_MAX
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(address, 1).close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args[0]} does not listen")


def free_address():
    """A free address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()


def program(name):
    """The path of a program, which may be in an administrator's directory."""
    found = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin") or shutil.which(name)
    if not found:
        raise RuntimeError(f"{name} is not installed: run scripts/install-test-deps --only parsers")
    return found


@contextlib.contextmanager
def go(scratch):
    """Go's net/http."""
    binary = scratch / "reader-go"
    subprocess.run([program_in_path("go"), "build", "-o", binary, READERS / "reader.go"], cwd=scratch, check=True)
    address = free_address()
    with running([binary, address[1], HEAD_BYTES], address):
        yield address


def program_in_path(name):
    """The path of a program in the caller's PATH, or else as `program` finds it."""
    return shutil.which(name) or program(name)


@contextlib.contextmanager
def node(_scratch):
    """Node's llhttp."""
    address = free_address()
    command = [program_in_path("node"), f"--max-http-header-size={HEAD_BYTES}", READERS / "reader.mjs", address[1]]
    with running(command, address):
        yield address


@contextlib.contextmanager
def h11(_scratch):
    """Python's h11, from Debian, as uvicorn uses it."""
    address = free_address()
    with running(["/usr/bin/python3", READERS / "reader_h11.py", address[1], HEAD_BYTES], address):
        yield address


@contextlib.contextmanager
def nginx(scratch):
    """nginx, which passes on what it has read."""
    with sink() as behind:
        address = free_address()
        home = scratch / "nginx"
        home.mkdir()
        configuration = (READERS / "nginx.conf").read_text()
        (home / "nginx.conf").write_text(
            configuration.format(home=home, port=address[1], sink=behind[1], head_bytes=HEAD_BYTES))
        command = [program("nginx"), "-p", home, "-c", home / "nginx.conf", "-e", home / "error.log"]
        with running(command, address):
            yield address


@contextlib.contextmanager
def apache(scratch):
    """Apache, which passes on what it has read."""
    with sink() as behind:
        address = free_address()
        home = scratch / "apache"
        home.mkdir()
        configuration = (READERS / "apache.conf").read_text()
        (home / "apache.conf").write_text(
            configuration.format(home=home, port=address[1], sink=behind[1], head_bytes=HEAD_BYTES))
        with running([program("apache2"), "-f", home / "apache.conf", "-D", "FOREGROUND"], address):
            yield address


@contextlib.contextmanager
def sink():
    """The listener to which nginx and Apache pass requests on; it reports each, one for each connection."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Passed)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address
    finally:
        server.shutdown()
        server.server_close()


class Passed(socketserver.StreamRequestHandler):
    """Reads a request that was passed on, with Content-Length or without a body; X-Line has the request line as the server read it."""

    timeout = streams.WAIT_MAX

    def handle(self):
        self.rfile.readline()
        line, length = b"", 0
        while (text := self.rfile.readline().rstrip(b"\r\n")):
            name, _, value = text.partition(b":")
            if name.lower() == b"transfer-encoding":
                return self.say(http.HTTPStatus.NOT_IMPLEMENTED, "chunked is not for here")
            if name.lower() == b"content-length":
                length = int(value)
            if name.lower() == b"x-line":
                line = value.strip().rpartition(b" ")[0]
        body = self.rfile.read(length)
        self.say(http.HTTPStatus.OK, streams.digest(line.decode("latin-1"), body))

    def say(self, status, read):
        self.wfile.write(
            f"HTTP/1.0 {status.value} {status.phrase}\r\nX-Read: {read}\r\nContent-Length: 0\r\n\r\n".encode())


SERVERS = {"Go": go, "Node": node, "h11": h11, "nginx": nginx, "Apache": apache}
