"""People who share machines: each machine has one browser, whose cache on disk outlives the people who use it one after the other.

They are guests with and without sessions, members who log in, log out, and leave without; with carts, with passwords of secret posts and comments
typed, on desktops and telephones. Each text that is for some of them alone has a word of the form `Zqk12w` that is nowhere else: a letter for what it
is, and the number of whose it is. What a machine's browser may be shown, and has to be, follows from what was done in front of it.
"""

import itertools
import json
import random
import re
from collections import deque
from dataclasses import dataclass

from browser_cache import BrowserCache
from guest import PHONE, Guest
from page import RELOAD
from site_under_test import GUEST_PASSWORD, MEMBER_PASSWORD, SECRETS_BOARD
from window import DESKTOP, EACH, NAVIGATION

# Three digits, so that a sum of points in millions is nobody else's. They go on over all crews of a site, and of a process.
NUMBERS = itertools.count(100)
WORD = re.compile(r"[Zz]q([a-z])(\d+)w")
MEMBERS_EACH = 2
SECRET_COMMENTS, SECRET_POSTS = 24, 6
FIRST_ITEM = 1790000000
# What a browser can go back to.
HISTORY = 8
AUTOMATIC_LOGIN = "a3e94372a6379bc1ae3698dfdf38595b"
# How often a page's captcha is drawn: each costs PHP three requests.
SHARE_OF_CAPTCHAS = 0.25
ITEM = re.compile(r"/shop/item\.php\?it_id=(\d+)")
CHOICE = re.compile(r"[?&]device=(pc|mobile)")

# Rows like others, but for what is said. A column that is null is left to the database.
POPULATION = """
function another($table, $where, $changes)
{
    $pairs = [];
    foreach ($changes + sql_fetch("select * from `$table` where $where", true) as $name => $value) {
        if ($value !== null) {
            $pairs[] = "`$name` = '" . sql_real_escape_string($value) . "'";
        }
    }
    sql_query("insert into `$table` set " . implode(', ', $pairs), true);
    return sql_insert_id();
}

function secret_comment($number, $word, $parent, $who)
{
    global $values;
    return another('g5_write_free', "wr_id = {$values['comment']}", ['wr_id' => null, 'wr_parent' => $parent, 'wr_num' => -$parent,
        'wr_comment' => $number, 'wr_content' => $word, 'mb_id' => $who]);
}

$made = ['members' => [], 'comments' => [], 'posts' => [], 'items' => []];
foreach ($values['members'] as [$n, $parent]) {
    another($g5['member_table'], "mb_id = 'member1'", ['mb_no' => null, 'mb_id' => "zqi{$n}w", 'mb_nick' => "Zqn{$n}w", 'mb_name' => "Zqr{$n}w",
        'mb_email' => "zqe{$n}w@example.org", 'mb_point' => 0]);
    insert_point("zqi{$n}w", $n * 1000000 + 50000, "Zqp{$n}w", '@member', "zqi{$n}w", 'once');
    secret_comment($n, "Zqm{$n}w", $parent, "zqi{$n}w");
}
foreach ($values['comments'] as [$n, $parent]) {
    $made['comments'][] = [$n, $parent, secret_comment($n, "Zqs{$n}w", $parent, '')];
}
foreach ($values['posts'] as $n) {
    $id = another("g5_write_{$values['board']}", "wr_id = {$values['post']}", ['wr_id' => null, 'wr_num' => -$n, 'wr_subject' => "상담 $n",
        'wr_seo_title' => "sangdam-$n", 'wr_content' => "Zqt{$n}w"]);
    sql_query("update g5_write_{$values['board']} set wr_parent = wr_id where wr_id = $id", true);
    $made['posts'][] = [$n, $id];
}
foreach ($values['items'] as $n) {
    // A category of its own: an item's page names the next of its category.
    $category = '9' . str_pad(base_convert($n, 10, 36), 3, '0', STR_PAD_LEFT);
    another($g5['g5_shop_category_table'], "ca_id = '20'", ['ca_id' => $category, 'ca_name' => '창고', 'ca_order' => 9]);
    another($g5['g5_shop_item_table'], "it_id = '{$values['item']}'", ['it_id' => $values['first'] + $n, 'ca_id' => $category, 'it_name' => "Zqk{$n}w",
        'it_seo_title' => "changgo-$n", 'it_basic' => '', 'it_explan' => '', 'it_mobile_explan' => '', 'it_type1' => 0, 'it_type2' => 0,
        'it_type3' => 0, 'it_type4' => 0, 'it_type5' => 0]);
}
echo json_encode($made);
"""


