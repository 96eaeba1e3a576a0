"""Faults for an oracle to find (shown.py): lines of configuration, and two wrong caches between the browsers and Kasoku."""

import copy
import email.utils

from visitor import Visitor

# Enough requests for each kind of visitor to do most of its activities.
REQUESTS, MACHINES = 600, 12


def lines(site):
    """The site's own lines in Kasoku's configuration: those after the two that `serve` writes."""
    return (site.directory / "kasoku.toml").read_text().split("\n", 2)[2]


def caught(run, site, more="", network=Visitor):
    """The kinds of mistakes that the oracle's `run` finds with these additional lines of configuration."""
    before = lines(site)
    site.serve(before + more)
    try:
        seen = run(site, REQUESTS, 1, MACHINES, network, found_max=REQUESTS)
    finally:
        site.serve(before)
        site.kasoku("purge", "--all")
    kinds = sorted({line.splitlines()[0][:60] for line in seen.found})
    print(f"        {len(seen.found)} found in {seen.requests} requests", flush=True)
    return "\n".join(kinds)


class Careless(Visitor):
    """A naive cache between browser and Kasoku, which stores each page under its URL for all visitors."""

    kept = {}

    def ask(self, method, path, fields=(), body=None):
        if method == "GET" and path in self.kept:
            answer = copy.copy(self.kept[path])
            answer.set_cookies = []
            self.came(method, path, answer)
            return answer
        answer = super().ask(method, path, fields, body)
        if method == "GET" and answer.status == 200:
            self.kept[path] = copy.copy(answer)
        return answer


class Dating(Visitor):
    """Kasoku as before its pages had their own entity tags: browsers stored each page with the program's Last-Modified, and a date
    validated it."""

    def ask(self, method, path, fields=(), body=None):
        asked = dict(fields)
        is_conditional = asked.pop("If-Modified-Since", None) is not None
        asked.pop("If-None-Match", None)
        answer = super().ask(method, path, asked, body)
        if method == "GET" and answer.status == 200 and answer.fields.get("content-type", "").startswith("text/html"):
            for name in ("etag", "vary"):
                answer.fields.pop(name, None)
            answer.fields |= {"cache-control": "max-age=0", "last-modified": email.utils.formatdate(usegmt=True)}
            if is_conditional and answer.is_hit:
                answer.status, answer.bytes, answer.text = 304, b"", ""
        return answer
