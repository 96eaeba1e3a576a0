"""Measures a disk tier of a million objects: how soon it answers after a kill, what its index takes, and what a hit costs beside one of 1,000.

A Kasoku is filled through misses and killed. Then it is started again and again. A start is asked for objects of the earlier process, each only
once, so that what it fetches anew is not counted as a hit; meanwhile /stats says when the whole index is known. A cold start has none of the
directory's files in the page cache.

For the cost of hits, two Kasokus run side by side, one with the hot keys alone and one with all objects, in interleaved rounds: first with so
little memory that the disk answers each request, then with room for the hot keys.
"""

import http.client
import random
import time
from dataclasses import dataclass, field
from statistics import median

import client
import disk
import hits
import measure
import page_cache
from native import native
from processes import BenchError, Programs, free_port, run_client
from servers import kasoku
from servers.place import Place

SIZES = (1024, 2048, 3072, 4096)
OBJECTS = 1_000_000
HOT_KEYS = 1_000
# What so many objects would take is computed, not measured.
ON_PAPER = 100_000_000
# The length of an object's place in a checkpoint, and of a frame in the log (crates/store/src/disk/place.rs, log.rs). The log has at most
# a frame for each four objects before a checkpoint is taken.
PLACE_BYTES = 32
FRAME_BYTES = 64
OBJECTS_PER_FRAME = 4
STORE_MIB = 10 * 1024
FILL_CONNECTIONS = 64
STARTS = 5
START_SECONDS_MAX = 60
FREED_SECONDS = 4
# Room for a small part of the hot keys, and room for all of them.
MEMORY_MIB = {"disk": 1, "memory": 256}
# The smallest memory has room for some of the hot keys. In both stores it answers the same share of the requests.
FROM_DISK_MIN = 0.7


@dataclass
class Start:
    """Medians over the starts of one kind."""

    after: str
    answer_ms: float
    first_hit_ms: float
    loaded_ms: float
    answered: float  # the share of hits among the requests until the whole index was known


@dataclass
class Memory:
    """The memory of one store."""

    objects: int
    index_bytes: float  # of each object
    resident_bytes: float  # of each object: what is resident beyond the memory of a store without objects


@dataclass
class Cost:
    """Medians over the rounds."""

    kind: str
    objects: int
    requests_per_second: float
    cpu: float
    growth: float
    from_disk: float  # the share of the requests that the disk answered


@dataclass
class Found:
    """All of this table."""

    starts: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    costs: list = field(default_factory=list)


class Store:
    """A directory of Kasoku's with a number of objects, and the Kasoku that has it open at present."""

    def __init__(self, programs, objects, origin, cores):
        self.programs, self.objects, self.origin, self.cores = programs, objects, origin, cores
        self.store = programs.disk_directory(f"kasoku-{objects}")
        self.starts = 0
        self.port, self.admin, self.program = free_port(), free_port(), None

    def start(self, memory_mib, cores=None, workers=1):
        """Starts it; does not wait until it listens."""
        self.starts += 1
        name = f"kasoku-{self.objects}-{self.starts}"
        where = Place(
            port=self.port, origin=self.origin, directory=self.programs.directory(name), store=self.store, store_mib=STORE_MIB,
            memory_mib=memory_mib, admin=self.admin, workers=workers,
        )  # fmt: skip
        self.program = self.programs.start(name, kasoku.command(where), cores or self.cores.server)
        return self.program

    def stop(self):
        self.programs.stop(self.program)

    def kill(self):
        self.program.kill()
        self.stop()

    def paths(self):
        """The paths of all objects: as many of each size."""
        of_size = self.objects // len(SIZES)
        return [f"/o/{size}/k{number}" for number in range(of_size) for size in SIZES]

    def fill(self):
        """Stores all objects through misses, and waits until they are on disk."""
        both = self.cores.server | self.cores.client
        self.start(memory_mib=256, cores=both, workers=len(both)).until_listening(self.port)
        of_size = self.objects // len(SIZES)
        for _ in range(disk.FILLS_MAX):
            for size in SIZES:
                run_client([native(), "load", self.port, FILL_CONNECTIONS, of_size, of_size, f"/o/{size}/k"], both)
            disk.settled(self)
            if (stored := client.stats(self.admin)["disk_objects"]) == self.objects:
                return
        raise BenchError(f"only {stored} of {self.objects} objects are on disk")


def measure_scale(cores, rounds, seconds, progress):
    """All of the table."""
    found = Found()
    with Programs() as programs:
        origin = hits.start_origin(programs, cores.server | cores.client)
        small, large = (Store(programs, objects, origin, cores) for objects in (HOT_KEYS, OBJECTS))
        for store in (small, large):
            progress(f"filling a store with {store.objects} objects")
            store.fill()
            store.kill()
        found.starts = starts(large, progress)
        found.memory = memory(small, large)
        hot = programs.scratch / "hot"
        # The hot keys are everywhere in the large store: every thousandth.
        number = HOT_KEYS // len(SIZES)
        step = OBJECTS // HOT_KEYS
        hot_numbers = {small: range(number), large: range(0, number * step, step)}
        for kind in MEMORY_MIB:
            found.costs += costs(kind, hot_numbers, hot, rounds, seconds, progress)
    return found


