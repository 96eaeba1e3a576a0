"""Writes an experiment's results into its document: tables and texts in their places, and charts in the folder beside it."""

import machine
from native import ROOT
from report import aligned, markdown, replaced


def as_text(tables):
    """The tables for a terminal; `tables` are (title, header, lines) by the names of their places."""
    return "\n\n".join(f"{title}\n{aligned(header, lines)}" for title, header, lines in tables.values())


def write(document, used, tables, texts=None, charts=None):
    """Puts the description of the machine, tables and texts into their places, and charts by name into the folder; returns the written
    files."""
    text = replaced(document.read_text(encoding="utf-8"), "machine", machine.description(*used))
    for name, (title, header, lines) in tables.items():
        text = replaced(text, name.replace(" ", ""), f"**{title}**\n\n{markdown(header, lines)}")
    for name, content in (texts or {}).items():
        text = replaced(text, name, content)
    document.write_text(text, encoding="utf-8")
    files = [document]
    for name, chart in (charts or {}).items():
        files.append(document.with_suffix("") / f"{name.replace(' ', '')}.svg")
        files[-1].parent.mkdir(exist_ok=True)
        files[-1].write_text(chart, encoding="utf-8")
    return [str(path.relative_to(ROOT)) for path in files]
