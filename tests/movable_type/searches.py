"""Tests that searches are shared: three visitors ask for the same page, and only the first one waits for Movable Type."""

import itertools
import re
import time

from install import content
from scenarios import equal, holds, lacks, true
from visitor import Visitor
from writer import Author, Commenter

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 Mobile/15E148 Safari/604.1"
BUSY = "You are currently performing a search"
FOR_AUTHORS = ">Edit</a>]"
# SearchCacheTTL's default: for so long, Movable Type keeps results itself.
PROGRAMS_OWN_SECONDS = 20
ADDRESSES = itertools.count()


def three(site):
    """Three visitors who differ in address, browser, language, and the page from which they come. None has been seen: in version 3.35 an
    address may search for words only once in 20 seconds."""
    addresses = [f"127.0.6.{next(ADDRESSES) % 254 + 1}" for _ in range(3)]
    return [Visitor(site, address=addresses[0]),
            Visitor(site, {"_ga": "GA1.1.2.3"}, PHONE, address=addresses[1]),
            Visitor(site, user_agent="Mozilla/5.0 (compatible; Googlebot/2.1)", address=addresses[2])]


DIFFERING = [{}, {"Accept-Language": "ja,en;q=0.5"}, {"Referer": "https://search.example/?q=harbour"}]


def is_shared(site, path):
    """The first visitor gets the page from Movable Type, the others get the same without it, and both the same bytes."""
    found = []
    for visitor, fields in zip(three(site), DIFFERING):
        found.append(visitor.get(path, **fields))
        site.until_idle()
    print(f"        {path}: " + " | ".join(f"{answer.status} {answer.decision}" for answer in found), flush=True)
    first, *others = found
    equal((first.status, first.is_hit), (200, False), f"{path} for the first visitor ({first.decision})")
    for answer in others:
        equal((answer.status, answer.is_hit), (200, True), f"{path} again ({answer.decision})")
        same(answer.text, others[0].text, f"the page of {path} for each")
        same(content(answer.text), content(first.text), f"the page of {path}")
    return first


def same(found, wanted, what):
    """Pages are too long to be printed whole: shows the first lines that differ."""
    for line, wanted_line in itertools.zip_longest(found.splitlines(), wanted.splitlines(), fillvalue="(none)"):
        equal(line, wanted_line, f"a line of {what}")


def a_search_is_a_hit_at_the_second_request(site, **_):
    for path in [site.tag("x"), site.tag("rain"), site.search("harbour", Template="feed", blog_id=site.blog)]:
        first = is_shared(site, path)
        holds(first.text, "http://127.0.0.1", f"results of {path}")
    is_shared(site, site.search("station"))


def a_search_by_fastcgi_is_a_hit_at_the_second_request(site, **_):
    for path in [site.tag("x", "mt-search.fcgi"), site.search("lamp", "mt-search.fcgi")]:
        holds(is_shared(site, path).text, "http://127.0.0.1", f"results of {path}")


def what_shows_is_what_movable_type_prints(site, **_):
    """A shared page sets no cookie, and differs from what the author gets in nothing but the links for authors that version 3.35 adds."""
    path = site.tag("trains")
    shared = is_shared(site, path)
    site.kasoku("purge", "--all")
    author = Author(site)
    own = author.get(path)
    equal(own.is_hit, False, f"the author's page ({own.decision})")
    lacks(shared.text, FOR_AUTHORS, "the shared page")
    same(re.sub(r'\[<a href="[^"]*/mt\.cgi\?[^"]*">Edit</a>\]', "", content(own.text)), content(shared.text), "the author's page")
    again = Visitor(site).get(path)
    lacks(again.decision, "; hit", "the page after the author's")
    lacks(again.text, FOR_AUTHORS, "the page after the author's")
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


def nobody_gets_what_another_visitor_is_refused(site, **_):
    """An author passes with an own address, so version 3.35 refuses the second search. That answer is the author's alone."""
    author = Author(site, address="127.0.3.2")
    first = author.get(site.search("apple"))
    refused = author.get(site.search("cherry"))
    print(f"        the author's second search: {refused.status} {'busy' if BUSY in refused.text else 'results'} {refused.decision}", flush=True)
    equal((BUSY in first.text, BUSY in refused.text), (False, site.installed.is_old), "whether the author's searches are refused")
    for _ in range(2):
        answer = Visitor(site, address="127.0.3.1").get(site.search("cherry"))
        lacks(answer.text, BUSY, f"the search of another visitor ({answer.decision})")
        site.until_idle()
    true(answer.is_hit, f"a hit of the search of another visitor ({answer.decision})")


def what_movable_type_replays_of_a_member_is_not_kept(site, **_):
    """Version 6.8.8 prints a commenter's name and session into a page of results, and keeps that page for all for SearchCacheTTL (20 s).

    Who searches in that time gets it, with or without Kasoku. Nobody may get it later.
    """
    if not site.installed.has_commenters:
        print("        this version has no commenters who log in", flush=True)
        return
    # Other pages of the kind are shared already.
    is_shared(site, site.search("winter", limit=7))
    member = Commenter(site)
    path = site.search("summer", limit=7)
    own = member.get(path)
    equal(own.is_hit, False, f"the member's page ({own.decision})")
    holds(own.text, member.session, "the member's page")
    for _ in range(3):
        answer = Visitor(site).get(path)
        print(f"        within 20 s: {answer.decision}, {'the member' if member.session in answer.text else 'nobody'} is named", flush=True)
        equal(member.session in answer.text and ("stored" in answer.decision or answer.is_hit), False, f"the member's session is stored ({answer.decision})")
        site.until_idle()
    time.sleep(PROGRAMS_OWN_SECONDS + 3)
    lacks(Visitor(site).get(path).text, member.session, "the page after the time for which Movable Type keeps it")


def explain_names_the_line_that_allows_it(site, **_):
    """Version 9.2.1 says `no-store` with each search. `ttl` yields to that, and explain says which line overrules it."""
    path = site.tag("x")
    for _ in range(2):
        answer = Visitor(site).get(path)
        equal((answer.is_hit, "stored" in answer.decision), (False, False), f"a search with no-store ({answer.decision})")
        site.until_idle()
    # It has eight seconds to try its lines. Where that was too short, it offers none.
    for _ in range(5):
        said = site.kasoku("explain", "--live", site.url + path)
        if "ignore = " in said:
            break
    print("        " + said.replace("\n", "\n        "), flush=True)
    holds(said, "no-store", "what holds the page back")
    holds(said, 'ignore = ["no-store"', "the line that allows it")


SHARED = [a_search_is_a_hit_at_the_second_request, a_search_by_fastcgi_is_a_hit_at_the_second_request, what_shows_is_what_movable_type_prints, an_author_passes,
          nobody_is_told_to_wait_for_another_visitors_search, nobody_gets_what_another_visitor_is_refused, what_movable_type_replays_of_a_member_is_not_kept]
REFUSED = [explain_names_the_line_that_allows_it]
