"""Simulates visitors of Rhymix who share machines: each machine has one browser, which several persons use one after the other.

The visitors are guests and members, on desktops and telephones, who read, write, comment, edit, delete, and read secret posts by password.
Each text for one visitor contains a unique word of the form `Zqs12w`: n is a member's nick, i a member's id, s a secret post; those with p and
c are posts and comments for all.
"""

import itertools
import random
from collections import deque
from dataclasses import dataclass

from install import SKINS
from people import CHROME, DESKTOP, PHONE, TOKEN, Person
from shown import Exchange

MEMBERS_EACH = 2
# The number of pages to which a browser can go back.
HISTORY = 8
# How fast interest fades with the age of posts.
FADING = 0.3
NUMBERS = itertools.count(100)
BOARDS = list(SKINS)
LISTS = ["/", "/", "/board", "/board", "/qna", "/notice", "/board?page=2", "/index.php?mid=qna", "/notice?utm_source=mail",
         "/board?search_target=title&search_keyword=harbour"]
MOBILE, DESKTOPS = "?m=1", "?m=0"


@dataclass(frozen=True)
class Member:
    number: int

    @property
    def name(self):
        return f"zqi{self.number}w"

    @property
    def nick(self):
        return f"Zqn{self.number}w"


@dataclass(frozen=True)
class Post:
    board: str
    number: str
    word: str

    @property
    def path(self):
        return f"/{self.board}/{self.number}"


class Crew:
    """What the visitors of one run have in common."""

    def __init__(self, site, members):
        self.members = [Member(next(NUMBERS)) for _ in range(members)]
        site.add_members({member.name: member.nick for member in self.members})
        self.posts = site.content["posts"]
        # The secret posts of guests.
        self.secrets = [a_secret(Person(site), board) for board in BOARDS]
        # A text of each post for all, by its number.
        self.texts = {str(post): f"Text of post {rank + 1}, about" for posts in self.posts.values() for rank, post in enumerate(posts)}


def a_secret(author, board):
    word = f"Zqs{next(NUMBERS)}w"
    return Post(board, str(author.write(board, "A secret", f"<p>{word}</p>", is_secret=True)), word)


