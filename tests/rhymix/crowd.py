"""Tests how much work Kasoku spares PHP with a crowd on Rhymix: hits of anonymous pages, requests that reach PHP, and pages that were given to the
wrong visitor. A crowd reads all boards; then one reads each board alone, since each has another skin.

The visitors are those of tests/gnuboard/crowd.py: as many, with the same shares of lists, writers and members, and the same interest in new posts.
"""

import random
import re
from dataclasses import dataclass

from install import SKINS
from people import CHROME, DESKTOP, MEMBERS_MARK, PHONE, TOKEN, Person
from scenarios import equal, true
from servers import counted

VISITORS = 60
PAGES = 740
# Of one board alone, which then gets all that the crowd writes.
PAGES_OF_A_BOARD = 1000
# The share of the front page and lists; the other pages are posts.
SHARE_OF_LISTS = 0.45
# How fast interest fades with the age of posts.
FADING = 0.9
# The share of writers who also write a post beside their comment, and the shares of members who comment and who write posts.
WRITERS_POSTS, MEMBERS_COMMENTS, MEMBERS_POSTS = 0.2, 0.5, 0.25
MEMBERS_PAGES = 10
HITS_MIN = 0.85
SETTINGS = [(False, False), (True, True)]


@dataclass
class Sums:
    """The requests of a crowd, by kind."""

    anonymous: int = 0
    hits: int = 0
    must_pass: int = 0
    members: int = 0

    def __post_init__(self):
        self.wrong = []
        self.misses = {}


class Counted(Person):
    """A visitor whose requests are counted and whose pages are judged."""

    def __init__(self, site, sums, **more):
        super().__init__(site, **more)
        self._sums = sums

    def came(self, method, path, answer):
        super().came(method, path, answer)
        sums = self._sums
        if method == "POST" or self.is_member or "act=" in path:
            sums.must_pass += 1
            if self.is_member and method == "GET":
                sums.members += 1
                if answer.is_hit or not MEMBERS_MARK.search(answer.text) and "act=" not in path:
                    sums.wrong.append(f"a member got a guest's {path}: {answer.decision}")
            return
        sums.anonymous += 1
        sums.hits += answer.is_hit
        if not answer.is_hit:
            key = f"{re.sub('[0-9]+', 'N', path)} {answer.decision.partition('; dropped')[0]}"
            sums.misses[key] = sums.misses.get(key, 0) + 1
        if MEMBERS_MARK.search(answer.text):
            sums.wrong.append(f"a guest got a member's {path}: {answer.decision}")
        token = TOKEN.search(answer.text)
        if answer.is_hit and token and token[1]:
            sums.wrong.append(f"a shared {path} has a token: {answer.decision}")


