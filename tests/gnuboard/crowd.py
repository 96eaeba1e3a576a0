"""Simulates sixty visitors of a board and its shop, and classifies each request: an anonymous page, or a request that must reach the
program.

Most are guests who read, on desktops and telephones; some write, comment or fill a cart; one in eight is a member. They take turns, a step
each, in an order that is the same in each run. They send the requests that a browser would send (window.py), captchas included.

The shares of activities are chosen so that Kasoku before harmless URLs and tags (commit 0982f37) had about the figures that other visitors
of the real program gave: PHP got 2,234 requests, and 2,150 without Kasoku (others: 2,224 to 2,280, and 2,071 to 2,126); 31 % of the
anonymous pages were hits (33 to 37), and 81 % on boards where guests may not comment (81 to 90). """

import random
import time
from dataclasses import dataclass, field

from guest import PHONE, Guest, Refused
from site_under_test import GUEST_PASSWORD, MEMBER_PASSWORD, MEMBERS
from window import DESKTOP

VISITORS = 60
# Anonymous pages of a whole crowd.
PAGES = 740
# The share of the front page and lists; the other pages are posts.
SHARE_OF_LISTS = 0.45
# How fast interest fades with the age of posts.
FADING = 0.9
# The share of writers who also write a post beside their comment, and the shares of members who comment and who write posts.
WRITERS_POSTS, MEMBERS_COMMENTS, MEMBERS_POSTS = 0.2, 0.5, 0.25


