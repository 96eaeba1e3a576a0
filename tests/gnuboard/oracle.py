#!/usr/bin/env python3
"""Checks each page that a visitor of gnuboard behind Kasoku is shown, from the network or from the browser's own cache.

Members, guests, visitors with carts and with entered passwords act in random order, on machines that several visitors use one after the
other (people.py). For each page that a visitor is shown, from any cache, this must hold:

- The page greets its member and no other; a guest's page greets no member. A member never gets the guests' page, nor a guest a member's.
- It contains no other visitor's word, sum of points, name in a form, item of a cart, or secret comment or post; and it contains this
  visitor's own. The number of items is that of the visitor's cart.
- It has the version that the visitor has chosen, or that of the device; and it is the requested page.
- It has no session id, token, number of a form, nonce or captcha that another visitor got. A shared page has none at all, and sets no
  cookie.
- A shared page has no validator of the application. HTML that answers a request with a session is `private, no-store`.

The test also requires enough hits, and pages from the browsers' own caches; else it would show too little.
`python3 -B tests/gnuboard/oracle.py --requests 50000` is the long run. KASOKU_GNUBOARD_SEED repeats what the visitors do, but not how the
threads interleave.
"""

import argparse
import hashlib
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import crew  # noqa: E402
from people import AUTOMATIC_LOGIN, MEMBERS_EACH, Machine  # noqa: E402
from scenarios import true  # noqa: E402
from servers import counted  # noqa: E402
from shown import FOUND_MAX, Mistakes, a_seed, around, is_from_memory, let_act, operator  # noqa: E402
from site_under_test import Site, archive  # noqa: E402
from visitor import Visitor  # noqa: E402

MACHINES = 40
REQUESTS = 2500
SEED = "KASOKU_GNUBOARD_SEED"
APPLICATION = 'application = "gnuboard5"\n'

STATE = re.compile(r'var g5_is_member = "(1?)";[\s\S]*?var g5_is_mobile = "(1?)";')
GREETINGS = [re.compile(pattern) for pattern in (r'id="hd_login_msg">([^<]*)님 로그인 중', r"<strong[^>]*>([^<]*)님</strong>", r'class="profile_name">([^<]*)<')]
# Signatures of posts and comments, which are no greetings.
SIGNED = re.compile(r'<span class="(?:sv_)?member">[^<]*</span>|[^<>"]*님의\s*댓글')
POINTS = re.compile(r"(?<![\d,])([1-9]\d\d),\d{3},\d{3}(?!,?\d)")
COUNTS = re.compile(r'class="(?:cart-)?count">(\d+)<')
VIEWED = re.compile(r'class="stv_item[\s\S]{0,80}?it_id=(\d+)')
TOKENS = re.compile(r"""name="(?:token|uid)"[^>]*value="([^"]{8,})"|[?&;]token=([^"'&<]{8,})|kcaptcha-(\w{32})_\d""")
NONCES = re.compile(r"""[?&;]nonce=([^"'&<]{8,})""")
WORDS_OF_IDS = re.compile(r"[\w%-]{20,}")
POST = re.compile(r"^/bbs/board\.php\?bo_table=(\w+)&(?:.*&)?wr_id=(\d+)|^/(\w+)/(\d+)(?:$|\?)")
LETTERS = {"free": "F", "notice": "N", "b2026k11test": "T", "memonly": "M"}
MEMBERS_WORD = re.compile(r"본문M\d+z|댓글C6z")
NOBODYS_SECRET = re.compile(r"본문S2z|댓글C3z")
# The cookie mb_client_key, which gnuboard5 derives from a browser's address and User-Agent.
KEY = "2e61f26e7a4e8194d3d5d054536403e0"
SECRET_COOKIES = {"PHPSESSID", AUTOMATIC_LOGIN, KEY}
OWN_TAG = re.compile(r'^"[\w+/=-]{16,}"$')
SHARED = "a shared page"