class Machine(Person):
    """One browser, and the state of the visitor who uses it."""

    def __init__(self, site, oracle, crew, number, seed):
        self.draws = random.Random(f"{seed} {number}")
        super().__init__(site, address=f"127.0.5.{number + 1}", user_agent=(PHONE, DESKTOP, CHROME)[number % 3])
        self._oracle, self._crew, self._number = oracle, crew, number
        self._members = {member: set() for member in crew.members[MEMBERS_EACH * number:MEMBERS_EACH * (number + 1)]}
        self.told, self._recent = deque(maxlen=25), deque(["/"], maxlen=HISTORY)
        self._came = self.coming = None
        self._sitting = 0
        self._starts_anew()

    # -- what is known

    @property
    def sitting(self):
        """The name of the visitor, until the log-out or the end of the browser."""
        return f"browser {self._number}, use {self._sitting}"

    @property
    def opened(self):
        """The secret posts that the visitor may read, and must see."""
        return self._opened | self._members.get(self.member, set())

    @property
    def is_mobile(self):
        """Whether the visitor's pages are for telephones. Kasoku keeps a choice in a cookie, and so does Rhymix (rx_uatype)."""
        return self._number % 3 == 0 if self._choice is None else self._choice == MOBILE

    def owns(self, kind, number):
        """Whether the word of that kind and number is for this visitor."""
        if kind == "s":
            return f"Zqs{number}w" in {post.word for post in self.opened}
        return self.member is not None and self.member.number == number

    def text_of(self, number):
        """A text that the post with this number must have, if it is known."""
        return next((post.word for post in self.opened if post.number == number), self._crew.texts.get(number))

    def _starts_anew(self):
        self._sitting += 1
        self.member = self._choice = None
        self._ends_session()

    def _ends_session(self):
        self._opened, self._written = set(), []

    # -- what is asked

    def ask(self, method, path, fields=(), body=None):
        had_session = self.cookie("PHPSESSID") is not None
        if path.endswith((MOBILE, DESKTOPS)):
            self._choice = path[-4:]
        self._came = super().ask(method, path, fields, body)
        if self._came.status != 304:
            self._tell(Exchange(method, path, had_session, self._came, self._came))
        return self._came

    def look(self, path):
        self._came, had_session = None, self.cookie("PHPSESSID") is not None
        answer = super().look(path)
        if self._came is not answer:
            self._tell(Exchange("GET", path, had_session, self._came, answer))
        return self._shows(path, answer)

    def _shows(self, path, answer):
        self._recent.append(path)
        if found := TOKEN.search(answer.text):
            self.token = found[1]
        return answer

    def _tell(self, exchange):
        said = f"{exchange.came.status} {exchange.came.decision}" if exchange.came else "back" if exchange.is_back else "from the browser's cache"
        self.told.append(f"{self.sitting}, {self.member.nick if self.member else 'guest'}: {exchange.method} {exchange.path} {said}")
        self._oracle.check(self, exchange)

    # -- what is done

    def step(self):
        """A random act of the visitor."""
        own = 3 if self.opened else 0
        steps = {self._reads: 60, self._goes_back: 8, self._reads_what_is_own: own, self._looks_at_forms: 4, self._tries_doors: 5, self._opens_a_secret: 3,
                 self._comments: 1, self._writes: 0.5, self._writes_a_secret: 0.4, self._edits: 0.5 if self._written else 0,
                 self._deletes: 1 if self._written else 0, self._chooses: 4, self._leaves: 5, self._logs_out if self.member else self._logs_in: 6}
        self.draws.choices(list(steps), list(steps.values()))[0]()

    def _reads(self):
        if self.draws.random() < 0.45:
            return self.look(self.draws.choice(LISTS))
        board = self.draws.choice(BOARDS)
        number = self._a_post(board)
        return self.look(f"/index.php?mid={board}&document_srl={number}" if self.draws.random() < 0.2 else f"/{board}/{number}")

    def _a_post(self, board):
        posts = self._crew.posts[board]
        return posts[-1 - min(int(self.draws.expovariate(FADING)), len(posts) - 1)]

    def _goes_back(self):
        """Goes back to a page that the browser has stored, or else requests it."""
        path = self.draws.choice(self._recent)
        left = self.cache.left(path, {"cookie": self._sent_to(path)} if self._sent_to(path) else {})
        if left is None:
            return self.look(path)
        self._tell(Exchange("GET", path, self.cookie("PHPSESSID") is not None, None, left, is_back=True))
        return self._shows(path, left)

    def _reads_what_is_own(self):
        self.look(self.draws.choice(sorted(post.path for post in self.opened)))

    def _looks_at_forms(self):
        self.look(self.draws.choice(["/index.php?mid=board&act=dispBoardWrite", "/index.php?mid=member&act=dispMemberLoginForm",
                                     "/index.php?mid=member&act=dispMemberSignUpForm"]))

    def _tries_doors(self):
        """Requests pages that are for members or other visitors, or that don't exist."""
        secrets = [post.path for post in self._crew.secrets]
        self.look(self.draws.choice(["/index.php?mid=member&act=dispMemberInfo"] * 2 + ["/nosuch", "/board/999999"] + secrets[-6:]))

    def _opens_a_secret(self):
        if self._crew.secrets and not self.is_member:
            post = self.draws.choice(self._crew.secrets[-12:])
            self.look(post.path)
            self.give_password(post.board, document_srl=post.number)
            self._opened.add(post)
            self.look(post.path)

    def _comments(self):
        board, word = self.draws.choice(BOARDS), f"Zqc{next(NUMBERS)}w"
        number = self._a_post(board)
        self.comment(board, number, word)
        answer = self.look(f"/{board}/{number}")
        # A page for telephones has no comments, and one for desktops has the last ones.
        if not self.is_mobile and "cpage=" not in answer.text and word not in answer.text:
            raise AssertionError(f"the author of {word} does not see it in /{board}/{number}: {answer.decision}")

    def _writes(self):
        board, word = self.draws.choice(BOARDS), f"Zqp{next(NUMBERS)}w"
        post = Post(board, str(self.write(board, "A post", f"<p>{word}</p>")), word)
        self._crew.texts[post.number] = word
        self._written.append(post)
        self._sees(post.path, word)

    def _writes_a_secret(self):
        post = a_secret(self, self.draws.choice(BOARDS))
        (self._members[self.member] if self.member else self._opened).add(post)
        if not self.member:
            self._crew.secrets.append(post)
        self._sees(post.path, post.word)

    def _edits(self):
        post, title = self.draws.choice(self._written), f"Edited {next(NUMBERS)}"
        self.look(post.path)
        self.give_password(post.board, document_srl=post.number)
        self.write(post.board, title, f"<p>{post.word}</p>", post=post.number)
        self._sees(post.path, title)

    def _deletes(self):
        post = self._written.pop()
        self.delete(post.board, post.number)
        self._sees(post.path, post.word, is_gone=True)

    def _sees(self, path, text, is_gone=False):
        answer = self.look(path)
        if (text in answer.text) == is_gone:
            raise AssertionError(f"the author {'still sees' if is_gone else 'does not see'} {text} in {path}: {answer.decision}")

    def _chooses(self):
        self.look(self.draws.choice(["/", "/board", "/qna"]) + self.draws.choice([MOBILE, DESKTOPS]))

    def _logs_in(self):
        self.coming = self.draws.choice(list(self._members))
        self.log_in(self.coming.name)
        # A guest's post needs its password, which a member is not asked for.
        self.member, self._written = self.coming, []
        self.look("/board")

    def _logs_out(self):
        self.log_out()
        self._sitting += 1
        self.member = None
        self._ends_session()

    def _leaves(self):
        """Closes the browser; the next visitor opens a page that the last one has read."""
        self.close_windows()
        self.is_member = False
        self._starts_anew()
        self._goes_back()