@dataclass
class Sums:
    """The requests of a crowd, by kind."""

    anonymous: int = 0
    hits: int = 0
    shop: int = 0
    shop_hits: int = 0
    # Requests that only the program can answer: captchas, tokens, writes, log-ins, carts, requests of members.
    must_pass: int = 0
    refused: int = 0
    members_ms: list = field(default_factory=list)
    decisions: dict = field(default_factory=dict)

    def add(self, other):
        for name in ("anonymous", "hits", "shop", "shop_hits", "must_pass", "refused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.members_ms += other.members_ms
        for key, number in other.decisions.items():
            self.decisions[key] = self.decisions.get(key, 0) + number


class Counted(Guest):
    """A visitor whose requests are counted."""

    def __init__(self, site, sums, **more):
        super().__init__(site, **more)
        self.sums = sums
        self.is_member = self.has_cart = False
        self._begun = 0.0
        self._is_reading = False

    def reads(self, path):
        """Reads a page, which counts as anonymous unless this visitor is a member or has a cart."""
        self._is_reading = True
        try:
            return self.look(path)
        finally:
            self._is_reading = False

    def ask(self, method, path, fields=(), body=None):
        self._begun = time.perf_counter()
        return super().ask(method, path, fields, body)

    def came(self, method, path, answer):
        if is_file(path):
            return
        is_page = method == "GET" and self._is_reading and is_shared(path)
        is_shops = path.startswith("/shop/")
        if not is_page or self.is_member or (self.has_cart and is_shops):
            self.sums.must_pass += 1
            if self.is_member and is_page:
                self.sums.members_ms.append((time.perf_counter() - self._begun) * 1000)
            return
        self.sums.anonymous += 1
        self.sums.hits += answer.is_hit
        if is_shops:
            self.sums.shop += 1
            self.sums.shop_hits += answer.is_hit
        if not answer.is_hit:
            key = f"{path.split('=')[0]} {answer.decision.partition('; rule')[0]}"
            self.sums.decisions[key] = self.sums.decisions.get(key, 0) + 1


def is_file(path):
    return path.partition("?")[0].rsplit(".", 1)[-1] in ("css", "js", "png", "jpg", "gif", "ico", "webp", "mp3")


def is_shared(path):
    """Whether guests share the page: lists, posts, front pages, items."""
    path = path.partition("?")[0]
    return path == "/" or path in ("/bbs/board.php", "/bbs/group.php", "/bbs/new.php", "/bbs/content.php", "/bbs/faq.php", "/shop/", "/shop/list.php",
                                   "/shop/item.php")


class Crowd:
    """A crowd of visitors. Each visitor is a generator that makes a step at each `next`."""

    def __init__(self, site, port=None, visitors=VISITORS, pages=PAGES, seed=17, made=Counted):
        self._site, self._port, self._made = site, port, made
        self._random = random.Random(seed)
        self.sums = Sums()
        self.windows = []
        self._left = pages
        posts = site.content["posts"]
        self._posts = [("free", number) for number in posts["free"]] + [("notice", number) for number in posts["notice"][:4]]
        self._pages = ["/", "/bbs/board.php?bo_table=free", "/bbs/board.php?bo_table=notice", "/bbs/board.php?bo_table=free&page=2",
                       "/bbs/board.php?bo_table=qa", "/bbs/board.php?bo_table=gallery", "/bbs/group.php?gr_id=community", "/bbs/new.php",
                       f"/bbs/content.php?co_id={site.content['content']}"]
        self._items = site.content["items"]
        self._visitors = visitors

    def run(self):
        """Runs all visitors to their ends; returns the sums."""
        walking = [self._visitor(number) for number in range(self._visitors)]
        while walking:
            self._random.shuffle(walking)
            walking = [one for one in walking if next(one, None) is not None]
        return self.sums

    def _visitor(self, number):
        is_phone = number % 3 == 0 and number % 8 != 3
        window = self._made(self._site, self.sums, address=f"127.0.1.{number + 1}", user_agent=PHONE if is_phone else DESKTOP, port=self._port)
        self.windows.append(window)
        if number % 8 == 7:
            steps = self._member(window, list(MEMBERS)[number // 8 % len(MEMBERS)])
        elif number % 8 == 3:
            steps = self._shopper(window, fills_a_cart=number % 16 == 3)
        elif number % 8 == 5:
            steps = self._writer(window)
        else:
            steps = self._reader(window)
        for _ in steps:
            yield True
        window.close()

    def _reader(self, window):
        while self._left > 0:
            self._read(window)
            yield

    def _read(self, window):
        self._left -= 1
        window.reads(self._a_page())

    def _a_page(self):
        """A random page; the newest posts, the front page and the lists come most often."""
        if self._random.random() < SHARE_OF_LISTS:
            return self._random.choice(self._pages[:3] * 3 + self._pages)
        rank = min(int(self._random.expovariate(FADING)), len(self._posts) - 1)
        board, number = self._posts[-1 - rank]
        return f"/bbs/board.php?bo_table={board}&wr_id={number}"

    def _writer(self, window):
        for _ in range(3):
            self._read(window)
            yield
        board, number = self._random.choice(self._posts[-8:])
        self._asks(lambda: window.comment("free", self._random.choice(self._site.content["posts"]["free"][-6:]), "댓글", password=GUEST_PASSWORD), window)
        yield
        if self._random.random() < WRITERS_POSTS:
            self._asks(lambda: window.write("free", f"새 글 {number}", "내용", password=GUEST_PASSWORD), window)
            yield
        yield from self._reader(window)

    def _shopper(self, window, fills_a_cart):
        pages = ["/shop/", "/shop/list.php?ca_id=10"] + [f"/shop/item.php?it_id={item}" for item in self._items]
        for _ in range(8):
            if self._left <= 0:
                return
            self._left -= 1
            window.reads(self._random.choice(pages))
            yield
        if fills_a_cart:
            self._asks(lambda: window.put_into_cart(self._items[1]), window)
            window.has_cart = True
            yield
            window.reads("/shop/")
            yield
        yield from self._reader(window)

    def _member(self, window, member):
        for _ in range(2):
            self._read(window)
            yield
        window.is_member = True
        window.log_in(member, MEMBER_PASSWORD)
        yield
        for step in range(10):
            window.reads(self._a_page())
            yield
            if step == 4 and self._random.random() < MEMBERS_COMMENTS:
                self._asks(lambda: window.comment("free", self._random.choice(self._site.content["posts"]["free"][-6:]), "회원의 댓글"), window)
                yield
            if step == 7 and self._random.random() < MEMBERS_POSTS:
                self._asks(lambda: window.write("free", "회원의 글", "내용"), window)
                yield
        window.log_out()
        window.is_member = False
        yield

    def _asks(self, act, window):
        try:
            act()
        except Refused:
            window.sums.refused += 1
