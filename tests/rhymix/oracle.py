#!/usr/bin/env python3
"""Checks each answer that a visitor of Rhymix behind Kasoku is shown, from the network or from the browser's own cache.

Members, guests, and guests who have entered passwords act in random order, on machines that several visitors use one after the other
(machines.py). For each answer, this must hold:

- A member never gets the guests' page, nor a guest a member's. A page greets its member and no other.
- It contains no other member's nick or id, and no secret post but those that this visitor has written or opened; and these it contains.
- It has the version that the visitor has chosen, or that of the device; and it is the requested page: it names its own URL, and a post has its
  text. The author of a post, an edit or a comment sees it at once.
- It has no session id, token or other long unique value that another visitor got. A shared answer has none at all, and sets no cookie.
- HTML that answers a request with a session is `private, no-store`. No answer has a status of 500 or more.

The test also requires enough hits, and pages of members and of guests with secrets; else it would show too little. Rhymix says `no-store` for
each page, so browsers' caches have few.
`python3 -B tests/rhymix/oracle.py --requests 50000` is the long run. KASOKU_RHYMIX_SEED repeats what the visitors do, but not how the threads
interleave.
"""

import argparse
import re
import sys
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import install  # noqa: E402
from machines import MEMBERS_EACH, Crew, Machine  # noqa: E402
from people import MEMBERS_MARK, TOKEN  # noqa: E402
from scenarios import true  # noqa: E402
from servers import counted  # noqa: E402
from shown import FOUND_MAX, Mistakes, a_seed, around, is_from_memory, let_act, operator  # noqa: E402
from visitor import Visitor  # noqa: E402

MACHINES = 30
REQUESTS = 2000
SEED = "KASOKU_RHYMIX_SEED"

URL = re.compile(r'var current_url = "([^"]*)"')
SHORT = re.compile(r"^/(\w+)(?:/(\d+))?$")
POST = re.compile(r"<!--BeforeDocument\((\d+),")
WORD = re.compile(r"[Zz]q([nis])(\d+)w")
# Signatures of posts and comments, for desktops and for telephones.
SIGNED = re.compile(r'class="(?:member_\d+[^"]*|auth|ex)"[^>]*>(?:<strong>)?Zqn\d+w')
# Layouts for telephones have no greeting, and one for desktops has none.
GREETING = re.compile(r'alt="(Zqn\d+w)"|class="user">(Zqn\d+w)<')
MOBILE_MARK = 'class="xe-mobilelayout"'
# The ids of elements, such as `simpleeditor_wrapper_5` and `document_453_0`, are for all.
LONG = re.compile(r"(?<![\w/.-])(?![a-z_-]+[\d_]+\b)(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,}")
# Parameters that Kasoku leaves out of a page's key.
NOISE = {"utm_source"}


class Oracle(Mistakes):
    """Checks each exchange of a visitor."""

    def __init__(self, found_max, blocked_before):
        super().__init__(found_max)
        self.blocked_before = blocked_before
        self.compared = self.pages = self.hits = self.shareable = 0
        self.of_members = self.opened = self.mobile = self.from_disk = self.confirmed = self.went_back = 0

    def check(self, who, exchange):
        """Checks one answer, after its visitor has updated its own state."""
        text, url = exchange.answer.text, URL.search(exchange.answer.text)
        wrong = self._given(who, exchange) + words(who, text)
        if url:
            wrong += page(who, exchange, url[1])
        with self._lock:
            self._count(who, exchange, url is not None)
            self.add(who, wrong)

    def sums(self):
        return (f"{self.requests} requests, {self.compared} answers compared, {self.pages} of them pages ({self.of_members} of members, "
                f"{self.mobile} for telephones, {self.opened} with a secret); {self.hits} hits of the {self.shareable} that were for anybody; "
                f"browsers took {self.from_disk} from disk unasked, {self.confirmed} after a 304, and went back to {self.went_back}; "
                f"{len(self._owners)} ids and tokens belong to one each; {len(self.found)} found")

    def _count(self, who, exchange, is_page):
        came, text = exchange.came, exchange.answer.text
        self.compared += 1
        self.pages += is_page
        self.of_members += is_page and who.member is not None
        self.mobile += is_page and MOBILE_MARK in text
        self.opened += any(found[1] == "s" for found in WORD.finditer(text))
        if came is None:
            self.went_back += exchange.is_back
            self.from_disk += not exchange.is_back
            return
        if "leak-guard" in came.decision:
            self.guarded = exchange.path
        self.requests += 1
        self.confirmed += came.status == 304
        if is_page and who.member is None and not who.opened and "pass-url" not in came.decision and exchange.method == "GET":
            self.shareable += 1
            self.hits += came.is_hit

    def _given(self, who, exchange):
        """Mistakes with what Kasoku sends, and with values that only one visitor may get: each belongs to the visitor who got it first."""
        came, text, wrong = exchange.came, exchange.answer.text, []
        is_shared = came is not None and is_from_memory(came)
        if came is not None:
            if came.status >= 500:
                wrong.append(f"its status is {came.status}")
            if is_shared and came.set_cookies:
                wrong.append(f"a shared answer sets {came.set_cookies}")
            is_html = came.fields.get("content-type", "").startswith("text/html")
            if is_html and exchange.had_session and came.status == 200 and came.fields.get("cache-control") != "private, no-store":
                wrong.append(f"what answers a session is {came.fields.get('cache-control')}")
            for line in came.set_cookies:
                name, _, value = line.partition(";")[0].partition("=")
                if name == "PHPSESSID" and value != "deleted":
                    wrong += self.belongs(value, who.sitting, "the cookie PHPSESSID")
                if name == "rx_login_status" and value not in ("none", "deleted"):
                    wrong += self.belongs(value, who.coming.nick if who.coming else who.sitting, "the cookie rx_login_status")
        for value in {*LONG.findall(text), *TOKEN.findall(text)} - {""}:
            if is_shared:
                wrong.append(f"a shared page has {value}")
            wrong += self.belongs(value, who.sitting, "a token")
        return wrong


