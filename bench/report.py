"""Writes the results as tables for the terminal and for docs/benchmarks.md.

The document's prose is written by hand. Each table has a place in it, between `<!-- name -->` and `<!-- /name -->`, and a run replaces only
the places of the tables that it measured. So the document can hold tables of different days, each with its date and commit, and places that
other programs fill.
"""

import re

import charts
import disk
import instructions
import machine
import misses
import objects
import scale
import workers
from native import ROOT
from processes import BenchError
from servers import ALL

DOCUMENT = ROOT / "docs" / "benchmarks.md"
CHARTS = ROOT / "docs" / "benchmarks"


def as_text(table, rows):
    """The tables for the terminal, with aligned columns."""
    tables = [f"{title}\n{aligned(header, lines)}" for title, header, lines in TABLES[table](rows)]
    return "\n\n".join(tables + _remarks(rows))


def write(found, wanted):
    """Replaces the tables in the document, and their charts; returns the written files."""
    text = DOCUMENT.read_text(encoding="utf-8")
    text = replaced(text, "machine", machine.description())
    files = [DOCUMENT]
    for table, rows in found.items():
        parts = [machine.stamp(table, wanted)]
        if table in CHARTED:
            CHARTS.mkdir(exist_ok=True)
            path = CHARTS / f"{table}.svg"
            path.write_text(CHARTED[table](rows), encoding="utf-8")
            files.append(path)
        for title, header, lines in TABLES[table](rows):
            parts.append(f"**{title}**\n\n{markdown(header, lines)}")
        parts += _remarks(rows)
        text = replaced(text, table, "\n\n".join(parts))
    DOCUMENT.write_text(text, encoding="utf-8")
    return [str(path.relative_to(ROOT)) for path in files]


def _remarks(rows):
    """Remarks about the table as a whole."""
    if isinstance(rows, scale.Found):
        return []
    said = list(dict.fromkeys(remark for row in rows if (remark := getattr(row, "remark", ""))))
    # A line that the access log lost cost less than one that it wrote.
    lost = [row.log_lines_lost for row in rows if getattr(row, "log_lines_lost", None) is not None]
    return said + ([f"Kasoku's access log lost {max(lost):.2%} of its lines."] if lost else [])


