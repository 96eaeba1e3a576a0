"""Writes the results of the xsendfile bench as tables for the terminal and for bench/reports/xsendfile.md, and as charts beside it."""

from dataclasses import dataclass, field
from statistics import median

import charts
import document
import slow
from native import ROOT
from setups import ROWS

DOCUMENT = ROOT / "bench" / "reports" / "xsendfile.md"
USED = (("limit", "nginx", "apache", "kasoku"), {"wrk": ("wrk", "-v"), "h2load": ("h2load", "--version")})


@dataclass
class Results:
    """The turns of all rounds."""

    rounds: int
    full: dict = field(default_factory=dict)  # by size and row
    fixed: dict = field(default_factory=dict)  # the same
    slow: dict = field(default_factory=dict)  # by server
    remark: str = ""


FULL_HEADER = ("", "requests/s", "server, CPU µs", "user : system", "application, CPU µs", "user : system", "client, CPU µs", "server, of the limit")
FIXED_HEADER = ("", "requests/s", "server, % of a core", "application, % of a core")
SLOW_HEADER = ("", *(f"{page}, {which} µs" for page in slow.PAGES for which in ("p50", "p99")), "memory of a download, KiB", "in the kernel, KiB")
RATIOS_HEADER = (
    "",
    "requests for a CPU second, of nginx's",
    "of the limit's CPU",
    "X-Sendfile, of static",
    "X-Accel-Redirect, of static",
    "X-Sendfile, of static that is never stored",
    "nginx: X-Accel-Redirect, of static",
)


def as_text(results):
    return "\n\n".join([document.as_text(tables(results)), results.remark])


def write(results):
    texts = {"remark": results.remark} if results.full else {}
    drawn = {size: chart(results, size) for size in sizes(results)}
    return document.write(DOCUMENT, USED, tables(results), texts, drawn)


def sizes(results):
    return list(dict.fromkeys(size for size, _ in results.full))


def tables(results):
    """The tables by the names of their places: title, header and lines."""
    found = {}
    if results.full:
        found["ratios"] = (f"Kasoku, medians of {results.rounds} rounds", RATIOS_HEADER, [ratios(results, size) for size in sizes(results)])
    for size in sizes(results):
        found[f"full-{size}"] = (f"{size}, at full speed", FULL_HEADER, [full(results, size, name) for name in ROWS])
        found[f"fixed-{size}"] = (f"{size}, at a fixed rate, of a core", FIXED_HEADER, [fixed(results, size, name) for name in ROWS])
    if results.slow:
        title = f"Other visitors, medians of {results.rounds} rounds"
        found["slow"] = (title, SLOW_HEADER, [line for name in slow.SERVERS for line in beside(results, name)])
    return found


def full(results, size, name):
    turns = results.full[size, name]
    of_limit = median(one.server.whole / limit.server.whole for one, limit in zip(turns, results.full[size, "limit"]))
    cells = []
    for costs in ([one.server for one in turns], [one.application for one in turns]):
        whole = median(cost.whole for cost in costs)
        cells += [f"{whole:,.1f}", divided(costs)] if whole > 0 else ["", ""]
    client = median(one.client for one in turns)
    return (ROWS[name].label, f"{median(one.rate for one in turns):,.0f}", *cells, f"{client:,.1f}", f"{of_limit:.2f}")


def divided(costs):
    """User and system time in percent, over all rounds together."""
    user, system = (sum(getattr(cost, part) for cost in costs) for part in ("user", "system"))
    return f"{100 * user / (user + system):.0f} : {100 * system / (user + system):.0f}" if user + system > 0 else ""


def fixed(results, size, name):
    turns = results.fixed[size, name]

    def percent(costs):
        share = median(cost.whole * one.rate / 10_000 for cost, one in zip(costs, turns))
        return f"{share:.1f}" if share > 0 else ""

    shares = (percent([one.server for one in turns]), percent([one.application for one in turns]))
    return (ROWS[name].label, f"{median(one.rate for one in turns):,.0f}", *shares)


def beside(results, name):
    """The lines of a server, without slow downloads and with them."""
    turns = results.slow[name]

    def cells(rounds):
        return [f"{median(getattr(one[page], which) for one in rounds):,.0f}" for page in slow.PAGES for which in ("p50", "p99")]

    each = [median(getattr(one, which) for one in turns) / 1024 for which in ("bytes_each", "kernel_bytes_each")]
    return [
        (f"{slow.SERVERS[name]}, alone", *cells([one.alone for one in turns]), "", ""),
        (f"{slow.SERVERS[name]}, {slow.DOWNLOADS:,} slow downloads", *cells([one.beside for one in turns]), *(f"{one:,.1f}" for one in each)),
    ]


def ratios(results, size):
    def of(name):
        return results.full[size, name]

    def over(ones, others):
        return median(a / b for a, b in zip(ones, others))

    def cpu(name):
        return [one.server.whole for one in of(name)]

    def handed(name, static):
        """The server's time without the cost of the way to the application and back, relative to the static file."""
        server = ROWS[name].server
        costs = zip(cpu(name), cpu(f"{server}-empty-answer"), cpu(f"{server}-empty-file"))
        return over([named - (answer - file) for named, answer, file in costs], cpu(static))

    return (
        size,
        f"{over(cpu('nginx'), cpu('kasoku')):.2f}",
        f"{over(cpu('kasoku'), cpu('limit')):.2f}",
        f"{handed('kasoku-x', 'kasoku'):.2f}",
        f"{handed('kasoku-accel', 'kasoku'):.2f}",
        f"{handed('kasoku-x', 'kasoku-file'):.2f}",
        f"{handed('nginx-accel', 'nginx'):.2f}",
    )


def chart(results, size):
    rows = []
    for name, row in ROWS.items():
        us = median(one.server.whole + one.application.whole for one in results.full[size, name])
        rows.append((row.label, us, f"{us:,.0f} µs", row.server == "kasoku"))
    return charts.bars(f"CPU time of a download of {size}, server and application (less is better)", rows)
