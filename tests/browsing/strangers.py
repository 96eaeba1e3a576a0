"""Requests by which strangers pretend to write: none of them may drop a page, whatever cookies and credentials they make up."""

import collections
import os
import time
import urllib.parse

from scenarios import true
from seen import warm
from visitor import Visitor, get

FORM = "application/x-www-form-urlencoded"
# A minute shows the same.
FLOOD_SECONDS = int(os.environ.get("KASOKU_FLOOD_SECONDS", 6))
FLOOD_A_SECOND = 50
HITS_SHARE_MIN = 0.95
# For each request of a stranger: what PHP gets besides, since pages are fetched anew. The intervals of the tags begin with a second.
REFRESHES_SHARE_MAX = 0.2 if FLOOD_SECONDS >= 60 else 1.0


class Pretence:
    """A request of a stranger. `form`: sent as `media_type`."""

    def __init__(self, method, target, form=None, media_type=FORM, **fields):
        self._method, self._target, self._fields = method, target, fields
        self._body = urllib.parse.urlencode(form) if isinstance(form, dict) else form
        if self._body is not None:
            self._fields["Content-Type"] = media_type

    def send(self, site, cookies=(), authorization=None, address=None):
        visitor = Visitor(site, cookies, address=address)
        fields = {**self._fields, **({"Authorization": authorization} if authorization else {})}
        try:
            return visitor.ask(self._method, self._target, fields, self._body)
        finally:
            visitor.close()

    def __str__(self):
        more = [f"{name}: {value}" for name, value in self._fields.items() if value != FORM]
        return " ".join([self._method, self._target, *more, *([str(self._body)[:80]] if self._body else [])])


def scenarios(pretences, pages, forged):
    """The scenarios of a site. `pretences` and `pages`: functions of the site; `forged`: cookies like those of a member."""

    def what_a_stranger_pretends_drops_no_page(site, **_):
        _drop_nothing(site, pretences(site), pages(site), forged)

    def a_flood_of_strangers_costs_no_hit(site, **_):
        _flood(site, pretences(site), pages(site), forged)

    return [what_a_stranger_pretends_drops_no_page, a_flood_of_strangers_costs_no_hit]


def _drop_nothing(site, pretences, pages, forged):
    """Sends each of them as somebody without a cookie, with `forged` cookies, and with a made-up password; the pages remain hits.

    None may be sent to the URL of a page: a POST that is no error drops that page (RFC 9111 section 4.4).
    """
    manners = {"": {}, "with a forged cookie": {"cookies": forged}, "with a password": {"authorization": "Basic ZWRpdG9yOnNlY3JldA=="}}
    dropped, stale = [], collections.Counter()
    for pretence in pretences:
        for manner, how in manners.items():
            warm(lambda: Visitor(site), *pages)
            sent = pretence.send(site, **how)
            for page in pages:
                answer = get(site, page)
                if not answer.is_hit:
                    dropped.append(f"{page} after {pretence} {manner}: {sent.status} {sent.decision} ({answer.decision})")
                elif "detail=hit-stale" in answer.decision:
                    stale[f"{pretence} {manner}: {sent.status}"] += 1
    print(f"        {len(pretences)} requests in {len(manners)} manners; pages were stale after {len(stale)} of these", flush=True)
    true(not dropped, "\n".join(dropped[:20]))


def _flood(site, pretences, pages, forged):
    """Sends them all the time, from many addresses, half with forged cookies; the pages remain hits, and PHP gets little more than the flood."""
    warm(lambda: Visitor(site), *pages)
    site.settle()
    before = site.php_requests()
    hits = asked = number = 0
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < FLOOD_SECONDS:
        if number > passed * FLOOD_A_SECOND:
            time.sleep(0.005)
            continue
        pretences[number % len(pretences)].send(site, cookies=forged if number % 2 else (), address=f"127.0.7.{1 + number % 200}")
        hits += get(site, pages[number % len(pages)]).is_hit
        asked, number = asked + 1, number + 1
    site.settle()
    refreshes = site.php_requests() - before - asked
    print(f"        {asked} requests of strangers in {passed:.0f} s, each followed by a page: {hits / asked:.1%} hits; "
          f"PHP got {refreshes} requests more than these", flush=True)
    true(hits >= HITS_SHARE_MIN * asked, f"{hits} hits of {asked}")
    true(refreshes <= REFRESHES_SHARE_MAX * asked, f"{refreshes} requests besides {asked}")
