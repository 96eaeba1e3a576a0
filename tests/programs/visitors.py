"""Three visitors whose browsers differ in all that a program may look at, and the two ways to a program: through Kasoku, and without."""

import gzip
import time
import zlib

from visitor import Visitor

HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

# Address, and the fields of the browser: an English desktop, a German telephone that comes from a search, a Japanese desktop.
BROWSERS = [
    ("127.0.0.1", {
        "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        "Accept": HTML,
        "Accept-Language": "en-US,en;q=0.5",
        "Accept-Encoding": "gzip, deflate",
        "Upgrade-Insecure-Requests": "1",
        "Sec-Fetch-Dest": "document",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Site": "none",
        "Sec-Fetch-User": "?1",
    }),
    ("127.0.0.2", {
        "User-Agent": "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
        "Accept-Language": "de-DE,de;q=0.9,en;q=0.8",
        "Accept-Encoding": "gzip, deflate",
        "Referer": "https://search.example/?q=harbour",
        "Sec-CH-UA": '"Chromium";v="131", "Not_A Brand";v="24"',
        "Sec-CH-UA-Mobile": "?1",
        "Sec-CH-UA-Platform": '"Android"',
        "Sec-Fetch-Dest": "document",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Site": "cross-site",
        "Upgrade-Insecure-Requests": "1",
        "DNT": "1",
    }),
    ("127.0.0.3", {
        "User-Agent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
        "Accept": HTML,
        "Accept-Language": "ja",
        "Accept-Encoding": "gzip, deflate",
        "Sec-Fetch-Dest": "document",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Site": "none",
        "Priority": "u=0, i",
    }),
]


class BrowserVisitor(Visitor):
    """A visitor with one of these browsers and a jar for cookies; `seconds` is what the last answer took."""

    def __init__(self, site, browser, port):
        address, self._fields = BROWSERS[browser]
        super().__init__(site, user_agent=self._fields["User-Agent"], address=address, port=port)
        self.seconds = self._begun = 0.0

    def ask(self, method, path, fields=(), body=None):
        self._begun = time.monotonic()
        return super().ask(method, path, {**self._fields, **dict(fields)}, body)

    def came(self, method, path, answer):
        # Without the time for which the first visitor of a kind of page waits afterwards, until it has been looked at.
        self.seconds = time.monotonic() - self._begun
        coding = answer.fields.get("content-encoding")
        if answer.bytes and coding in ("gzip", "deflate"):
            answer.bytes = gzip.decompress(answer.bytes) if coding == "gzip" else zlib.decompress(answer.bytes)
            answer.text = answer.bytes.decode("utf-8", "replace")


class Way:
    """A way to the program: its port, its URL, and visitors on it."""

    def __init__(self, name, site, port):
        self.name, self.site, self.port = name, site, port
        self.url = f"http://127.0.0.1:{port}"

    def visitor(self, browser=0):
        return BrowserVisitor(self.site, browser, self.port)
