"""Tests that the oracle can fail: each scenario makes a mistake, in the configuration or between the browsers and Kasoku."""

import copy
import email.utils

from oracle import run
from scenarios import true
from visitor import Visitor

# Enough requests for each kind of visitor to do most of its activities.
REQUESTS, MACHINES = 600, 12


def lines(site):
    """The site's own lines in Kasoku's configuration: those after the two that `serve` writes."""
    return (site.directory / "kasoku.toml").read_text().split("\n", 2)[2]


def caught(site, more="", network=Visitor):
    """The kinds of mistakes that the oracle finds with these additional lines of configuration."""
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


def the_oracle_catches_a_policy_that_takes_the_session_for_noise(site):
    found = caught(site, 'cookies.noise = ["default", "PHPSESSID"]\n')
    true("a page for guests" in found, f"members with pages of guests are not among {found}")


def the_oracle_catches_a_policy_that_forgets_carts_and_passwords(site):
    found = caught(site, "session.stateful-urls = []\n")
    true("items in the cart instead of" in found or "the post is closed" in found or "it lacks Zqs" in found, f"a lost cart is not among {found}")


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


def the_oracle_catches_a_cache_that_looks_at_no_cookie(site):
    Careless.kept = {}
    found = caught(site, network=Careless)
    true("it greets" in found and "it has Zq" in found, f"a member's page is not among {found}")


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


def the_oracle_catches_dates_that_confirm_what_another_has_left_in_a_browser(site):
    found = caught(site, network=Dating)
    true("it greets" in found, f"a member's page from a browser's disk is not among {found}")


SCENARIOS = [
    the_oracle_catches_a_policy_that_takes_the_session_for_noise,
    the_oracle_catches_a_policy_that_forgets_carts_and_passwords,
    the_oracle_catches_a_cache_that_looks_at_no_cookie,
    the_oracle_catches_dates_that_confirm_what_another_has_left_in_a_browser,
]