class Crowd:
    """Visitors who take turns, a step each, in an order that is the same in each run."""

    def __init__(self, site, boards, seed=17):
        self._site = site
        self._random = random.Random(seed)
        self.sums = Sums()
        self._left = PAGES if len(boards) > 1 else PAGES_OF_A_BOARD
        self._often, self._seldom = lists(boards)
        # The newest ones last.
        posts = [[(board, post) for post in site.content["posts"][board]] for board in boards]
        self._posts = [post for posts in zip(*posts) for post in posts]

    def run(self):
        """Runs all visitors to their ends; returns the sums."""
        walking = [self._visitor(number) for number in range(VISITORS)]
        while walking:
            self._random.shuffle(walking)
            walking = [one for one in walking if next(one, None) is not None]
        return self.sums

    def _visitor(self, number):
        agent = PHONE if number % 3 == 0 and number % 8 != 3 else (DESKTOP, CHROME)[number % 2]
        person = Counted(self._site, self.sums, address=f"127.0.3.{number + 1}", user_agent=agent)
        kinds = {7: lambda: self._member(person, f"member{number // 8 % 3 + 1}"), 5: lambda: self._writer(person)}
        for _ in kinds.get(number % 8, lambda: self._reader(person))():
            yield True
        person.close()

    def _reader(self, person):
        while self._left > 0:
            self._read(person)
            yield

    def _read(self, person):
        self._left -= not person.is_member
        person.get(self._a_page())

    def _a_page(self):
        """A random page; the newest posts, the front page and the lists come most often."""
        if self._random.random() < SHARE_OF_LISTS:
            return self._random.choice(self._often * 4 + self._seldom)
        rank = min(int(self._random.expovariate(FADING)), len(self._posts) - 1)
        board, number = self._posts[-1 - rank]
        return f"/{board}/{number}"

    def _writer(self, person):
        for _ in range(3):
            self._read(person)
            yield
        board, post = self._random.choice(self._posts[-8:])
        person.comment(board, post, "Comment of a guest")
        yield
        if self._random.random() < WRITERS_POSTS:
            person.write(board, "Post of a guest")
            yield
        yield from self._reader(person)

    def _member(self, person, name):
        for _ in range(2):
            self._read(person)
            yield
        person.log_in(name)
        yield
        for step in range(MEMBERS_PAGES):
            self._read(person)
            yield
            if step == 4 and self._random.random() < MEMBERS_COMMENTS:
                board, post = self._random.choice(self._posts[-8:])
                person.comment(board, post, "Comment of a member")
                yield
            if step == 7 and self._random.random() < MEMBERS_POSTS:
                person.write(self._random.choice(self._posts[-8:])[0], "Post of a member")
                yield
        person.log_out()
        yield


def lists(boards):
    """The front page and the lists that are read often, and those that are not."""
    return ["/", *(f"/{board}" for board in boards)], [f"/{boards[0]}?page=2", f"/index.php?mid={boards[-1]}"]


def look_around(site, boards):
    """Reads a page of each kind with each class of device, which the leak guard then knows."""
    often, seldom = lists(boards)
    for agent in (DESKTOP, PHONE):
        for path in often + seldom + [f"/{board}/{post}" for board in boards for post in site.content["posts"][board][-4:]]:
            for _ in range(2):
                Person(site, user_agent=agent).get(path)


def of_a_crowd_most_anonymous_pages_are_hits(site, boards, is_strict, is_delayed):
    site.set(security__check_csrf_token=is_strict, session__delay=is_delayed)
    look_around(site, boards)
    site.kasoku("purge", "--all")
    site.settle()
    blocked, before = counted(site, "guard_blocked"), site.php_requests()
    sums = Crowd(site, boards).run()
    site.settle()
    php = site.php_requests() - before
    share = 100 * sums.hits / sums.anonymous
    found = f"of {sums.anonymous} anonymous pages {sums.hits} hits ({share:.0f} %); {sums.must_pass} had to pass, {sums.members} of them pages of members"
    equal(sums.wrong, [], "pages of the wrong visitor")
    equal(counted(site, "guard_blocked"), blocked, "patterns that were found to differ")
    bound = 1.05 * sums.must_pass + 0.15 * sums.anonymous
    true(sums.hits >= HITS_MIN * sums.anonymous, f"{found}: {sums.misses}")
    true(php <= bound, f"PHP got {php} of {bound:.0f}: {found}: {sums.misses}")
    print(f"        PHP got {php} of at most {bound:.0f} requests: {found}")


def of_a_crowd(name, boards, is_strict, is_delayed):
    def scenario(site):
        of_a_crowd_most_anonymous_pages_are_hits(site, boards, is_strict, is_delayed)

    scenario.__name__ = f"most anonymous pages are hits, {name}"
    return scenario


SCENARIOS = [of_a_crowd(f"strict: {is_strict}, delayed: {is_delayed}", list(SKINS), is_strict, is_delayed) for is_strict, is_delayed in SETTINGS]
SCENARIOS += [of_a_crowd(f"in the skin {skin} and the layout {layout}", [board], False, False) for board, (skin, layout) in SKINS.items()]
