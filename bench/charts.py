"""Writes charts as SVG: a panel for each size with a bar for each server, and the limit as a line through all bars.

A chart works on light and dark pages, since it has its own white background. It uses the reader's fonts.
"""

from html import escape

from servers import ALL

WIDTH = 760
LEFT = 90  # for the names
RIGHT = 120  # for the figures
BAR = 18
GAP = 6
PANEL_TOP = 34
PANEL_GAP = 22
TOP = 46
INK = "#1f2933"
MUTED = "#6b7785"
COLOURS = {"limit": "#9aa5b1", "kasoku": "#0b6e4f"}
OTHERS = "#7aa5d2"


def cpu_bars(title, rows):
    """A chart of the CPU time of a request; `rows` are those of the table of hits."""
    panels = {}
    for row in rows:
        panels.setdefault(row.size, []).append(row)
    parts = [_text(16, 28, title, size=15, weight="600")]
    y = TOP
    for size, members in panels.items():
        parts += _panel(y, f"{size // 1024} KiB" if size >= 1024 else f"{size} bytes", members)
        y += _panel_height(members) + PANEL_GAP
    return _svg(title, parts, y)


def _panel_height(members):
    return PANEL_TOP + len(members) * (BAR + GAP)


def _panel(y, name, members):
    scale = (WIDTH - LEFT - RIGHT) / max(row.cpu for row in members)
    parts = [_text(16, y + 20, name, size=13, weight="600")]
    limit = next((row.cpu for row in members if row.server == "limit"), None)
    for number, row in enumerate(members):
        top = y + PANEL_TOP + number * (BAR + GAP)
        width = row.cpu * scale
        figure = f"{row.cpu:.1f} µs"
        if limit and row.server != "limit":
            figure += f", {row.of_limit:.2f} ×"
        parts.append(_text(LEFT - 8, top + 13, ALL[row.server].LABEL, anchor="end"))
        colour = COLOURS.get(row.server, OTHERS)
        parts.append(f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2" fill="{colour}"/>')
        parts.append(_text(LEFT + width + 6, top + 13, figure, colour=MUTED))
    if limit:
        x = LEFT + limit * scale
        top = y + PANEL_TOP - 4
        bottom = y + _panel_height(members)
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="{INK}" stroke-width="1" stroke-dasharray="3 3" fill="none"/>')
    return parts


def _text(x, y, text, size=12, weight="400", anchor="start", colour=INK):
    return (
        f'<text x="{x:.1f}" y="{y}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="{colour}">{escape(text)}</text>'
    )


def bars(title, rows, left=260):
    """A chart with one panel; `rows` are (name, length, figure beside the bar, whether it is Kasoku's). It has no scale, since each bar
    shows its figure."""
    scale = (WIDTH - left - RIGHT) / max(length for _, length, _, _ in rows)
    parts = [_text(16, 28, title, size=15, weight="600")]
    for number, (name, length, figure, is_ours) in enumerate(rows):
        top = TOP + number * (BAR + GAP)
        # A bar is at least one pixel long, so that it is visible.
        width = max(length * scale, 1)
        parts.append(_text(left - 8, top + 13, name, anchor="end"))
        colour = COLOURS["kasoku"] if is_ours else OTHERS
        parts.append(f'<rect x="{left}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2" fill="{colour}"/>')
        parts.append(_text(left + width + 6, top + 13, figure, colour=MUTED))
    return _svg(title, parts, TOP + len(rows) * (BAR + GAP) + 16)


def _svg(title, parts, height):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" role="img" aria-label="{escape(title)}">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