def replaced(text, name, block):
    """`text` with the block in the place with that name."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise BenchError(f"the document has no place for {name}")
    return pattern.sub(lambda found: f"{found[1]}{block}\n{found[2]}", text, count=1)


def _servers(rows):
    header = ("", "requests/s", "CPU µs", "of the limit", "Kasoku does", "p50 µs", "p99 µs")
    tables = []
    for size, group in dict.fromkeys((row.size, row.group) for row in rows):
        lines = [
            (
                label(row.server),
                f"{row.requests_per_second:,.0f}",
                f"{row.cpu:,.1f}",
                f"{row.of_limit:.2f}" if row.of_limit else "",
                f"{row.kasoku_ratio:.2f} times" if row.kasoku_ratio and row.server.partition("-")[0] not in ("kasoku", "limit") else "",
                f"{row.p50:,.0f}",
                f"{row.p99:,.0f}",
            )
            for row in rows
            if (row.size, row.group) == (size, group)
        ]
        tables.append((group or size_name(size), header, lines))
    return tables


def label(server):
    return "Kasoku, `disk.verify = false`" if server == "kasoku-unverified" else ALL[server].LABEL


def size_name(size):
    if size % 2**20 == 0:
        return f"{size >> 20} MiB"
    return f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} bytes"


def _hits(rows):
    return [(f"Hits of {size}", header, lines) for size, header, lines in _servers(rows)]


def _misses(rows):
    return [(f"Misses of {size_name(misses.SIZE)}", header, lines) for _, header, lines in _servers(rows)]


def _disk_hits(rows):
    return [(f"Hits from disk: {group}", header, lines) for group, header, lines in _servers(rows)]


def _disk_misses(rows):
    return [(f"Misses of {size_name(disk.MISS_SIZE)}, written to disk", header, lines) for _, header, lines in _servers(rows)]


def _scale(found):
    starts = [
        (one.after, f"{one.answer_ms:,.0f}", f"{one.first_hit_ms:,.0f}", f"{one.loaded_ms:,.0f}", f"{one.answered:.0%}")
        for one in found.starts
    ]
    header = ("start after", "first answer, ms", "first hit, ms", "whole index, ms", "hits among the requests until then")
    memory = [(f"{one.objects:,}", f"{one.index_bytes:.1f}", f"{one.resident_bytes:,.1f}") for one in found.memory]
    costs = [
        (one.kind, f"{one.objects:,}", f"{one.from_disk:.0%}", f"{one.requests_per_second:,.0f}", f"{one.cpu:.2f}", f"{one.growth:.2f}")
        for one in found.costs
    ]
    times = scale.ON_PAPER / scale.OBJECTS
    on_paper = [
        ("memory of the index", f"{found.memory[0].index_bytes * scale.ON_PAPER / 2**30:,.1f} GiB"),
        ("checkpoint on disk", f"{scale.PLACE_BYTES * scale.ON_PAPER / 2**30:,.1f} GiB"),
        ("log on disk, at its longest", f"{scale.FRAME_BYTES * scale.ON_PAPER / scale.OBJECTS_PER_FRAME / 2**30:,.1f} GiB"),
        *((f"{what}, {one.after}", f"{ms * times / 1_000:,.0f} s") for one in found.starts for what, ms in _of_start(one)),
    ]
    return [
        (f"A start with {scale.OBJECTS:,} objects of 1 to 4 KiB", header, starts),
        ("Memory for each object on disk", ("objects", "of the index, bytes", "resident, bytes"), memory),
        (f"{scale.ON_PAPER:,} objects, on paper: {times:,.0f} times the figures above", ("", "computed"), on_paper),
        (f"The same {scale.HOT_KEYS:,} hot keys", ("hits from", "objects stored", "answered by the disk", "requests/s", "CPU µs", "growth"), costs),
    ]


def _of_start(start):
    return (("first answer", start.answer_ms), ("whole index", start.loaded_ms))


def _workers(rows):
    header = ("", "requests/s, 1 worker", "2 workers", "CPU µs, 1 worker", "2 workers", "growth")
    lines = [
        (
            ALL[row.server].LABEL,
            *(f"{rate:,.0f}" for rate in row.requests_per_second),
            *(f"{cpu:.1f}" for cpu in row.cpu),
            f"{row.growth:.2f}",
        )
        for row in rows
    ]
    return [(f"Hits of {size_name(workers.SIZE)}, workers and client on the same two cores", header, lines)]


def _objects(rows):
    header = ("objects stored", "requests/s", "CPU µs", "growth", "resident MiB")
    lines = [
        (f"{row.objects:,}", f"{row.requests_per_second:,.0f}", f"{row.cpu:.2f}", f"{row.growth:.2f}", f"{row.memory_mib:,.0f}")
        for row in rows
    ]
    return [(f"Hits of {size_name(objects.SIZE)} on {objects.HOT_KEYS:,} hot keys in random order", header, lines)]


def _instructions(rows):
    lines = [(row.kind, str(row.connections), f"{row.per_request:,.0f}") for row in rows]
    title = f"Instructions in user space for a request of {size_name(instructions.BODY_BYTES)}"
    return [(title, ("request", "connections", "instructions"), lines)]


TABLES = {
    "hits": _hits,
    "misses": _misses,
    "workers": _workers,
    "objects": _objects,
    "disk-hits": _disk_hits,
    "disk-misses": _disk_misses,
    "scale": _scale,
    "instructions": _instructions,
}
CHARTED = {
    "hits": lambda rows: charts.cpu_bars("CPU time of a hit, one worker on one core (µs, less is better)", rows),
    "misses": lambda rows: charts.cpu_bars("CPU time of a miss, one worker on one core (µs, less is better)", rows),
}


def aligned(header, lines):
    """A table for the terminal, with aligned columns."""
    widths = [max(len(line[column]) for line in [header, *lines]) for column in range(len(header))]

    def one(line):
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths))
        return "  ".join([line[0].ljust(len(first)), *others]).rstrip()

    return "\n".join(map(one, [header, *lines]))


def markdown(header, lines):
    """A table for a document."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, rule, *lines])
