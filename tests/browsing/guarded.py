"""The leak guard and the pages of a program: a page that all share is the same for everybody, so nothing is found of it."""

import html
import re
import urllib.parse

from scenarios import true
from servers import counted
from visitor import Visitor

# Pages that are shared, and pages that are looked at to find so many.
SHARED = 50
PAGES_MAX = 400


def no_shared_page_is_a_false_alarm(site, first):
    """Goes from link to link, and asks for each page as two visitors. `first`: where to begin."""
    site.kasoku("purge", "--all")
    blocked = counted(site, "guard_blocked")
    shared, found = 0, list(first)
    for path in found:
        Visitor(site).get(path)
        answer = Visitor(site).get(path)
        shared += answer.is_hit
        if shared == SHARED:
            break
        found += [link for link in dict.fromkeys(links(site, path, answer)) if link not in found][: PAGES_MAX - len(found)]
    true(shared == SHARED, f"{shared} pages of {len(found)} are shared")
    true(counted(site, "guard_checks") > 0, "pages are compared")
    if (now := counted(site, "guard_blocked")) != blocked:
        raise AssertionError(f"{now - blocked} patterns were found to differ: {site.kasoku('doctor')}")


def links(site, path, answer):
    """Pages of the site to which this one leads."""
    if "html" not in answer.fields.get("content-type", ""):
        return
    own = urllib.parse.urlsplit(site.url).netloc
    for value in re.findall(r"""<a\b[^>]*\bhref=["']([^"']+)["']""", answer.text):
        url = urllib.parse.urlsplit(urllib.parse.urljoin(site.url + path, html.unescape(value)))
        if url.netloc == own and url.scheme == "http":
            yield url.path + (f"?{url.query}" if url.query else "")
