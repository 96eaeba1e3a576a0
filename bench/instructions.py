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
WARM_HITS = 1_000
HITS = 3_000
REPEATS = 5
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
        for connections in CONNECTIONS:
            _hits(port, connections, WARM_HITS)
            _dump(program, counts)
            asked = client.origin_count(origin_port)
            dumps = [_measured(program, counts, port, connections) for _ in range(REPEATS)]
            if client.origin_count(origin_port) != asked:
                raise BenchError("not all requests under callgrind were hits")
            # Timers and wake-ups in vain come with the time that a batch takes, so the least is the nearest to a hit's own.
            profile, dump = min(dumps, key=lambda pair: pair[0].total)
            rows.append(Row(connections, profile.total / HITS, _keep(profile, dump, connections)))
        return rows


def _measured(program, counts, port, connections):
    _hits(port, connections, HITS)
    dump = _dump(program, counts)
    profile = callgrind.read(dump)
    if sum(profile.own.values()) != profile.total or profile.total == 0:
        raise BenchError(f"{dump.name} was not understood: its parts are not its total")
    return profile, dump


def _hits(port, connections, hits):
    command = [native(), "load", port, connections, hits, 1, f"/o/{BODY_BYTES}/hot"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"requests to Kasoku under callgrind failed: {done.stderr}")


def _dump(program, counts):
    """Writes what was counted since the dump before; gives the file, the last by its number."""
    command = ["callgrind_control", "--dump", str(program.pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DUMP_SECONDS_MAX, check=False)
    if "OK" not in done.stdout:
        raise BenchError(f"callgrind_control: {done.stdout}{done.stderr}")
    return max(counts.parent.glob(f"{counts.name}.*"), key=lambda path: int(path.suffix[1:]))


def _keep(profile, dump, connections):
    """Puts the dump (for kcachegrind) and the lists made of it where they outlive the run; gives the lists."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    shutil.copy(dump, OUTPUT / f"callgrind-{connections}.out")
    lists = {}
    for name, counts in (("inclusive", profile.inclusive), ("own", profile.own), ("files", profile.files)):
        lists[name] = callgrind.listing(counts, profile.total, HITS, LISTED_MAX)
        (OUTPUT / f"callgrind-{connections}-{name}.txt").write_text("\n".join(lists[name]) + "\n")
    return lists
