"""Writes the results of the sessions bench as tables for the terminal and for bench/reports/sessions.md, and as charts beside it."""

from dataclasses import dataclass, field
from statistics import median

import charts
import document
from loads import LOADS
from native import ROOT
from setups import FAST, SETUPS
from stack import DATABASE, PHP_FPM

DOCUMENT = ROOT / "bench" / "reports" / "sessions.md"
USED = (
    ("limit", "nginx", "varnish", "kasoku"),
    {"PHP": (PHP_FPM, "-v"), "MariaDB": (DATABASE, "--version"), "ab": ("ab", "-V"), "wrk": ("wrk", "-v")},
)
PAGES = {"list": "A board's list", "view": "A post"}


@dataclass
class Results:
    """The turns by page, load and set-up, one for each round; the heads by title."""

    rounds: int
    turns: dict = field(default_factory=dict)
    heads: dict = field(default_factory=dict)
    body_bytes: dict = field(default_factory=dict)
    remark: str = ""

    def loads(self, page):
        return list(dict.fromkeys(load for of, load, _ in self.turns if of == page))

    def setups(self, page, load):
        return [name for name in SETUPS if (page, load, name) in self.turns]

    def of(self, page, load, name, what):
        return [getattr(turn, what) for turn in self.turns[page, load, name]]


def as_text(results):
    return document.as_text(tables(results))


def write(results):
    heads = [f"**{title}**\n\n```\n{head}\n```" for title, head in results.heads.items()]
    texts = {"heads": "\n\n".join(heads), "remark": results.remark}
    return document.write(DOCUMENT, USED, tables(results), texts, drawn(results))


RATIOS_HEADER = (
    "",
    "requests for a CPU second, of the patched Varnish's",
    "the limit's, of the same",
    "CPU, of the limit's",
    "requests/s, of nginx's",
    "of Varnish's, unpatched",
)
COST_HEADER = ("", "requests/s", "in front, CPU µs", "PHP and MariaDB, CPU µs", "all", "of the limit", "% asked of PHP")


def tables(results):
    """The tables by the names of their places: title, header and lines."""
    found = {"ratios": (f"Kasoku, the board as it is, medians of {results.rounds} rounds", RATIOS_HEADER, ratios(results))}
    for page, title in PAGES.items():
        header = ("", *(LOADS[load].label for load in results.loads(page)))
        title = f"{title}, {results.body_bytes[page]:,} bytes"
        found[f"rates-{page}"] = (f"{title}: requests/s", header, matrix(results, page, "rate"))
        found[f"front-{page}"] = (f"{title}: CPU µs of a request in front of PHP", header, matrix(results, page, "front"))
        found[f"cost-{page}"] = (f"{title}: wrk, connections that stay open", COST_HEADER, costs(results, page, "wrk"))
    found["mixed"] = ("The list, one request in ten by a member who is logged in", COST_HEADER, costs(results, "list", "mixed"))
    return found


def ratios(results):
    def line(page, load):
        def over(one, other, what):
            if (page, load, one) not in results.turns or (page, load, other) not in results.turns:
                return ""
            ratio = median(a / b for a, b in zip(results.of(page, load, one, what), results.of(page, load, other, what)))
            return f"{ratio:,.2f}" if ratio < 10 else f"{ratio:,.0f}"

        return (
            f"{page}, {LOADS[load].label}",
            over("varnish-lazy", "kasoku", "front"),
            over("varnish-lazy", "limit", "front"),
            over("kasoku", "limit", "front"),
            over("kasoku", "nginx", "rate"),
            over("kasoku", "varnish", "rate"),
        )

    return [line(page, load) for page in PAGES for load in results.loads(page)]


def matrix(results, page, what):
    def cell(load, name):
        return figure(median(results.of(page, load, name, what))) if (page, load, name) in results.turns else ""

    return [(setup.label, *(cell(load, name) for load in results.loads(page))) for name, setup in SETUPS.items()]


def costs(results, page, load):
    def line(name):
        def of(what):
            return results.of(page, load, name, what)

        whole = [front + board for front, board in zip(of("front"), of("board"))]
        limit = ""
        if "limit" in results.setups(page, load):
            limit = f"{median(a / b for a, b in zip(of('front'), results.of(page, load, 'limit', 'front'))):,.2f}"
        asked = f"{median(of('asked')):.1f}" if name != "limit" else ""
        return (SETUPS[name].label, *(figure(median(each)) for each in (of("rate"), of("front"), of("board"), whole)), limit, asked)

    return [line(name) for name in results.setups(page, load)]


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def drawn(results):
    """The charts by name."""

    def bars(title, page, load, what, unit, names):
        medians = {name: median(results.of(page, load, name, what)) for name in names}
        return charts.bars(title, [(SETUPS[name].label, value, f"{figure(value)}{unit}", name == "kasoku") for name, value in medians.items()])

    rates = [name for name in SETUPS if name != "limit"]
    return {
        "rates": bars("The list, ab -n 10000 -c 50 (requests a second)", "list", "ab-50", "rate", "/s", rates),
        "front-ab": bars("CPU time of a request in front of PHP, ab -n 10000 -c 50 (less is better)", "list", "ab-50", "front", " µs", SETUPS),
        "front-wrk": bars("CPU time of a hit, connections that stay open (less is better)", "list", "wrk", "front", " µs", FAST),
    }
