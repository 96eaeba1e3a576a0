"""Simulates visitors who share machines: each machine has one browser, whose cache on disk outlives the visitors who use it one after the
other.

The visitors are guests with and without sessions, and members who log in, and log out or leave without. They have carts, and enter
passwords of secret posts and comments, on desktops and telephones. What a machine's browser may show, and must show, follows from their
actions. """

import random
import re
from collections import deque

from crew import FIRST_ITEM
from guest import PHONE, Guest
from page import RELOAD
from shown import Exchange
from site_under_test import GUEST_PASSWORD, MEMBER_PASSWORD, SECRETS_BOARD
from window import DESKTOP, EACH, NAVIGATION

MEMBERS_EACH = 2
# The number of pages to which a browser can go back.
HISTORY = 8
AUTOMATIC_LOGIN = "a3e94372a6379bc1ae3698dfdf38595b"
# The share of captchas that the browser requests: each costs PHP three requests.
SHARE_OF_CAPTCHAS = 0.15
# How fast interest fades with the age of posts.
FADING = 0.3
ITEM = re.compile(r"/shop/item\.php\?it_id=(\d+)")
CHOICE = re.compile(r"[?&]device=(pc|mobile)")


class Machine(Guest):
    """One browser, and the state of the visitor who uses it."""

    def __init__(self, site, oracle, number, crew, seed):
        self.draws = random.Random(f"{seed} {number}")
        is_phone = number % 3 == 0
        address = f"127.0.{10 + number // 200}.{number % 200 + 1}"
        super().__init__(site, address=address, user_agent=PHONE if is_phone else DESKTOP, with_files=number % 6 == 1)
        self.number, self._is_phone = number, is_phone
        self.told = deque(maxlen=25)
        self._oracle, self._crew = oracle, crew
        self._members = crew.members[MEMBERS_EACH * number:MEMBERS_EACH * (number + 1)]
        self._recent = deque(["/"], maxlen=HISTORY)
        self._draws_captchas = False
        # The carts that the program keeps for members.
        self._kept = {member: set() for member in self._members}
        self._stays = self._coming = self._typing = self._putting = self._came = None
        self._sitting = 0
        self._forget_the_session()
        self.member = None
        self._choose(None)

    # -- what is known

    @property
    def sitting(self):
        """The name of the visitor who uses this browser until it is closed."""
        return f"browser {self.number}, use {self._sitting}"

    @property
    def in_cart(self):
        """The numbers of the items in the visitor's cart."""
        return self._of_the_session | (self._kept[self.member] if self.member else set())

    @property
    def is_anybody(self):
        """Whether the session contains nothing that pages show."""
        return self.member is None and not self.opened and not self.in_cart

    @property
    def counts(self):
        """The right numbers of items for a page to show. After an automatic log-in, the program loads a member's cart only on the cart's
        page."""
        return {len(self.in_cart)} if self._has_met_its_cart or not self.member else {len(self._of_the_session), len(self.in_cart)}

    @property
    def versions(self):
        """The versions of a page that are right.

        A log-out ends the session with the visitor's choice, but Kasoku's cookie keeps the choice. Then passes have the device's version,
        and shared pages the chosen one. """
        by_device = "mobile" if self._is_phone else "pc"
        return {self._choice or by_device} | ({by_device} if self._has_lost_its_choice else set())

    def owns(self, kind, number):
        """Whether the word of that kind and number is for this visitor."""
        if kind == "k":
            return number in self.in_cart or number in self.viewed
        if kind in "st":
            return (kind, number) in {(secret.kind, secret.number) for secret in self.opened}
        return self.member is not None and self.member.number == number

    def words(self, board, post):
        """The words that a post must contain for this visitor."""
        found = {secret.word for secret in self.opened if (secret.board, secret.post) == (board, post)}
        if self.member and (board, post) == ("free", self.member.commented):
            found.add(f"Zqm{self.member.number}w")
        return found

    def _forget_the_session(self):
        self.opened, self.viewed, self._of_the_session = set(), set(), set()
        self._has_met_its_cart = False

    def _choose(self, version):
        self._choice, self._has_lost_its_choice = version, False

    # -- what is asked, and learnt

    def look(self, path, typed=False, reload=False):
        """As in the base class; after a refusal the browser goes back to the page before."""
        before = self.page
        page = super().look(path, typed, reload)
        if page.alert:
            self.page = before
        return page

    def ask(self, method, path, fields=(), body=None):
        self._came = None
        had_session = self.session is not None
        if chosen := CHOICE.search(path):
            self._choose(chosen[1])
        answer = super().ask(method, path, fields, body)
        self._learn(method, path, answer)
        self._tell(Exchange(method, path, had_session, self._came, answer))
        return answer

    def came(self, method, path, answer):
        self._came = answer

    def _tell(self, exchange):
        said = exchange.came.decision.removeprefix("kasoku; ") if exchange.came else "back" if exchange.is_back else "from the browser's cache"
        status = f"{exchange.came.status} " if exchange.came else ""
        self.told.append(f"{self.sitting}, {self.member.nick if self.member else 'guest'}: {exchange.method} {exchange.path} {status}{said}")
        self._oracle.check(self, exchange)

    def _learn(self, method, path, answer):
        """Updates the state of the visitor as the program knows it, before the answer is checked."""
        route, is_sent_on = path.partition("?")[0], answer.status == 302
        self._view(path)
        if method == "GET" and RELOAD.match(answer.text) and self._stays:
            self.member = self._stays
        elif not is_sent_on:
            return
        elif route == "/bbs/login_check.php":
            self.member, self._has_met_its_cart = self._coming, True
        elif route == "/bbs/logout.php":
            self.member = self._stays = None
            self._has_lost_its_choice = True
            self._forget_the_session()
        elif route == "/bbs/password_check.php":
            self.opened.add(self._typing)
        elif route == "/shop/cartupdate.php":
            (self._kept[self.member] if self.member else self._of_the_session).add(self._putting)
            self._has_met_its_cart = True

    def _view(self, path):
        """Records that the visitor has looked at an item's page, if the path is one."""
        if item := ITEM.match(path):
            self.viewed.add(int(item[1]) - FIRST_ITEM)

    def _make_the_requests_of_the_page(self):
        self._recent.append(self.page.path)
        if self.page.path.startswith("/shop/cart.php"):
            self._has_met_its_cart = True
        if not self.page.has_captcha or self._draws_captchas or self.draws.random() < SHARE_OF_CAPTCHAS:
            super()._make_the_requests_of_the_page()

    # -- what is done

    def step(self):
        """A random act of the visitor."""
        steps = self._a_members() if self.member else self._a_guests()
        act = self.draws.choices([act for act, _ in steps], [weight for _, weight in steps])[0]
        act()

    def _a_guests(self):
        return [(self._reads, 80), (self._shops, 16), (self._goes_back, 12), (self._reloads, 4), (self._looks_at_forms, 5), (self._tries_doors, 5),
                (self._puts_into_cart, 3), (self._looks_at_cart, 3), (self._opens_a_secret, 4), (self._reads_a_secret_again, 4 if self.opened else 0),
                (self._comments, 0.5), (self._chooses, 2), (self._downloads, 1), (self._logs_in, 6), (self._leaves, 5)]

    def _a_members(self):
        return [(self._reads, 40), (self._shops, 10), (self._goes_back, 8), (self._reloads, 3), (self._looks_at_forms, 3), (self._reads_what_is_own, 6),
                (self._tries_doors, 5), (self._puts_into_cart, 2), (self._looks_at_cart, 3), (self._opens_a_secret, 2), (self._reads_own_comment, 3),
                (self._reads_a_secret_again, 2 if self.opened else 0), (self._comments, 0.7), (self._chooses, 1), (self._downloads, 1),
                (self._logs_out, 8), (self._leaves, 5)]

    def _reads(self):
        content = self._site.content
        lists = ["/", "/", "/bbs/board.php?bo_table=free", "/bbs/board.php?bo_table=free", "/free", "/bbs/board.php?bo_table=free&page=2",
                 "/bbs/board.php?bo_table=notice", "/bbs/board.php?bo_table=qa", "/bbs/board.php?bo_table=gallery", "/bbs/group.php?gr_id=community",
                 "/bbs/new.php", "/bbs/faq.php", f"/bbs/content.php?co_id={content['content']}", f"/bbs/board.php?bo_table={SECRETS_BOARD}",
                 "/bbs/search.php?sfl=wr_subject&stx=F1w", "/bbs/rss.php?bo_table=free", "/?utm_source=mail"]
        if self.draws.random() < 0.45:
            return self.look(self.draws.choice(lists), typed=self._is_typed())
        board = self.draws.choice(["free"] * 6 + ["notice"] * 2 + ["b2026k11test"])
        posts = content["posts"][board]
        return self._reads_post(board, posts[-1 - min(int(self.draws.expovariate(FADING)), len(posts) - 1)])

    def _reads_post(self, board, number):
        address = f"/{board}/{number}" if self.draws.random() < 0.2 else f"/bbs/board.php?bo_table={board}&wr_id={number}"
        return self.look(address, typed=self._is_typed())

    def _is_typed(self):
        return self.draws.random() < 0.3

    def _shops(self):
        pages = ["/shop/", "/shop/", "/shop/list.php?ca_id=10", "/shop/list.php?ca_id=20", "/shop/listtype.php?type=1", "/shop/list-10"]
        items = [f"/shop/item.php?it_id={item}" for item in self._site.content["items"]]
        self.look(self.draws.choice(pages + items), typed=self._is_typed())

    def _goes_back(self):
        """Goes back to a page that the browser has stored, if there is one."""
        left = [path for path in self._recent if self._left(path) is not None]
        if not left:
            return self.look(self.draws.choice(self._recent), typed=True)
        path = self.draws.choice(left)
        self._view(path)
        self._tell(Exchange("GET", path, self.session is not None, None, self._left(path), is_back=True))

    def _left(self, path):
        request = {name.lower(): value for name, value in {**EACH, **NAVIGATION}.items()}
        return self.cache.left(path, request | {"cookie": self._sent_to(path), "user-agent": self.user_agent})

    def _reloads(self):
        self.look(self._recent[-1], typed=True, reload=True)

    def _looks_at_forms(self):
        self.look(self.draws.choice(["/bbs/login.php", "/bbs/write.php?bo_table=free", "/free/write", "/bbs/register.php", "/bbs/password_lost.php"]))

    def _tries_doors(self):
        """Requests pages that are for members or for other visitors, or that don't exist."""
        secret = self.draws.choice(self._crew.secrets)
        item = self._site.content["items"][0]
        self.look(self.draws.choice(["/bbs/board.php?bo_table=memonly&wr_id=1", "/memonly/2", "/bbs/point.php", "/bbs/memo.php", "/shop/mypage.php",
                                     f"/bbs/board.php?bo_table={secret.board}&wr_id={secret.post}", "/bbs/qalist.php", "/bbs/board.php?bo_table=nosuch",
                                     f"/bbs/password.php?w=sc&bo_table=free&wr_id={secret.id}", f"/shop/itemuse.php?it_id={item}",
                                     "/shop/orderform.php", "/bbs/board.php?bo_table=qa&wr_id=1"]), typed=True)

    def _reads_what_is_own(self):
        self.look(self.draws.choice(["/bbs/point.php", "/bbs/memo.php", "/shop/mypage.php", "/bbs/scrap.php", "/bbs/member_confirm.php?url=register_form.php",
                                     "/shop/wishlist.php", "/shop/orderinquiry.php", "/bbs/qalist.php", "/bbs/qawrite.php"]), typed=True)

    def _reads_own_comment(self):
        self._reads_post("free", self.member.commented)

    def _puts_into_cart(self):
        if not self._crew.items:
            return self._looks_at_cart()
        self._putting = self._crew.items.pop()
        self.put_into_cart(str(FIRST_ITEM + self._putting), quantity=self.draws.randrange(1, 9))
        if self.draws.random() < 0.7:
            self._shops()

    def _looks_at_cart(self):
        self.look("/shop/cart.php", typed=True)

    def _opens_a_secret(self):
        self._typing = self.draws.choice(self._crew.secrets)
        what = "sc" if self._typing.kind == "s" else "s"
        form = self.look(f"/bbs/password.php?w={what}&bo_table={self._typing.board}&wr_id={self._typing.id}", typed=True).form("fboardpassword")
        self.submit(form, wr_password=GUEST_PASSWORD)

    def _reads_a_secret_again(self):
        secret = self.draws.choice(sorted(self.opened, key=lambda secret: secret.number))
        self._reads_post(secret.board, secret.post)

    def _comments(self):
        self._draws_captchas = True
        try:
            text = f"{self.draws.choice(['바람', '파도', '안개'])}에 대한 댓글"
            self.comment("free", self.draws.choice(self._site.content["posts"]["free"]), text, password=GUEST_PASSWORD)
        finally:
            self._draws_captchas = False

    def _chooses(self):
        self.look(f"/?device={self.draws.choice(['pc', 'mobile'])}", typed=True)

    def _downloads(self):
        number, files = self.draws.choice(sorted(self._site.content["attachments"].items()))
        place = self.draws.randrange(len(files))
        found = len(self.download("free", number, place).bytes)
        if found != files[place]["bytes"]:
            raise AssertionError(f"a file of {files[place]['bytes']} bytes has {found}")

    def _logs_in(self):
        self._coming = self.draws.choice(self._members)
        stays = self.draws.random() < 0.3
        self._stays = self._coming if stays else None
        self.log_in(self._coming.name, MEMBER_PASSWORD, stays=stays)

    def _logs_out(self):
        self.log_out()

    def _leaves(self):
        """Closes the browser; a cookie of the last visitor may log the next one in."""
        self.close_browser()
        if self.draws.random() < 0.3:
            self.forget()
        self._sitting += 1
        self._forget_the_session()
        self._choose(None)
        self._stays = self._stays if self.cookie(AUTOMATIC_LOGIN) else None
        self.member = self._stays
        # The next visitor opens pages that the last one has read.
        if self.draws.random() < 0.6:
            self.draws.choice([self._goes_back, self._reloads])()