class Oracle(Mistakes):
    """Checks each exchange of a visitor."""

    def __init__(self, found_max=FOUND_MAX):
        super().__init__(found_max)
        self.compared = self.pages = self.hits = self.shareable = 0
        self.of_members = self.with_cart = self.opened = 0
        self.from_disk = self.confirmed = self.confirmed_pages = self.went_back = self.pages_from_disk = 0

    def check(self, who, exchange):
        """Checks one answer, after its visitor has updated its own state from it."""
        came, answer = exchange.came, exchange.answer
        is_html = answer.fields.get("content-type", "").startswith("text/html")
        is_shared = came is not None and is_from_memory(came)
        wrong = self._given(who, exchange, is_shared and is_html)
        state = STATE.search(answer.text) if is_html else None
        if is_html or "xml" in answer.fields.get("content-type", ""):
            wrong += headers(exchange, is_shared, is_html) + words(who, answer)
        if state:
            wrong += page(who, exchange.path, answer.text, state)
        if came is not None and came.status >= 500:
            wrong.append(f"its status is {came.status}")
        with self._lock:
            self._count(who, exchange, state is not None)
            self.add(who, wrong)

    def sums(self):
        return (f"{self.requests} requests, {self.compared} answers compared, {self.pages} of them pages ({self.of_members} of members, "
                f"{self.with_cart} with a cart, {self.opened} with a secret); {self.hits} hits of the {self.shareable} "
                f"that were for anybody; browsers took {self.from_disk} from disk unasked ({self.pages_from_disk} pages), {self.confirmed} after a 304 "
                f"({self.confirmed_pages} pages), and went back to {self.went_back}; "
                f"{len(self._owners)} ids, tokens and captchas belong to one each; {len(self.found)} found")

    def _count(self, who, exchange, is_page):
        came, text = exchange.came, exchange.answer.text
        self.compared += 1
        self.pages += is_page
        self.of_members += is_page and who.member is not None
        self.with_cart += is_whole(text) and exchange.path.startswith("/shop/") and bool(who.in_cart)
        self.opened += any(word in text for word in who.words(*post_of(exchange.path)))
        if came is None:
            self.went_back += exchange.is_back
            self.from_disk += not exchange.is_back
            self.pages_from_disk += is_page and not exchange.is_back
            return
        if "leak-guard" in came.decision:
            self.guarded = exchange.path
        self.requests += 1
        self.confirmed += came.status == 304
        self.confirmed_pages += is_page and came.status == 304
        if is_whole(text) and who.is_anybody and "pass-url" not in came.decision:
            self.shareable += 1
            self.hits += came.is_hit

    def _given(self, who, exchange, is_shared_page):
        """Checks values that only one visitor may get: each belongs to the visitor who got it first."""
        came, answer, wrong = exchange.came, exchange.answer, []
        if came is not None and came.set_cookies and is_from_memory(came):
            wrong.append(f"a shared answer sets {came.set_cookies}")
        for line in came.set_cookies if came is not None else ():
            name, _, value = line.partition(";")[0].partition("=")
            if name in SECRET_COOKIES and value not in ("", "deleted"):
                owner = f"browser {who.number}" if name == KEY else who.sitting
                wrong += self.belongs(value, owner, f"the cookie {line}")
        if exchange.path.startswith("/plugin/kcaptcha/kcaptcha_image.php"):
            wrong += self.belongs(hashlib.md5(answer.bytes).hexdigest(), who.sitting, "the picture of a captcha")
        if not answer.fields.get("content-type", "").startswith("text/"):
            return wrong
        for word in set(WORDS_OF_IDS.findall(answer.text)):
            if (owner := self._owners.get(word)) and (owner != who.sitting or is_shared_page):
                wrong.append(f"it has {word}, which was given to {owner}")
        for found in set(TOKENS.findall(answer.text)):
            token = next(filter(None, found))
            if is_shared_page:
                wrong.append(f"a shared page has the token {token}")
            wrong += self.belongs(token, f"browser {who.number}" if found[2] else who.sitting, "a token")
        for nonce in set(NONCES.findall(answer.text)):
            # A page from the browser's disk may have been shared when it was fetched.
            is_new = came is not None and came.status != 304
            if is_new or self._owners.get(nonce) != SHARED:
                wrong += self.belongs(nonce, SHARED if is_shared_page and is_new else who.sitting, "a nonce")
        return wrong


def is_whole(text):
    return '<div id="ft">' in text


def post_of(path):
    """The board and the number of the post with this path, or None and None."""
    found = POST.match(path)
    return (found[1] or found[3], int(found[2] or found[4])) if found else (None, None)


def headers(exchange, is_shared, is_html):
    came, wrong = exchange.came, []
    if came is None:
        return wrong
    if is_shared and "last-modified" in came.fields:
        wrong.append(f"a shared page has Last-Modified: {came.fields['last-modified']}")
    if is_shared and "etag" in came.fields and not OWN_TAG.match(came.fields["etag"]):
        wrong.append(f"a shared page has ETag: {came.fields['etag']}")
    if is_html and exchange.had_session and came.status == 200 and came.fields.get("cache-control") != "private, no-store":
        wrong.append(f"what answers a session is {came.fields.get('cache-control')}")
    return wrong