def words(who, text):
    """Mistakes with texts that only some visitors may see."""
    text = SIGNED.sub("", text)
    return [f"it has Zq{found[1]}{found[2]}w: {around(text, found)}" for found in WORD.finditer(text) if not who.owns(found[1].lower(), int(found[2]))][:1]


def page(who, exchange, url):
    """Mistakes of a page that is not the requested one, or not this visitor's in its current state."""
    text, wrong, wanted = exchange.answer.text, [], parameters(exchange.path)
    if bool(MEMBERS_MARK.search(text)) != (who.member is not None):
        wrong.append(f"it is a page for {'guests' if who.member else 'members'}")
    if greeted := {one or other for one, other in GREETING.findall(text)} - {who.member.nick if who.member else ""}:
        wrong.append(f"it greets {sorted(greeted)}")
    if (MOBILE_MARK in text) != who.is_mobile:
        wrong.append(f"it is the version for {'telephones' if MOBILE_MARK in text else 'desktops'}")
    if exchange.method == "POST":
        return wrong
    if parameters(url) != wanted:
        wrong.append(f"it is another page: {url}")
    if number := wanted.get("document_srl"):
        expected, shown = who.text_of(number), POST.findall(text)
        if number in {post.number for post in who.opened} and not shown:
            wrong.append("the post is closed for whom it was opened")
        if shown and (shown != [number] or expected and expected not in text):
            wrong.append(f"it is another post, {shown}, without {expected}")
    return wrong


def parameters(url):
    """The parameters of a page's URL, those in a short address included."""
    parts = urllib.parse.urlsplit(url)
    short = SHORT.match(parts.path)
    named = {"mid": short[1], "document_srl": short[2]} if short else {}
    return {name: value for name, value in {**named, **dict(urllib.parse.parse_qsl(parts.query))}.items() if value and name not in NOISE}


def run(site, requests, seed, machines=MACHINES, network=Visitor, found_max=FOUND_MAX, acts=()):
    """Lets all visitors act until there were that many requests; returns the oracle with the mistakes that it found. `network` is the class that
    sends the visitors' requests."""

    class Asking(Machine, network):
        """A machine whose browser's cache sends requests through `network`."""

    oracle, crew = Oracle(found_max, counted(site, "guard_blocked")), Crew(site, machines * MEMBERS_EACH)
    visitors = [Asking(site, oracle, crew, number, seed) for number in range(machines)]
    return let_act(visitors, oracle, requests, acts, tells=requests > REQUESTS)


def judge(site, seen, requests):
    blocked = counted(site, "guard_blocked") - seen.blocked_before
    print(f"        {seen.sums()}; patterns blocked: {blocked}", flush=True)
    if blocked and seen.guarded:
        print(site.kasoku("explain", site.url + seen.guarded), flush=True)
    true(not seen.found, "what was found:\n" + "\n".join(seen.found))
    true(not blocked, "patterns that the guard has blocked")
    true(seen.requests >= requests, f"requests: {seen.requests} of {requests}")
    true(seen.hits * 4 > seen.shareable, f"hits: {seen.hits} of {seen.shareable}")
    true(seen.of_members and seen.opened and seen.mobile, "a visitor had nothing of their own to lose")


def two_thousand_requests_of_people_who_share_machines_show_no_visitor_anything_of_another(site):
    for is_delayed in (False, True):
        site.set(security__check_csrf_token=False, session__delay=is_delayed)
        judge(site, run(site, REQUESTS // 2, a_seed(SEED), acts=operator(site)), REQUESTS // 2)


SCENARIOS = [two_thousand_requests_of_people_who_share_machines_show_no_visitor_anything_of_another]


def main():
    if install.archive() is None:
        print(f"the archive of {install.NAME} is not here")
        return 0
    parser = argparse.ArgumentParser(description="The long run of the oracle.")
    parser.add_argument("--requests", type=int, default=50_000)
    wanted = parser.parse_args()
    with install.Site() as site:
        site.serve(site.policy())
        begun = time.monotonic()
        seen = run(site, wanted.requests, a_seed(SEED), acts=operator(site))
        try:
            judge(site, seen, wanted.requests)
        except AssertionError as error:
            print(error)
            return 1
        finally:
            print(f"        {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
