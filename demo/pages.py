"""The blog's pages, as HTML."""

import datetime
import html
import os
import shlex

_STYLE = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "style.css"), encoding="utf-8").read()
_SITE = "Harbour Notes"
_MADE = "<!-- made -->"
_ASK = "<!-- ask -->"
_SCRIPT = """
addEventListener("load", () => setTimeout(() => {
  const asked = performance.timeOrigin;
  const age = asked - Date.parse(document.getElementById("made").textContent.replace(" ", "T") + "Z");
  const visit = performance.getEntriesByType("navigation")[0];
  const took = Math.max(1, Math.round(visit.responseEnd - visit.requestStart));
  const from = document.getElementById("from");
  if (visit.transferSize === 0) from.textContent = "Your browser had it already and asked nobody.";
  else if (age > 0) from.innerHTML = `<strong>From the cache:</strong> it was made ${(age / 1000).toFixed(1)} s before you asked, and took ${took} ms to come.`;
  else from.innerHTML = `<strong>Made for you:</strong> you waited ${took.toLocaleString("en")} ms for it.`;
}));
"""


def front(entries, tags, total):
    """The newest entries and the tags."""
    articles = "".join(_teaser(entry) for entry in entries)
    return _page(_SITE, f"""
<p class="lead">A weblog about boats, bread and bad weather. {total:,} entries so far, each a text file.</p>
{_tag_list(tags)}
{articles}""")


def entry(one):
    """One entry in full."""
    body = "".join(f"<p>{html.escape(paragraph)}</p>\n" for paragraph in one["paragraphs"])
    return _page(one["title"], f"""
<article class="full">
<h1>{html.escape(one["title"])}</h1>
{_meta(one)}
{body}</article>
<p><a href="/">Back to the front page</a></p>""")


def search(tag, found, total, shown_max):
    """What a tag search found, best match first."""
    articles = "".join(_teaser(entry) for entry in found[:shown_max])
    more = f"<p class=\"note\">The first {shown_max} are shown.</p>" if len(found) > shown_max else ""
    return _page(f"Entries about {tag}", f"""
<h1>Entries about {html.escape(tag)}</h1>
<p class="note">{len(found):,} of {total:,} entries, the most relevant first.</p>
{articles}
{more}""")


def not_found(path):
    """The page for what isn't there."""
    return _page("Not found", f"""
<h1>Not found</h1>
<p>There is nothing at <code>{html.escape(path)}</code>. <a href="/">The front page</a> knows the rest.</p>""")


def _teaser(one):
    excerpt = one["paragraphs"][0] if one["paragraphs"] else ""
    return f"""<article>
<h2><a href="/entry/{one["number"]}">{html.escape(one["title"])}</a></h2>
{_meta(one)}
<p>{html.escape(excerpt)}</p>
</article>
"""


def _meta(one):
    return f"""<p class="meta"><time datetime="{one["date"]:%Y-%m-%d}">{one["date"]:%-d %B %Y}</time> {_tag_links(one["tags"])}</p>"""


def _tag_list(tags):
    return f"<p class=\"tags\">{_tag_links(tags)}</p>"


def _tag_links(tags):
    return " ".join(f"<a class=\"tag\" href=\"/search?tag={html.escape(tag)}\">{html.escape(tag)}</a>" for tag in tags)


def _page(title, content):
    heading = _SITE if title == _SITE else f"{title} - {_SITE}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(heading)}</title>
<style>{_STYLE}</style>
</head>
<body>
<header><a href="/">{_SITE}</a></header>
{_MADE}
<main>{content}
</main>
<footer><p>One text file an entry. No database, no index.</p>{_ASK}</footer>
</body>
</html>
"""


def with_commands(page, ask, url):
    """The page with the commands that say what became of it; `ask` has a {} where the command's name goes."""
    why, all_pages = html.escape(f"{ask.format('explain')} {shlex.quote(url)}"), html.escape(ask.format("top"))
    return page.replace(_ASK, f"<p>What this page gets, and why: <code>{why}</code></p><p>What happens at present: <code>{all_pages}</code></p>")


def with_times(page, begun, made):
    """The page with what it says of itself: when it was made, and how long that took. Both are in seconds since 1970.

    Whether it comes from memory, it can't know: it is made once. The visitor's browser does, since both have one clock here: a page that was
    finished before the browser asked was made for another visitor. What a cache says (Cache-Status) no script of a page can read.
    """
    moment = datetime.datetime.fromtimestamp(made, datetime.timezone.utc)
    return page.replace(_MADE, f"""<p class="made">The program made this page at <time id="made">{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03}</time> UTC,
in {(made - begun) * 1000:,.0f} ms. <span id="from"></span></p>
<script>{_SCRIPT}</script>""")
