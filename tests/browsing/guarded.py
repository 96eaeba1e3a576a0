"""Checks that the leak guard raises no false alarm on the shared pages of a real application."""

import html
import re
import urllib.parse

from scenarios import true
from servers import counted
from visitor import Visitor

# The number of shared pages that the check needs, and the most pages that it requests to find them.
SHARED = 50
PAGES_MAX = 400


def no_shared_page_is_a_false_alarm(site, first):
    """Follows links from `first`, and requests each page as two visitors; the guard must block no page."""
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
    """The pages of the site to which this page links."""
    if "html" not in answer.fields.get("content-type", ""):
        return
    own = urllib.parse.urlsplit(site.url).netloc
    for value in re.findall(r"""<a\b[^>]*\bhref=["']([^"']+)["']""", answer.text):
        url = urllib.parse.urlsplit(urllib.parse.urljoin(site.url + path, html.unescape(value)))
        if url.netloc == own and url.scheme == "http":
            yield url.path + (f"?{url.query}" if url.query else "")
