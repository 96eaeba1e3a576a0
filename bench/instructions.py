"""Counts the instructions per request with callgrind: a figure that hardly depends on the machine or its load.

Kasoku runs with one worker under valgrind. The bench sends an exact number of requests, and callgrind then dumps its counts since the last
dump, so start and first requests are not included. Instructions in the kernel and in the origin are not counted; the table of hits shows
the cost of system calls. The profile of each dump goes to files below target/bench: by function with its callees, by function alone, and by
source file.

  hit        one object of 4 KiB, in memory
  miss       each request has a new path; the answer of an HTTP origin is stored
  FastCGI    a program on FCGI.pm answers each request, and the answer is not stored
"""

import shutil
import subprocess
from dataclasses import dataclass

import callgrind
import client
from native import OUTPUT, native
from processes import BenchError, Programs, free_port
from servers import kasoku
from servers.place import Place

BODY_BYTES = 4096
WARM_REQUESTS = 1_000
REPEATS = 5
LISTED_MAX = 200


@dataclass
class Kind:
    """Requests of one kind."""

    name: str
    connections: int
    requests: int  # in a batch
    path: str  # with `{batch}` for the batch's number; each request appends its own number modulo `modulo`
    modulo: int
    asked: int  # requests to the origin for each request
    fastcgi: bool = False


KINDS = [
    Kind("hit", 1, 3_000, f"/o/{BODY_BYTES}/hot", 1, 0),
    Kind("hit", 16, 3_000, f"/o/{BODY_BYTES}/hot", 1, 0),
    Kind("miss", 16, 2_000, f"/o/{BODY_BYTES}/{{batch}}-", 1 << 30, 1),
    Kind("FastCGI", 16, 1_000, "/page?n=", 1 << 30, 0, fastcgi=True),
]


@dataclass
class Row:
    """The cost of a request."""

    kind: str
    connections: int
    per_request: float  # instructions in user space
    lists: dict  # the profile's lists of lines by name: inclusive, own, files


def measure(cores):
    """A row for each kind."""
    with Programs() as programs:
        origin_port = free_port()
        programs.start("origin", [native(), "origin", origin_port], cores.client).until_listening(origin_port)
        rows = []
        for fastcgi in (False, True):
            place = Place(port=free_port(), origin=origin_port, directory=programs.directory(f"kasoku-{fastcgi}"), workers=1)
            command = _fastcgi_command(programs, place, cores) if fastcgi else kasoku.command(place)
            counts = place.directory / "callgrind"
            program = programs.start(f"kasoku-{fastcgi} under callgrind", callgrind.under(counts) + command, cores.server)
            program.until_listening(place.port)
            for kind in (kind for kind in KINDS if kind.fastcgi == fastcgi):
                rows.append(_row(kind, program, place, counts))
            program.stop()
        return rows


def _row(kind, program, place, counts):
    _requests(kind, place.port, "warm", WARM_REQUESTS)
    callgrind.dump(program.pid, counts)
    asked = client.origin_count(place.origin)
    dumps = []
    for batch in range(REPEATS):
        _requests(kind, place.port, batch, kind.requests)
        dumps.append(callgrind.measured(program.pid, counts))
    if client.origin_count(place.origin) - asked != kind.asked * kind.requests * REPEATS:
        raise BenchError(f"not all requests under callgrind were {kind.name}")
    # Timers and needless wake-ups add instructions with the time that a batch takes, so the smallest total is closest to the requests' own.
    profile, dump = min(dumps, key=lambda pair: pair[0].total)
    return Row(kind.name, kind.connections, profile.total / kind.requests, _keep(kind, profile, dump))


# A program with more processes than there are connections: a process answers one connection at a time, so no request waits.
RESPONDER = f"""
use FCGI;
my $socket = FCGI::OpenSocket($ARGV[0], 100);
for (1 .. 19) {{ last unless fork }}
my $request = FCGI::Request(\\*STDIN, \\*STDOUT, \\*STDERR, \\%ENV, $socket);
while ($request->Accept() >= 0) {{
    print "Content-Type: text/html\\r\\nContent-Length: {BODY_BYTES}\\r\\n\\r\\n", "x" x {BODY_BYTES};
}}
"""


def _fastcgi_command(programs, place, cores):
    """Starts a FastCGI program in Perl; returns the command of Kasoku in front of it. There is no document root, since valgrind does not
    know openat2, by which Kasoku opens files below one."""
    socket = place.directory / "fastcgi.sock"
    script = place.write("page.pl", RESPONDER)
    programs.start("FastCGI program", ["/usr/bin/perl", script, socket], cores.client).until_listening(socket)
    configuration = place.write(
        "kasoku.toml",
        f'listen = ["127.0.0.1:{place.port}"]\nworkers = 1\n[access-log]\npath = "{place.directory}/access.log"\n'
        f'[memory]\nsize = "{place.memory_mib}MiB"\n[[site]]\norigin = "fastcgi://unix:{socket}"\n',
    )
    return [kasoku.command(place)[0], "serve", "--config", configuration]


def _requests(kind, port, batch, requests):
    path = kind.path.format(batch=batch)
    command = [native(), "load", port, kind.connections, requests, kind.modulo, path]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"requests to Kasoku under callgrind failed: {done.stderr}")


def _keep(kind, profile, dump):
    """Writes the dump (for kcachegrind) and its lists to files that outlive the run; returns the lists."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    name = f"callgrind-{kind.name.lower()}-{kind.connections}"
    shutil.copy(dump, OUTPUT / f"{name}.out")
    lists = {}
    for sort, counts in (("inclusive", profile.inclusive), ("own", profile.own), ("files", profile.files)):
        lists[sort] = callgrind.listing(counts, profile.total, kind.requests, LISTED_MAX)
        (OUTPUT / f"{name}-{sort}.txt").write_text("\n".join(lists[sort]) + "\n")
    return lists
