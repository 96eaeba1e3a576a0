"""Tests that searches are shared: three visitors ask for the same page, and only the first one waits for Movable Type."""

from scenarios import equal, holds, lacks, true
from visitor import Visitor
from writer import Author

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 Mobile/15E148 Safari/604.1"
BUSY = "You are currently performing a search"


def three(site):
    """Three visitors who differ in address, browser, language, and the page from which they come."""
    return [Visitor(site, address="127.0.0.21"),
            Visitor(site, {"_ga": "GA1.1.2.3"}, PHONE, address="127.0.0.22"),
            Visitor(site, user_agent="Mozilla/5.0 (compatible; Googlebot/2.1)", address="127.0.0.23")]


DIFFERING = [{}, {"Accept-Language": "ja,en;q=0.5"}, {"Referer": "https://search.example/?q=harbour"}]


def is_shared(site, path):
    """The first visitor gets the page from Movable Type, the others get the same bytes without it."""
    found = []
    for visitor, fields in zip(three(site), DIFFERING):
        found.append(visitor.get(path, **fields))
        site.until_idle()
    print(f"        {path}: " + " | ".join(f"{answer.status} {answer.decision}" for answer in found), flush=True)
    first, *others = found
    equal((first.status, first.is_hit), (200, False), f"{path} for the first visitor ({first.decision})")
    for answer in others:
        equal((answer.status, answer.is_hit), (200, True), f"{path} again ({answer.decision})")
        equal(answer.text, first.text, f"the page of {path}")
    return first


def a_search_is_a_hit_at_the_second_request(site, **_):
    for path in [site.tag("x"), site.tag("rain"), site.search("harbour", Template="feed", blog_id=site.blog)]:
        first = is_shared(site, path)
        holds(first.text, "http://127.0.0.1", f"results of {path}")
    # In version 3.35 an address may search for words only once in 20 seconds, which these three do.
    is_shared(site, site.search("station"))


def a_search_by_fastcgi_is_a_hit_at_the_second_request(site, **_):
    for path in [site.tag("x", "mt-search.fcgi"), site.search("lamp", "mt-search.fcgi")]:
        holds(is_shared(site, path).text, "http://127.0.0.1", f"results of {path}")


def what_shows_is_what_movable_type_prints(site, **_):
    """A shared page sets no cookie, and differs from what the author gets in nothing."""
    path = site.tag("trains")
    shared = is_shared(site, path)
    site.kasoku("purge", "--all")
    author = Author(site)
    own = author.get(path)
    equal(own.is_hit, False, f"the author's page ({own.decision})")
    equal(own.text, shared.text, "the author's page")
    again = Visitor(site).get(path)
    lacks(again.decision, "; hit", "the page after the author's")
    equal(again.set_cookies, [], "cookies of a page that may be stored")


def an_author_passes(site, **_):
    """Whoever is logged in gets an own page, and mt.cgi is never shared."""
    author = Author(site)
    for path in [site.tag("x"), "/mt/mt.cgi"]:
        for _ in range(2):
            answer = author.get(path)
            equal(answer.is_hit, False, f"{path} for the author ({answer.decision})")
    for _ in range(2):
        answer = Visitor(site).get("/mt/mt.cgi")
        equal((answer.is_hit, "stored" in answer.decision), (False, False), f"mt.cgi for a visitor ({answer.decision})")


def nobody_is_told_to_wait_for_another_visitors_search(site, **_):
    """Version 3.35 lets each address search for words once in 20 seconds. All visitors together are no one address."""
    words = ["river", "bridge", "winter", "summer"]
    for number, word in enumerate(words):
        answer = Visitor(site, address=f"127.0.1.{number + 1}").get(site.search(word))
        lacks(answer.text, BUSY, f"the search for {word} ({answer.decision})")
        site.until_idle()
    for number, word in enumerate(words):
        answer = Visitor(site, address=f"127.0.2.{number + 1}").get(site.search(word))
        lacks(answer.text, BUSY, f"the search for {word} again ({answer.decision})")
        true(answer.is_hit, f"a hit of the search for {word} ({answer.decision})")


def explain_names_the_line_that_allows_it(site, **_):
    """Version 9.2.1 says `no-store` with each search. `ttl` yields to that, and explain says which line overrules it."""
    path = site.tag("x")
    for _ in range(2):
        answer = Visitor(site).get(path)
        equal((answer.is_hit, "stored" in answer.decision), (False, False), f"a search with no-store ({answer.decision})")
        site.until_idle()
    said = site.kasoku("explain", site.url + path)
    print("        " + said.replace("\n", "\n        "), flush=True)
    holds(said, "no-store", "what holds the page back")
    holds(said, 'ignore = ["no-store"', "the line that allows it")


SHARED = [a_search_is_a_hit_at_the_second_request, what_shows_is_what_movable_type_prints, an_author_passes, nobody_is_told_to_wait_for_another_visitors_search]
BY_FASTCGI = [a_search_by_fastcgi_is_a_hit_at_the_second_request]
REFUSED = [explain_names_the_line_that_allows_it]