@dataclass(frozen=True)
class Member:
    number: int
    # The post with a secret comment of this member.
    commented: int

    @property
    def name(self):
        return f"zqi{self.number}w"

    @property
    def nick(self):
        return f"Zqn{self.number}w"


@dataclass(frozen=True)
class Secret:
    """A comment or a post that is shown to who has typed its password."""

    kind: str
    number: int
    board: str
    # The post, and the comment on it where it is one.
    post: int
    id: int


@dataclass
class Crew:
    """What was made for one run."""

    members: list
    secrets: list
    # Numbers of items that nobody has looked at yet: each is for one cart.
    items: list


def crew(site, machines, items, seed):
    """Makes members, secrets and items that no run had before."""
    draws = random.Random(seed)
    posts = site.content["posts"]["free"]

    def numbers(count):
        return [next(NUMBERS) for _ in range(count)]

    members = [(number, draws.choice(posts)) for number in numbers(machines * MEMBERS_EACH)]
    items = numbers(items)
    if items[-1] > 46655 or members[-1][0] > 999:
        raise ValueError("more members or items than there are numbers for")
    made = json.loads(site.php(POPULATION, members=members, comments=[(number, draws.choice(posts)) for number in numbers(SECRET_COMMENTS)],
                               posts=numbers(SECRET_POSTS), items=items, comment=site.content["secret_comment"], post=site.content["secret_post"],
                               board=SECRETS_BOARD, item=site.content["items"][1], first=FIRST_ITEM))
    secrets = [Secret("s", number, "free", parent, comment) for number, parent, comment in made["comments"]]
    secrets += [Secret("t", number, SECRETS_BOARD, post, post) for number, post in made["posts"]]
    return Crew([Member(*member) for member in members], secrets, items)


class Disk(BrowserCache):
    """A browser's cache that is also asked for pages one goes back to."""

    def left(self, url, request):
        """What Chromium shows of this page when one goes back: what is stored, unasked, unless `Vary` says that it is another's."""
        stored = self._stored.get(url)
        return stored.answer if stored is not None and stored.fits(request) else None


@dataclass
class Exchange:
    """What was asked for, and what the page gets of it. `came` is what came over the network, if anything did."""

    method: str
    path: str
    had_session: bool
    came: object
    answer: object
    is_back: bool = False


