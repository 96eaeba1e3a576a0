"""Writes the results of the downloads bench as tables for the terminal, for bench/reports/downloads.md and for README.md."""

from dataclasses import dataclass, field
from statistics import median

import document
from native import ROOT
from report import markdown, replaced
from setups import PHP_FPM, PHP_PROCESSES, ROWS, SIZES

DOCUMENT = ROOT / "bench" / "reports" / "downloads.md"
README = ROOT / "README.md"
USED = (("limit", "nginx", "apache", "kasoku"), {"PHP": (PHP_FPM, "-v")})


@dataclass
class Results:
    """The turns of all rounds."""

    rounds: int
    fast: dict = field(default_factory=dict)  # by size and row
    slow: dict = field(default_factory=dict)  # the same
    limit: dict = field(default_factory=dict)  # by size


HEADER = ("", "PHP held, ms", "at 4 MB/s, ms", "PHP, CPU ms", "server, CPU ms", "together", "downloads/s")
SAVED_HEADER = ("", "PHP reads and prints", "X-Sendfile", "")


def as_text(results):
    return document.as_text(tables(results))


def write(results):
    title, header, lines = tables(results)["saved 10 MB"]
    readme = replaced(README.read_text(encoding="utf-8"), "downloads", markdown((title, *header[1:]), lines))
    README.write_text(readme, encoding="utf-8")
    return [*document.write(DOCUMENT, USED, tables(results)), str(README.relative_to(ROOT))]


def tables(results):
    """The tables by the names of their places: title, header and lines."""
    found = {}
    for size in reversed(SIZES):
        found[f"saved {size}"] = (f"A download of {size}, through Kasoku", SAVED_HEADER, saved(results, size))
    for size in SIZES:
        lines = [line(results.fast[size, name], results.slow[size, name], row.label) for name, row in ROWS.items()]
        limit = results.limit[size]
        lines.append(("no PHP: a loop of sendfile", "", "", "", cpu(of(limit, "server")), cpu(of(limit, "server")), rate(of(limit, "rate"))))
        found[f"rows {size}"] = (f"{size}, medians of {results.rounds} rounds", HEADER, lines)
    return found


def of(turns, name):
    return median(getattr(turn, name) for turn in turns)


def line(fast, slow, label):
    together = median(turn.server + turn.php for turn in fast)
    return (
        label,
        ms(of(fast, "held")),
        ms(of(slow, "held")),
        cpu(of(fast, "php")),
        cpu(of(fast, "server")),
        cpu(together),
        rate(of(fast, "rate")),
    )


def saved(results, size):
    """Lines that compare the script that reads with the one that names the file; the factors are medians of the rounds' ratios."""
    reads, names = (results.fast[size, f"kasoku-{how}"] for how in ("reads", "names"))
    slowly = [results.slow[size, f"kasoku-{how}"] for how in ("reads", "names")]

    def one(label, values, unit, written, is_less=True):
        ratio = median(a / b if is_less else b / a for a, b in zip(*values))
        # Two digits, since the third differs from run to run.
        return (label, *(f"{written(median(side))}{unit}" for side in values), f"{float(f'{ratio:.2g}'):,g} times {'less' if is_less else 'more'}")

    def both(turns, value):
        return [[value(turn) for turn in side] for side in turns]

    fast = (reads, names)
    return [
        one("a PHP process is held for", both(fast, lambda turn: turn.held), " ms", ms),
        one("the same, when the visitor takes 4 MB/s", both(slowly, lambda turn: turn.held), " ms", ms),
        one("CPU time, PHP and Kasoku", both(fast, lambda turn: turn.php + turn.server), " ms", cpu),
        one(f"downloads a second, {PHP_PROCESSES} PHP processes", both(fast, lambda turn: turn.rate), "", rate, is_less=False),
    ]


def ms(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def cpu(value):
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rate(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
