"""Writes the results of the mt-search bench as tables for the terminal and for bench/reports/mt-search.md, and as charts beside it."""

import statistics
from dataclasses import dataclass, field

import charts
import document
import real
import restarts
from native import ROOT
from setups import ALL, CACHED_APACHE, CACHED_KASOKU, MISS_PAIRS

DOCUMENT = ROOT / "bench" / "reports" / "mt-search.md"
USED = (("limit", "apache", "kasoku"), {"ab": ("ab", "-V"), "wrk": ("wrk", "-v")})


@dataclass
class Results:
    """The rows of each table, by set-up."""

    alone: dict
    hits: dict
    hits_anew: dict
    misses: dict
    restarts: dict
    body_bytes: int = 0
    remark: str = ""
    # By version and set-up; empty where no archive is there.
    real: dict = field(default_factory=dict)


def as_text(results):
    return document.as_text(tables(results))


def write(results):
    if not next(iter(results.alone.values())).rates:
        return document.write(DOCUMENT, USED, tables(results))
    return document.write(DOCUMENT, USED, tables(results), {"remark": results.remark}, drawn(results))


def tables(results):
    """The tables by the names of their places: title, header and lines."""
    is_restarted = any(row.hits["hit"] for row in results.restarts.values())
    restarted = {
        "restarts": (f"each of {restarts.PAGES} pages once, one after the other, over one connection", RESTARTS_HEADER, restarts_lines(results))
    } if is_restarted else {}  # fmt: skip
    rounds = len(next(iter(results.alone.values())).rates)
    of_real = {"real": ("the real Movable Type", REAL_HEADER, real_lines(results.real))} if results.real else {}
    if rounds == 0:
        return of_real | restarted
    return {
        **of_real,
        **restarted,
        "alone": (f"ab -n 100 -c 1, medians of {rounds} rounds", ALONE_HEADER, alone(results)),
        "hits": (f"hits by 32 connections that stay open, {results.body_bytes:,} bytes", HITS_HEADER, hits(results.hits)),
        "hits-anew": ("hits by 32 clients, a connection for each request", HITS_HEADER, hits(results.hits_anew)),
        "misses": ("misses, one after the other", MISSES_HEADER, misses(results)),
    }


ALONE_HEADER = ("", "requests/s", "mean ms", "p50 ms", "p99 ms", "of the script's own rate")
HITS_HEADER = ("", "hits/s", "CPU µs", "of the limit", "hits of a CPU second, to Apache's")
MISSES_HEADER = ("", "CPU ms, script and server", "of Apache's")


RESTARTS_HEADER = ("", "hit, p50 ms", "p99", "hits after a restart", "p50 ms", "p99", "hits, page cache empty as well", "p50 ms", "p99")


REAL_HEADER = ("", "page, bytes", "sent, gzip", "requests/s, one after the other", "of its CGI's", "CPU µs of a hit", "hits of a CPU second, to Apache's")


def real_lines(versions):
    def line(version, rows, name, row):
        of_cgi = f"{median(ratio(row.rates, rows['apache-cgi'].rates)):,.0f} times" if real.ALL[name].caches else ""
        cpu, of_apache = "", ""
        if row.cpu:
            cpu = f"{median(row.cpu):.1f}"
        if row.cpu and name.startswith("kasoku"):
            best = min(real.CACHED_APACHE, key=lambda other: median(rows[other].cpu))
            of_apache = f"{median(ratio(rows[best].cpu, row.cpu)):.2f} times"
        return (f"{version}: {real.ALL[name].label}", f"{row.body_bytes:,}", f"{row.sent_bytes:,}", f"{median(row.rates):,.1f}", of_cgi, cpu, of_apache)

    return [line(version, rows, name, row) for version, rows in versions.items() for name, row in rows.items()]


def restarts_lines(results):
    def line(name, row):
        cells = []
        for moment in restarts.MOMENTS:
            pages = restarts.PAGES * len(row.hits[moment])
            if moment != "hit":
                cells.append(f"{sum(row.hits[moment])} of {pages}")
            times = sorted(row.times[moment])
            cells += [f"{median(times):.2f}", f"{times[int(len(times) * 0.99)]:.2f}"]
        return (ALL[name].label + (", disk tier" if name in CACHED_KASOKU else ""), *cells)

    return [line(name, row) for name, row in results.restarts.items()]


def alone(results):
    def own(name):
        return "apache-fastcgi" if "fastcgi" in name else "apache-cgi"

    def line(name, row):
        of_own = median(ratio(row.rates, results.alone[own(name)].rates))
        figures = [f"{median(row.rates):,.1f}", f"{median(row.means):.3f}", f"{median(row.p50s):.3f}", f"{median(row.p99s):.3f}"]
        return (ALL[name].label, *figures, f"{of_own:,.1f} times" if name != own(name) else "")

    return [line(name, row) for name, row in results.alone.items()]


def hits(rows):
    limit = rows["limit"].cpu

    def line(name, row):
        of_apache = ""
        if name in CACHED_KASOKU:
            best = min(CACHED_APACHE, key=lambda other: median(rows[other].cpu))
            of_apache = f"{median(ratio(rows[best].cpu, row.cpu)):.2f} times"
        return (ALL[name].label, f"{median(row.rates):,.0f}", f"{median(row.cpu):.1f}", f"{median(ratio(row.cpu, limit)):.2f}", of_apache)

    return [line(name, row) for name, row in rows.items()]


def misses(results):
    def line(name, row):
        of = MISS_PAIRS.get(name)
        of_apache = f"{median(ratio(row.cpu, results.misses[of].cpu)):.3f}" if of else ""
        return (ALL[name].label, f"{median(row.cpu) / 1_000:.2f}", of_apache)

    return [line(name, row) for name, row in results.misses.items()]


def drawn(results):
    """The charts by name."""

    def rows(of, values, figure):
        medians = {name: median(values(row)) for name, row in of.items()}
        return [(ALL[name].label, value, figure(value), name in CACHED_KASOKU) for name, value in medians.items()]

    alone_rows = rows(results.alone, lambda row: row.means, lambda ms: f"{ms:.2f} ms")
    hit_rows = rows(results.hits, lambda row: row.cpu, lambda us: f"{us:.1f} µs")
    return {
        "alone": charts.bars("A search, one visitor after the other: mean time (less is better)", alone_rows),
        "hits": charts.bars("CPU time of a hit, 32 connections (less is better)", hit_rows),
    }


def ratio(one, other):
    """The ratios round by round."""
    return [a / b for a, b in zip(one, other)]


def median(values):
    return statistics.median(values)
