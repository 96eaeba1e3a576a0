"""Writes the results of the memcached bench as tables for the terminal and for bench/reports/memcached.md, and as charts beside it."""

from dataclasses import dataclass, field
from statistics import median

import charts
import document
from native import ROOT
from setups import ALL, COUNTS, HOPS, IMAGE_BYTES, IMAGES, SERVERS

DOCUMENT = ROOT / "bench" / "reports" / "memcached.md"
TOOLS = {
    "memcached": ("memcached", "-V"),
    "Redis": ("redis-server", "--version"),
    "wrk": ("wrk", "-v"),
    "strace": ("strace", "-V"),
    "valgrind": ("valgrind", "--version"),
}
USED = (("limit", "nginx", "apache", "kasoku"), TOOLS)


@dataclass
class Results:
    """The turns of all rounds."""

    rounds: int
    fetches: dict = field(default_factory=dict)  # by whether each request has a connection of its own, and set-up
    servers: dict = field(default_factory=dict)  # by set-up and number of memcached servers; 0: without memcached
    calls: dict = field(default_factory=dict)  # system calls of a request, by the same
    allocations: dict = field(default_factory=dict)  # calls of the allocator and instructions of a request, by set-up
    fetches_remark: str = ""
    servers_remark: str = ""


@dataclass
class Wanted:
    """A comparison of two set-ups, and what it should come to."""

    label: str
    over: str  # the CPU time of this set-up's request …
    under: str  # … is divided by that of this one
    wanted: str


WANTED = [
    Wanted("Kasoku's shared tier alone: fetches of a CPU second, to Apache's with memcached", "apache-memcached", "kasoku-shared", "at least 2"),
    Wanted("the same, to those of nginx's memcached module", "nginx-memcached", "kasoku-shared", "at least 1"),
    Wanted("Kasoku with both tiers: CPU time, of that with memory only", "kasoku-both", "kasoku-memory", "at most 1.1"),
]
KINDS = {False: "connections that stay open", True: "a connection for each request"}
RATIOS_HEADER = ("", *KINDS.values(), "wanted")
FETCHES_HEADER = (
    "",
    "requests/s",
    "front end, CPU µs",
    "of the limit",
    "fetches of a CPU second, to Apache's with files",
    "p50 µs",
    "p99 µs",
    "memcached or Redis, CPU µs",
    "items from there for a request",
)
SERVERS_HEADER = (
    "",
    "front end, CPU µs",
    "more than without memcached",
    "system calls",
    "p50 µs",
    "p99 µs",
    "memcached, CPU µs",
    "items of memcached for a request",
)
ALLOCATIONS_HEADER = ("", "calls of the allocator", "more than without memcached", "instructions", "more than without memcached")


def as_text(results):
    remarks = [remark for remark in (results.fetches_remark, results.servers_remark) if remark]
    return "\n\n".join([document.as_text(tables(results)), *remarks])


def write(results):
    drawn, texts = {}, {}
    if results.fetches:
        drawn |= {"kept": fetches_chart(results, False), "anew": fetches_chart(results, True)}
        texts["fetches-remark"] = results.fetches_remark
        texts["fetches-charts"] = pictures({"kept": KINDS[False], "anew": KINDS[True]})
    if results.servers:
        drawn["servers"] = servers_chart(results)
        texts["servers-remark"] = results.servers_remark
        texts["servers-charts"] = pictures({"servers": "CPU time by number of memcached servers"})
    return document.write(DOCUMENT, USED, tables(results), texts, drawn)


def pictures(names):
    return "\n\n".join(f"![{said}](memcached/{name}.svg)" for name, said in names.items())


def tables(results):
    """The tables by the names of their places: title, header and lines."""
    found = {}
    if results.fetches:
        found["ratios"] = (f"Medians of {results.rounds} rounds", RATIOS_HEADER, [ratio(results, one) for one in WANTED])
        for closes, said in KINDS.items():
            title = f"{IMAGES} images of {IMAGE_BYTES:,} bytes, 8 at a time, {said}"
            found["anew" if closes else "kept"] = (title, FETCHES_HEADER, [fetches(results, closes, name) for name in ALL])
    if results.servers:
        lines = [servers(results, name, count) for name in HOPS for count in (0, *COUNTS)]
        found["servers"] = ("1 to 7 memcached servers, connections that stay open", SERVERS_HEADER, lines)
    if results.allocations:
        lines = [allocations(results, name, count) for name in HOPS for count in (0, SERVERS)]
        title = f"Allocations and instructions in user space for a request, {SERVERS} memcached servers, connections that stay open"
        found["allocations"] = (title, ALLOCATIONS_HEADER, lines)
    return found


def ratio(results, one):
    figures = [f"{over(results.fetches[closes, one.over], results.fetches[closes, one.under]):.2f}" for closes in KINDS]
    return (one.label, *figures, one.wanted)


def fetches(results, closes, name):
    turns = results.fetches[closes, name]
    of_limit = over(turns, results.fetches[closes, "limit"])
    to_apache = over(results.fetches[closes, "apache"], turns)
    return (
        ALL[name].label,
        f"{median(turn.rate for turn in turns):,.0f}",
        f"{median(turn.cpu for turn in turns):.1f}",
        f"{of_limit:.2f}",
        "" if name == "limit" else f"{to_apache:.2f} times",
        *times_and_memcached(turns, ALL[name].kind in ("memcached", "redis")),
    )


def servers(results, name, count):
    turns = results.servers[name, count]
    more = median(turn.cpu - base.cpu for turn, base in zip(turns, results.servers[name, 0]))
    return (
        label(name, count),
        f"{median(turn.cpu for turn in turns):.1f}",
        f"{more:.1f}" if count else "",
        f"{results.calls[name, count]:.2f}",
        *times_and_memcached(turns, count > 0),
    )


def allocations(results, name, count):
    without = results.allocations[HOPS[name]]
    counted = results.allocations[name] if count else without
    return (
        label(name, count),
        f"{counted.allocations:.2f}",
        f"{counted.allocations - without.allocations:.2f}" if count else "",
        f"{counted.instructions:,.0f}",
        f"{counted.instructions - without.instructions:,.0f}" if count else "",
    )


def times_and_memcached(turns, asks_memcached):
    times = [f"{median(getattr(turn, which) for turn in turns):,.0f}" for which in ("p50", "p99")]
    if not asks_memcached:
        return (*times, "", "")
    return (*times, f"{median(turn.memcached for turn in turns):.1f}", f"{median(turn.asked for turn in turns):.2f}")


def label(name, count):
    return f"{ALL[name].label}, {count}" if count else ALL[HOPS[name]].label


def over(ones, others):
    """The median of the ratios of CPU time, round by round."""
    return median(one.cpu / other.cpu for one, other in zip(ones, others))


def is_ours(name):
    return name.startswith("kasoku")


def fetches_chart(results, closes):
    rows = []
    for name in ALL:
        us = median(turn.cpu for turn in results.fetches[closes, name])
        rows.append((ALL[name].label, us, f"{us:.1f} µs", is_ours(name)))
    return charts.bars(f"CPU time of the front end for an image, {KINDS[closes]} (less is better)", rows)


def servers_chart(results):
    rows = []
    for name in HOPS:
        for count in (0, *COUNTS):
            us = median(turn.cpu for turn in results.servers[name, count])
            rows.append((label(name, count), us, f"{us:.1f} µs", is_ours(name)))
    return charts.bars("CPU time of the front end, by number of memcached servers (less is better)", rows, left=280)
