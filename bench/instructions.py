"""Instructions per hit, counted by callgrind: the figure that hardly depends on the machine or on what else it does.

Kasoku runs with one worker under valgrind. An exact number of hits is sent, then callgrind dumps what was counted since
the dump before, so start and first hits are not in it. What the kernel does is not counted: the price of system calls
shows in the table of hits, not here. The profile of each dump goes to files below target/bench: by function with what it
calls, by function alone, and by source file.
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
WARM_HITS = 2_000
HITS = 10_000
CONNECTIONS = (1, 16)
LISTED_MAX = 200
DUMP_SECONDS_MAX = 60


@dataclass
class Row:
    """What a hit costs."""

    connections: int
    per_hit: float  # instructions in user space
    lists: dict  # lines by name: inclusive, own, files


def measure(cores):
    """A row for each number of connections."""
    with Programs() as programs:
        origin_port, port = free_port(), free_port()
        programs.start("origin", [native(), "origin", origin_port], cores.client).until_listening(origin_port)
        counts = programs.directory("callgrind") / "out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", "--dump-line=yes"]
        place = Place(port=port, origin=origin_port, directory=programs.directory("kasoku"), workers=1)
        program = programs.start("kasoku under callgrind", valgrind + kasoku.command(place), cores.server)
        program.until_listening(port)
        rows = []
        for number, connections in enumerate(CONNECTIONS):
            _hits(port, connections, WARM_HITS)
            _dump(program)
            asked = client.origin_count(origin_port)
            _hits(port, connections, HITS)
            _dump(program)
            if client.origin_count(origin_port) != asked:
                raise BenchError("not all requests under callgrind were hits")
            dump = counts.with_name(f"out.{2 * number + 2}")
            rows.append(Row(connections, *_keep(dump, connections)))
        return rows


def _hits(port, connections, hits):
    command = [native(), "load", port, connections, hits, 1, f"/o/{BODY_BYTES}/hot"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"requests to Kasoku under callgrind failed: {done.stderr}")


def _dump(program):
    """Writes out.N with what was counted since the dump before."""
    command = ["callgrind_control", "--dump", str(program.pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DUMP_SECONDS_MAX, check=False)
    if "OK" not in done.stdout:
        raise BenchError(f"callgrind_control: {done.stdout}{done.stderr}")


def _keep(dump, connections):
    """Puts the dump (for kcachegrind) and the lists made of it where they outlive the run."""
    profile = callgrind.read(dump)
    if sum(profile.own.values()) != profile.total or profile.total == 0:
        raise BenchError(f"{dump.name} was not understood: its parts are not its total")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    shutil.copy(dump, OUTPUT / f"callgrind-{connections}.out")
    lists = {}
    for name, counts in (("inclusive", profile.inclusive), ("own", profile.own), ("files", profile.files)):
        lists[name] = callgrind.listing(counts, profile.total, HITS, LISTED_MAX)
        (OUTPUT / f"callgrind-{connections}-{name}.txt").write_text("\n".join(lists[name]) + "\n")
    return profile.total / HITS, lists
