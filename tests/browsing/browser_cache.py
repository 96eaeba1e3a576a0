"""Simulates the HTTP cache of one browser (RFC 9111, a private cache), with time as an argument.

The cache stores one response for each URL, as Chromium does. A response is fresh by max-age, by Expires, or for a tenth of the time since
Last-Modified; a fresh response is reused without a request. A stale one is validated; a 304 then stands for the stored response. A response
with `Vary` matches requests whose named fields, Cookie among them, have the same values.

Where the RFC leaves a choice, the cache does as Chromium does: `Pragma: no-cache` counts as `Cache-Control: no-cache`, and for a request
that does not match `Vary` it validates by ETag alone. Not modelled: ranges, several variants of a URL, `stale-while-revalidate`, and the
back-forward cache. """

import copy
import email.utils
from dataclasses import dataclass, field

# RFC 9110 section 15.1. A response with another status is stored only if it states a lifetime.
HEURISTICALLY_CACHEABLE = {200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501}
HEURISTIC_PART = 0.1
SAFE = {"GET", "HEAD", "OPTIONS", "TRACE"}
# Fields of the stored content, which a 304 does not update.
OF_THE_CONTENT = {"content-length", "content-encoding", "content-type", "content-range", "transfer-encoding"}


@dataclass
class Stored:
    """A stored response: an object with `status` and `fields` (a dict by lower-case name), and the times of its exchange."""

    answer: object
    vary: dict
    asked: float
    came: float

    def age(self, now):
        stated = seconds(self.answer.fields.get("age")) or 0
        apparent = max(0, self.came - (date(self.answer.fields.get("date")) or self.came))
        return max(apparent, stated + self.came - self.asked) + now - self.came

    def lifetime(self):
        fields = self.answer.fields
        said = directives(fields)
        if "no-cache" in said:
            return 0
        if "max-age" in said:
            return seconds(said["max-age"]) or 0
        made = date(fields.get("date")) or self.came
        if "expires" in fields:
            # An invalid date, such as `0`, counts as past.
            return max(0, (date(fields["expires"]) or made) - made)
        modified = date(fields.get("last-modified"))
        if modified is None or self.answer.status not in HEURISTICALLY_CACHEABLE:
            return 0
        return max(0, made - modified) * HEURISTIC_PART

    def fits(self, request):
        return "*" not in self.vary and all(request.get(name, "") == value for name, value in self.vary.items())

    def conditions(self, request):
        found = {}
        if tag := self.answer.fields.get("etag"):
            found["If-None-Match"] = tag
        # Another variant has another date, so the date can't validate it.
        if self.fits(request) and (modified := self.answer.fields.get("last-modified")):
            found["If-Modified-Since"] = modified
        return found


@dataclass
class Found:
    """What the cache has for a request: a fresh answer, or the fields that validate a stale one."""

    answer: object = None
    conditions: dict = field(default_factory=dict)


class BrowserCache:
    """The cache. It outlives the browser's windows and stores responses until `clear`."""

    def __init__(self):
        self._stored = {}

    def find(self, url, request, now):
        """What the cache has for the request, a dict of its fields by lower-case name, Cookie included."""
        stored = self._stored.get(url)
        asked = directives(request)
        if stored is None or "no-store" in asked:
            return Found()
        is_reload = "no-cache" in asked or asked.get("max-age") == "0"
        if not is_reload and stored.fits(request) and stored.age(now) < stored.lifetime():
            return Found(answer=stored.answer)
        return Found(conditions=stored.conditions(request))

    def left(self, url, request):
        """What Chromium shows when a visitor goes back to this page: the stored page, without a request, if it matches `Vary`."""
        stored = self._stored.get(url)
        return stored.answer if stored is not None and stored.fits(request) else None

    def take(self, url, request, answer, asked, came):
        """Stores an answer to a GET. Returns what the page gets: the answer itself or, after a 304, the stored response."""
        stored = self._stored.get(url)
        if answer.status == 304 and stored is not None:
            answer = freshened(stored.answer, answer)
            self._stored[url] = Stored(answer, stored.vary, asked, came)
            return answer
        if answer.status >= 500 and stored is not None:
            return answer
        self._stored.pop(url, None)
        if may_be_stored(request, answer):
            names = {name.strip().lower() for name in answer.fields.get("vary", "").split(",")} - {""}
            self._stored[url] = Stored(answer, {name: request.get(name, "") for name in names}, asked, came)
        return answer

    def invalidate(self, method, url, answer):
        """Invalidates the stored response of a URL after an unsafe method (RFC 9111 section 4.4)."""
        if method not in SAFE and answer.status < 400:
            self._stored.pop(url, None)

    def has(self, url):
        return url in self._stored

    def clear(self):
        self._stored.clear()


def may_be_stored(request, answer):
    said = directives(answer.fields)
    if "no-store" in said or "no-store" in directives(request) or answer.status in (206, 304):
        return False
    return answer.status in HEURISTICALLY_CACHEABLE or "max-age" in said or "expires" in answer.fields


def freshened(stored, answer):
    """The stored answer, updated with the fields and cookies of a 304 (RFC 9111 section 3.2)."""
    updated = copy.copy(answer)
    updated.__dict__.update({name: value for name, value in vars(stored).items() if name not in ("fields", "set_cookies")})
    news = {name: value for name, value in answer.fields.items() if name not in OF_THE_CONTENT}
    updated.fields = {**stored.fields, **news}
    return updated


def directives(fields):
    """The directives of Cache-Control as a dict. `Pragma: no-cache` counts as `no-cache`."""
    found = {}
    for member in fields.get("cache-control", "").split(","):
        name, _, value = member.strip().partition("=")
        if name:
            found.setdefault(name.lower(), value.strip('"'))
    if "no-cache" in fields.get("pragma", "").lower():
        found.setdefault("no-cache", "")
    return found


def seconds(text):
    return int(text) if text is not None and text.isdigit() else None


def date(text):
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() if text else None
    except ValueError:
        return None
