"""Writes the results of the in-process bench as tables for the terminal, for bench/reports/in-process.md and for docs/embedding.md, and as
charts beside the report."""

from dataclasses import dataclass, field
from statistics import median

import charts
import document
from native import ROOT
from report import markdown, replaced
from setups import ALL

DOCUMENT = ROOT / "bench" / "reports" / "in-process.md"
EMBEDDING = ROOT / "docs" / "embedding.md"
TOOLS = {
    "MariaDB": ("mariadbd", "--version"),
    "Redis": ("redis-server", "--version"),
    "ab": ("ab", "-V"),
    "wrk": ("wrk", "-v"),
}
USED = (("limit", "kasoku"), TOOLS)

# What is measured, in the order of a round.
KINDS = {
    "ab": "/about, a connection for each request",
    "ab-kept": "/about, connections that stay open",
    "zipf": "5,000 posts by Zipf's law, connections that stay open",
}
SHORT = ("ab", "ab -k", "wrk, Zipf")
# The choices of the table in docs/embedding.md.
EMBEDDED = ("none", "redis", "map", "data", "layer", "kasoku")


@dataclass
class Results:
    """The turns of all rounds."""

    rounds: int
    requests: int  # of one run of ab
    about_bytes: int = 0
    turns: dict = field(default_factory=dict)  # by kind and choice
    remark: str = ""


@dataclass
class Ratio:
    """A figure of one choice, divided by that of another one."""

    label: str
    over: str
    under: str
    of: object  # the figure of a turn
    wanted: str


def per_cpu_second(turn):
    return 1 / turn.cpu


def rate(turn):
    return turn.rate


RATIOS = [
    Ratio("the layer: requests of a CPU second, to the map's", "layer", "map", per_cpu_second, "at least 0.95"),
    Ratio("the layer: requests per second, to the map's", "layer", "map", rate, "at least 0.95"),
    Ratio("the layer: CPU time of application and store, of that with Redis", "layer", "redis", lambda turn: turn.both, "at most 0.5"),
    Ratio("the layer: requests per second, to those with Redis", "layer", "redis", rate, ""),
    Ratio("the map: requests per second, to those with Redis", "map", "redis", rate, "1.8 in an earlier run"),
    Ratio("the map: requests per second, to those with MariaDB's query cache", "map", "mariadb", rate, ""),
    Ratio("Kasoku in front: CPU time, of that with Redis", "kasoku", "redis", lambda turn: turn.both, ""),
]
HEADER = ("", "requests/s", "p50 µs", "p99 µs", "application, CPU µs", "store, CPU µs", "both, CPU µs", "both, of the layer's")
EMBEDDED_HEADER = ("", "requests/s", "p50 µs", "p99 µs", "CPU µs for a request, with the store's")


def as_text(results):
    return "\n\n".join([document.as_text(tables(results)), *([results.remark] if results.remark else [])])


def write(results):
    drawn = {kind: chart(results, kind) for kind in KINDS}
    texts = {"remark": results.remark, "charts": "\n\n".join(f"![{said}](in-process/{kind}.svg)" for kind, said in KINDS.items())}
    files = document.write(DOCUMENT, USED, tables(results), texts, drawn)
    text = replaced(EMBEDDING.read_text(encoding="utf-8"), "figures", markdown(EMBEDDED_HEADER, [embedded(results, name) for name in EMBEDDED]))
    EMBEDDING.write_text(text, encoding="utf-8")
    return [*files, str(EMBEDDING.relative_to(ROOT))]


def tables(results):
    """The tables by the names of their places: title, header and lines. Ratios only where all choices have been measured."""
    found = {}
    measured = [name for name in ALL if ("zipf", name) in results.turns]
    lines = [ratio(results, one) for one in RATIOS if {one.over, one.under} <= set(measured)]
    if lines:
        found["ratios"] = (f"Medians of {results.rounds} rounds", ("", *SHORT, "wanted"), lines)
    titles = {
        "ab": f"ab -n {results.requests} -c 12: /about, {results.about_bytes:,} bytes, a connection for each request",
        "ab-kept": f"ab -k -n {results.requests} -c 12: the same, connections that stay open",
        "zipf": f"wrk -c 12: {KINDS['zipf']}",
    }
    for kind, title in titles.items():
        found[kind] = (title, HEADER, [line(results, kind, name) for name in measured])
    return found


def ratio(results, one):
    return (one.label, *(f"{over(results, kind, one.over, one.under, one.of):.2f}" for kind in KINDS), one.wanted)


def over(results, kind, one, other, of):
    """The median of the ratios, round by round."""
    return median(of(above) / of(below) for above, below in zip(results.turns[kind, one], results.turns[kind, other]))


def line(results, kind, name):
    turns = results.turns[kind, name]
    has_layer = (kind, "layer") in results.turns
    has_store = ALL[name].kind != "memory"
    return (
        ALL[name].label,
        *times(turns),
        f"{middle(turns, 'cpu'):.1f}",
        f"{middle(turns, 'store'):.1f}" if has_store else "",
        f"{middle(turns, 'both'):.1f}",
        f"{over(results, kind, name, 'layer', lambda turn: turn.both):.2f}" if has_layer else "",
    )


def embedded(results, name):
    turns = results.turns["zipf", name]
    return (ALL[name].label, *times(turns), f"{middle(turns, 'both'):.1f}")


def times(turns):
    return [f"{middle(turns, which):,.0f}" for which in ("rate", "p50", "p99")]


def middle(turns, which):
    return median(getattr(turn, which) for turn in turns)


def chart(results, kind):
    rows = []
    for name, choice in ALL.items():
        turns = results.turns[kind, name]
        figure = f"{middle(turns, 'both'):.1f} µs"
        rows.append((choice.label, middle(turns, "both"), figure, choice.is_ours))
    # The set-up is told beside the picture; a longer title would not fit into it.
    return charts.bars(f"CPU time of application and store, {SHORT[list(KINDS).index(kind)]} (less is better)", rows, left=200)