def words(who, answer):
    """Mistakes with texts that only some visitors may see."""
    text = SIGNED.sub("", answer.text)
    wrong = [f"it has Zq{found[1]}{found[2]}w: {around(text, found)}" for found in crew.WORD.finditer(text) if not who.owns(found[1], int(found[2]))][:1]
    wrong += [f"it has points of Zqn{found[1]}w: {around(text, found)}" for found in POINTS.finditer(text) if not who.owns("n", int(found[1]))][:1]
    wrong += [f"it has {found}" for found in set(NOBODYS_SECRET.findall(text))]
    if who.member is None:
        wrong += [f"it has {found}, which is for members" for found in set(MEMBERS_WORD.findall(text))]
        wrong += ["it has a link to log out"] if "/bbs/logout.php" in text else []
    return wrong


def page(who, path, text, state):
    """Mistakes of a page that is not this visitor's in its current state."""
    wrong = []
    if (state[1] == "1") != (who.member is not None):
        wrong.append(f"it is a page for {'members' if state[1] else 'guests'}")
    if ("mobile" if state[2] else "pc") not in who.versions:
        wrong.append(f"it is the version for {'telephones' if state[2] else 'desktops'}")
    greeted = {name for pattern in GREETINGS for name in pattern.findall(text)}
    own = {who.member.nick} if who.member else set()
    if greeted - own or (is_whole(text) and greeted != own):
        wrong.append(f"it greets {sorted(greeted)}")
    if is_whole(text) and who.member and str(who.member.number) not in POINTS.findall(text):
        wrong.append("it lacks the member's points")
    if is_whole(text) and path.startswith("/shop/"):
        wrong += shop(who, path, text)
    board, number = post_of(path)
    if board is not None:
        if '<article id="bo_v"' in text:
            wrong += [f"it lacks {word}" for word in who.words(board, number) if word not in text]
            if board in LETTERS and number <= 20 and f"본문{LETTERS[board]}{number}z" not in text:
                wrong.append("it is another post")
        elif who.words(board, number):
            wrong.append("the post is closed for whom it was opened")
    return wrong


def shop(who, path, text):
    counts = {int(count) for count in COUNTS.findall(text)}
    wrong = [f"it counts {sorted(counts)} items in the cart instead of {sorted(who.counts)}"] if not counts or counts - who.counts else []
    if viewed := {int(item) - crew.FIRST_ITEM for item in VIEWED.findall(text)} - who.viewed:
        wrong.append(f"it lists {sorted(viewed)} as viewed today")
    if path.startswith("/shop/cart.php"):
        wrong += [f"the cart lacks Zqk{item}w" for item in who.in_cart if f"Zqk{item}w" not in text]
    return wrong


def run(site, requests, seed, machines=MACHINES, network=Visitor, found_max=FOUND_MAX, acts=()):
    """Lets all visitors act until there were that many requests; returns the oracle with the mistakes that it found.

    `network` is the class that sends the visitors' requests. `acts` are called meanwhile, one after the other and evenly spread.
    """

    class Asking(Machine, network):
        """A machine whose browser's cache sends requests through `network`."""

    oracle = Oracle(found_max)
    everybody = crew.made(site, machines * MEMBERS_EACH, max(60, requests // 40), seed)
    visitors = [Asking(site, oracle, number, everybody, seed) for number in range(machines)]
    return let_act(visitors, oracle, requests, acts, tells=requests > REQUESTS)


def judge(site, seen, requests):
    blocked = counted(site, "guard_blocked")
    print(f"        {seen.sums()}; patterns that the guard has blocked: {blocked}", flush=True)
    if blocked and seen.guarded:
        print(site.kasoku("explain", site.url + seen.guarded), flush=True)
    true(not seen.found, "what was found:\n" + "\n".join(seen.found))
    true(seen.requests >= requests, f"requests: {seen.requests} of {requests}")
    true(seen.hits * 3 > seen.shareable, f"hits: {seen.hits} of {seen.shareable}")
    true(seen.of_members and seen.with_cart and seen.opened, "a visitor had nothing of their own to lose")
    true(seen.confirmed_pages and seen.from_disk and seen.went_back, "nothing came from a browser's cache")


def two_thousand_requests_of_people_who_share_machines_show_no_visitor_anything_of_another(site):
    judge(site, run(site, REQUESTS, a_seed(SEED), acts=operator(site)), REQUESTS)


SCENARIOS = [two_thousand_requests_of_people_who_share_machines_show_no_visitor_anything_of_another]


def main():
    if archive() is None:
        print("the archive of gnuboard5 is not here")
        return 0
    parser = argparse.ArgumentParser(description="The long run of the oracle.")
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--way", choices=["fastcgi", "http"], default="fastcgi")
    wanted = parser.parse_args()
    with Site() as site:
        site.serve((site.fastcgi_rules() if wanted.way == "fastcgi" else site.http_rules()) + APPLICATION)
        site.set(cf_delay_sec=-1)
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