class Machine(Guest):
    """One browser, and what is known of the one who uses it."""

    def __init__(self, site, oracle, number, crew, seed):
        self.draws = random.Random(f"{seed} {number}")
        is_phone = number % 3 == 0
        address = f"127.0.{10 + number // 200}.{number % 200 + 1}"
        super().__init__(site, address=address, user_agent=PHONE if is_phone else DESKTOP, cache=Disk(), with_files=number % 6 == 1)
        self.number, self.is_phone = number, is_phone
        self.told = deque(maxlen=25)
        self._oracle, self._crew = oracle, crew
        self._members = crew.members[MEMBERS_EACH * number:MEMBERS_EACH * (number + 1)]
        self._recent = deque(["/"], maxlen=HISTORY)
        self._draws_captchas = False
        # Whose carts are kept by the program.
        self._kept = {member: set() for member in self._members}
        self._stays = self._coming = self._typing = self._putting = self._came = None
        self._sitting = 0
        self._forget_the_session()
        self.member = None
        self.choice = None

    # -- what is known

    @property
    def sitting(self):
        """Whoever uses this browser until it is closed."""
        return f"browser {self.number}, use {self._sitting}"

    @property
    def in_cart(self):
        """The numbers of the items in it."""
        return self._of_the_session | (self._kept[self.member] if self.member else set())

    @property
    def counts(self):
        """How many items a cart may be said to have. After an automatic log-in, it is there once its page was looked at."""
        return {len(self.in_cart)} if self._has_met_its_cart or not self.member else {len(self._of_the_session), len(self.in_cart)}

    @property
    def is_mobile(self):
        return self.choice == "mobile" if self.choice else self.is_phone

    def owns(self, kind, number):
        """Whether that word is for this visitor."""
        if kind == "k":
            return number in self.in_cart or number in self.viewed
        if kind in "st":
            return (kind, number) in {(secret.kind, secret.number) for secret in self.opened}
        return self.member is not None and self.member.number == number

    def words(self, board, post):
        """Words that a post has to have for this visitor."""
        found = {f"Zq{secret.kind}{secret.number}w" for secret in self.opened if (secret.board, secret.post) == (board, post)}
        if self.member and (board, post) == ("free", self.member.commented):
            found.add(f"Zqm{self.member.number}w")
        return found

    def _forget_the_session(self):
        self.opened, self.viewed, self._of_the_session = set(), set(), set()
        self._has_met_its_cart = False

    # -- what is asked, and learnt

    def ask(self, method, path, fields=(), body=None):
        self._came = None
        had_session = self.session is not None
        if chosen := CHOICE.search(path):
            self.choice = chosen[1]
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
        """What the program knows now. It has to be known before the answer is looked into."""
        route, is_sent_on = path.partition("?")[0], answer.status == 302
        if item := ITEM.match(path):
            self.viewed.add(int(item[1]) - FIRST_ITEM)
        if method == "GET" and RELOAD.match(answer.text) and self._stays:
            self.member = self._stays
        elif not is_sent_on:
            return
        elif route == "/bbs/login_check.php":
            self.member, self._has_met_its_cart = self._coming, True
        elif route == "/bbs/logout.php":
            self.member = self._stays = None
            self._forget_the_session()
        elif route == "/bbs/password_check.php":
            self.opened.add(self._typing)
        elif route == "/shop/cartupdate.php":
            (self._kept[self.member] if self.member else self._of_the_session).add(self._putting)
            self._has_met_its_cart = True

    def _make_the_requests_of_the_page(self):
        self._recent.append(self.page.path)
        if self.page.path.startswith("/shop/cart.php"):
            self._has_met_its_cart = True
        if not self.page.has_captcha or self._draws_captchas or self.draws.random() < SHARE_OF_CAPTCHAS:
            super()._make_the_requests_of_the_page()

    # -- what is done

    def step(self):
        """Something that somebody in front of this machine might do next."""
        steps = self._a_members() if self.member else self._a_guests()
        act = self.draws.choices([act for act, _ in steps], [weight for _, weight in steps])[0]
        act()

    def _a_guests(self):
        return [(self._reads, 55), (self._shops, 14), (self._goes_back, 8), (self._reloads, 4), (self._looks_at_forms, 5), (self._tries_doors, 5),
                (self._puts_into_cart, 3), (self._looks_at_cart, 3), (self._opens_a_secret, 4), (self._reads_a_secret_again, 4 if self.opened else 0),
                (self._comments, 0.7), (self._chooses, 2), (self._downloads, 1), (self._logs_in, 6), (self._leaves, 5)]

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
        return self._reads_post(board, self.draws.choice(content["posts"][board]))

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
        path = self.draws.choice(self._recent)
        request = {name.lower(): value for name, value in {**EACH, **NAVIGATION}.items()}
        request |= {"cookie": self._sent_to(path), "user-agent": self.user_agent}
        if (left := self.cache.left(path, request)) is None:
            return self.look(path, typed=True)
        self._tell(Exchange("GET", path, self.session is not None, None, left, is_back=True))

    def _reloads(self):
        self.look(self._recent[-1], reload=True)

    def _looks_at_forms(self):
        self.look(self.draws.choice(["/bbs/login.php", "/bbs/write.php?bo_table=free", "/free/write", "/bbs/register.php", "/bbs/password_lost.php"]))

    def _tries_doors(self):
        """What is for members, for others, or for nobody."""
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
        """Closes the browser; the next one to open it may be logged in by what the last one left."""
        self.close_browser()
        if self.draws.random() < 0.3:
            self.forget()
        self._sitting += 1
        self._forget_the_session()
        self.choice = None
        self._stays = self._stays if self.cookie(AUTOMATIC_LOGIN) else None
        self.member = self._stays