def starts(store, progress):
    """Rows for starts after a kill: with all files in the page cache, and with none."""
    rows = []
    paths = store.paths()
    random.Random(1).shuffle(paths)
    paths = iter(paths)
    for after in ("`kill -9`, page cache warm", "`kill -9`, page cache empty"):
        timed = []
        for number in range(STARTS):
            progress(f"start {number + 1} after {after}")
            if "empty" in after:
                page_cache.drop(store.store)
            timed.append(_one_start(store, paths))
            store.kill()
        rows.append(Start(after, *(median(column) for column in zip(*timed))))
    return rows


def _one_start(store, paths):
    """Milliseconds until the first answer, until the first hit, until the whole index is known, and the share of hits until then."""
    begin = time.monotonic()
    store.start(memory_mib=256)
    answer = first_hit = loaded = None
    connection = _connected(store, begin)
    answered = asked = 0
    while first_hit is None or loaded is None:
        if time.monotonic() - begin > START_SECONDS_MAX:
            raise BenchError(f"{store.program.name} is not ready:\n{store.program.said()}")
        is_hit = _is_hit(connection, next(paths))
        # The kernel takes connections before Kasoku does.
        answer = answer or time.monotonic()
        if is_hit:
            first_hit = first_hit or time.monotonic()
            answered += 1
        asked += 1
        if not client.stats(store.admin)["disk_loading"]:
            loaded = loaded or time.monotonic()
    return (*((at - begin) * 1_000 for at in (answer, first_hit, loaded)), answered / asked)


def _connected(store, begin):
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", store.port, timeout=START_SECONDS_MAX)
        try:
            connection.connect()
            return connection
        except OSError:
            if store.program.child.poll() is not None or time.monotonic() - begin > START_SECONDS_MAX:
                raise BenchError(f"{store.program.name} does not listen:\n{store.program.said()}") from None
            time.sleep(0.001)


def _is_hit(connection, path):
    connection.request("GET", path, headers={"Host": client.HOST})
    response = connection.getresponse()
    response.read()
    if response.status != 200:
        raise BenchError(f"{path} was answered with {response.status}")
    return "; hit" in response.getheader("Cache-Status", "")


def memory(small, large):
    """A row with the memory of the large store, after a start, before any request."""
    resident, indexes = [], []
    for store in (small, large):
        store.start(memory_mib=256).until_listening(store.port)
        wait_until_loaded(store)
        # What the start needed for a moment goes back to the kernel after a second.
        time.sleep(FREED_SECONDS)
        stats = client.stats(store.admin)
        resident.append(resident_bytes(store))
        indexes.append(stats["disk_index_bytes"])
        store.stop()
    # Kasoku itself, and the parts of an empty index, are resident in both.
    more = large.objects - small.objects
    return [Memory(large.objects, indexes[1] / large.objects, (resident[1] - resident[0]) / more)]


def resident_bytes(store):
    with open(f"/proc/{store.program.pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def wait_until_loaded(store):
    end = time.monotonic() + START_SECONDS_MAX
    while client.stats(store.admin)["disk_loading"]:
        if time.monotonic() > end:
            raise BenchError(f"{store.program.name} does not finish loading")
        time.sleep(0.01)


def costs(kind, hot_numbers, listed, rounds, seconds, progress):
    """A row for each store."""
    found = {store: [] for store in hot_numbers}
    shares = {store: [] for store in hot_numbers}
    for store, numbers in hot_numbers.items():
        store.start(MEMORY_MIB[kind]).until_listening(store.port)
        wait_until_loaded(store)
        store.hot = listed.with_name(f"{listed.name}-{store.objects}")
        paths = [f"/o/{size}/k{number}\n" for number in numbers for size in SIZES]
        random.Random(1).shuffle(paths)
        store.hot.write_text("".join(paths))
    for number in range(rounds + 1):
        for store in hot_numbers:
            before = client.stats(store.admin)["disk_hits"]
            one = measure.paths(store.program, store.port, store.hot, 0, store.origin, seconds, store.cores.client)
            # The first round warms up and is not counted.
            if number:
                share = (client.stats(store.admin)["disk_hits"] - before) / one.requests
                shares[store].append(share)
                if share < FROM_DISK_MIN if kind == "disk" else share > 0:
                    raise BenchError(f"{store.program.name}: {share:.1%} of the hits came from disk, and were to come from {kind}")
                found[store].append(one)
                progress(f"round {number}: {store.objects} objects, {kind}: {one.cpu:.2f} us")
    fewest = next(iter(found.values()))
    rows = [
        Cost(
            kind,
            store.objects,
            median(run.requests_per_second for run in runs),
            median(run.cpu for run in runs),
            median(run.cpu / other.cpu for run, other in zip(runs, fewest)),
            median(shares[store]),
        )
        for store, runs in found.items()
    ]
    for store in hot_numbers:
        store.stop()
    return rows
