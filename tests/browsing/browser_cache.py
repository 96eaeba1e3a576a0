"""The HTTP cache that one browser keeps for itself (RFC 9111, a private cache), with time as an argument.

It keeps one response for each URL, as Chromium does. A response that may be reused without asking is fresh: by max-age, by Expires, or by a tenth of
the time since Last-Modified. A stale one is asked about with its validators; then a 304 means what is stored, whatever the 304 says of itself. A
response with `Vary` counts for requests whose named fields, Cookie among them, are the same.

Where the RFC leaves a choice it does as Chromium does: `Pragma: no-cache` counts as `Cache-Control: no-cache`, and a request that does not fit `Vary` is
asked about by ETag alone. Not modelled: ranges, several variants of a URL, `stale-while-revalidate`, and the memory that pages left by "back" come from.
"""

import copy
import email.utils
from dataclasses import dataclass, field

# RFC 9110 section 15.1. What has another status needs a lifetime of its own to be kept.
HEURISTICALLY_CACHEABLE = {200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501}
HEURISTIC_PART = 0.1
SAFE = {"GET", "HEAD", "OPTIONS", "TRACE"}
# These belong to the stored content; a 304 has none.
OF_THE_CONTENT = {"content-length", "content-encoding", "content-type", "content-range", "transfer-encoding"}


@dataclass
class Stored:
    """A response: an object with `status` and `fields` (a dict by lower-case name), and the times of its exchange."""

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
            # What is no date, such as `0`, has passed.
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
        # Another variant has another date, so the date tells nothing.
        if self.fits(request) and (modified := self.answer.fields.get("last-modified")):
            found["If-Modified-Since"] = modified
        return found


@dataclass
class Found:
    """What the cache has for a request: an answer that needs no asking, or the fields to ask with."""

    answer: object = None
    conditions: dict = field(default_factory=dict)


class BrowserCache:
    """Outlives the browser's windows: what is kept, is kept until `clear`."""

    def __init__(self):
        self._stored = {}

    def find(self, url, request, now):
        """`request` has its fields by lower-case name, Cookie included."""
        stored = self._stored.get(url)
        asked = directives(request)
        if stored is None or "no-store" in asked:
            return Found()
        is_reload = "no-cache" in asked or asked.get("max-age") == "0"
        if not is_reload and stored.fits(request) and stored.age(now) < stored.lifetime():
            return Found(answer=stored.answer)
        return Found(conditions=stored.conditions(request))

    def take(self, url, request, answer, asked, came):
        """What the page gets of this answer to a GET: the answer itself or, if that is a 304 to our conditions, what is stored."""
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
        """RFC 9111 section 4.4: a method that may change something voids what is stored under its URL."""
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
    """The stored answer with the fields of a 304 (RFC 9111 section 3.2); its cookies are set as those of any answer."""
    updated = copy.copy(answer)
    updated.__dict__.update({name: value for name, value in vars(stored).items() if name not in ("fields", "set_cookies")})
    news = {name: value for name, value in answer.fields.items() if name not in OF_THE_CONTENT}
    updated.fields = {**stored.fields, **news}
    return updated


def directives(fields):
    """Cache-Control as a dict. `Pragma: no-cache` counts as its no-cache."""
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
