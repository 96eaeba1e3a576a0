#!/usr/bin/env python3
"""Runs 300 visits to the board by 60 visitors, each with their own cookies, and reports hits and misses.

    visits.py URL

A visit is a first page and some posts; ten visits run at a time. Most visitors are guests; some look at the log-in form, some come with a
session of last week, and all have cookies of advertisements. A few write, and two are members, who log in, read, download a file, write and
log out. The order of visitors is the same in each run. Prints the number of hits, and why the other requests were none, by `Cache-Status`.
Exits with 1 if a visitor got a page that was made for another.
"""

import collections
import http.client
import itertools
import random
import re
import sys
import time
import urllib.parse

VISITORS = 60
VISITS = 300
# The visits of members, by their place in the order of visits.
MEMBERS_VISITS = {40: "member1", 110: "member2", 190: "member1"}
GUESTS_WHO_WRITE = (75, 170)
GUESTS_AT_THE_LOGIN = (20, 90, 150, 230)
WITH_A_SESSION_OF_LAST_WEEK = 6
POSTS_READ = (8, 14)
VISITS_AT_A_TIME = 10
# The shortest time for which a visitor reads a page.
READING_SECONDS = 0.02
TIMEOUT_SECONDS = 30


class Visitor:
    """A visitor with a cookie jar, who knows whether they are logged in."""

    def __init__(self, number, board):
        self.board = board
        self.cookies = {"_ga": f"GA1.1.{number}"}
        self.name = None

    def get(self, path):
        return self.board.ask(self, "GET", path)

    def post(self, path, **form):
        return self.board.ask(self, "POST", path, form)


class Board:
    """The visited URL, and what the visitors saw there."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host = parts.netloc
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=TIMEOUT_SECONDS)
        self.asked = 0
        self.reasons = collections.Counter()
        self.examples = {}
        self.guests_asked = self.guests_hits = 0
        self.wrong = []

    def ask(self, visitor, method, path, form=None):
        """Sends a request and follows redirects; returns the answer's body."""
        fields = {"Host": self.host, "User-Agent": "Mozilla/5.0 (visits)", "Accept": "text/html"}
        if visitor.cookies:
            fields["Cookie"] = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
        body = urllib.parse.urlencode(form) if form is not None else None
        if body is not None:
            fields["Content-Type"] = "application/x-www-form-urlencoded"
        self.connection.request(method, path, body, fields)
        response = self.connection.getresponse()
        content = response.read()
        keep_cookies(visitor.cookies, response.headers.get_all("Set-Cookie") or [])
        self.count(visitor, method, path, response)
        if response.status in (301, 302, 303):
            if path == "/login_check.php":
                visitor.name = "Member " + form["mb_id"].removeprefix("member")
            elif path == "/logout.php":
                visitor.name = None
            return self.ask(visitor, "GET", response.getheader("Location"))
        self.check(visitor, path, response, content)
        return content.decode(errors="replace")

    def count(self, visitor, method, path, response):
        reason = reason_of(response.headers)
        self.asked += 1
        self.reasons[reason] += 1
        self.examples.setdefault(reason, f"{method} {path}")
        if visitor.name is None:
            self.guests_asked += 1
            self.guests_hits += reason == "hit"

    def check(self, visitor, path, response, content):
        """Records a mistake if the page was not made for this visitor: its bar on top names the visitor."""
        if response.status != 200:
            self.wrong.append(f"{path}: {response.status}")
        elif response.headers.get_content_type() == "text/html":
            found = re.search(rb"Welcome, <b>([^<]*)</b>", content)
            name = found[1].decode() if found else None
            if name != visitor.name:
                self.wrong.append(f"{path}: for {name or 'a guest'}, shown to {visitor.name or 'a guest'}")


def keep_cookies(jar, lines):
    for line in lines:
        pair, _, attributes = line.partition(";")
        name, _, value = pair.partition("=")
        age = re.search(r"max-age=(-?\d+)", attributes, re.IGNORECASE)
        if age and int(age[1]) <= 0:
            jar.pop(name, None)
        else:
            jar[name] = value


def reason_of(fields):
    """`hit`, or why the answer was none. Without `Cache-Status`, an answer with an `Age` above 0 is a hit."""
    status = fields.get("Cache-Status")
    if status is None:
        return "hit" if int(fields.get("Age", 0)) > 0 else "no hit, and no Cache-Status"
    said = dict(re.findall(r';\s*([a-z-]+)(?:=("[^"]*"|[^;,\s]+))?', status))
    if "hit" in said:
        return "hit"
    named = ["detail" if "detail" in said else "fwd", "cookie", "rule"]
    return "; ".join(f"{name}={said[name]}" for name in named if name in said)


def visit(chance, visitor, number):
    """A visit: a first page and some posts, the newest most often. Yields after each page."""
    if number in MEMBERS_VISITS:
        yield visitor.get("/login.php")
        yield visitor.post("/login_check.php", mb_id=MEMBERS_VISITS[number], mb_password="board")
    elif number in GUESTS_AT_THE_LOGIN:
        yield visitor.get("/login.php")
    elif number in GUESTS_WHO_WRITE:
        yield write(visitor, author="A guest")
    page = visitor.get(chance.choices(["/", "/list.php?board=free", "/list.php?board=qa", "/list.php?board=free&page=2"], [6, 3, 2, 1])[0])
    links = list(dict.fromkeys(re.findall(r'<td class="td_subject"><div class="bo_tit"><a href="([^"]+)"', page)))
    yield
    for _ in range(chance.randint(*POSTS_READ) if links else 0):
        post = min(int(chance.expovariate(1 / 4)), len(links) - 1)
        view = visitor.get(links[post])
        yield
        if visitor.name and (found := re.search(r'href="(/download\.php[^"]*)"', view)):
            yield visitor.get(found[1])
    if visitor.name:
        yield write(visitor)
        yield visitor.get("/logout.php")


def write(visitor, **more):
    token = re.search(r'name="token" value="(\w+)"', visitor.get("/write.php?board=free"))
    if token:
        visitor.post("/write_update.php", token=token[1], board="free", subject="A post of a visit", body="Nothing much.", **more)


def next_visitor(chance, resting):
    """One of those who have not come for a while: nobody makes two visits at a time."""
    visitor = resting[chance.randrange(len(resting) - 2 * VISITS_AT_A_TIME)]
    resting.remove(visitor)
    resting.append(visitor)
    return visitor


def run(url):
    """Runs all visits; returns the board with what was seen."""
    board = Board(url)
    chance = random.Random(3)
    visitors = [Visitor(number, board) for number in range(VISITORS)]
    for visitor in visitors[:WITH_A_SESSION_OF_LAST_WEEK]:
        visitor.cookies["PHPSESSID"] = f"{chance.getrandbits(128):032x}"
    # The members are not among the visitors who write as guests.
    members = {number: visitors[-1 - int(name[-1])] for number, name in MEMBERS_VISITS.items()}
    begun = time.monotonic()
    # Each visitor's next page is due at its own time; the visitor who has waited longest comes first.
    resting = collections.deque(visitors[: VISITORS - 3])
    coming = ((begun, visit(chance, members.get(number) or next_visitor(chance, resting), number)) for number in range(VISITS))
    going_on = collections.deque(itertools.islice(coming, VISITS_AT_A_TIME))
    while going_on:
        due, one = going_on.popleft()
        time.sleep(max(0, due - time.monotonic()))
        try:
            next(one)
            going_on.append((time.monotonic() + READING_SECONDS, one))
        except StopIteration:
            going_on.extend(itertools.islice(coming, 1))
    board.seconds = time.monotonic() - begun
    return board


def said(board):
    """The report for the terminal."""
    hits = board.reasons["hit"]
    lines = [
        f"{board.asked:,} requests in {VISITS} visits by {VISITORS} visitors, {board.seconds:.1f} s",
        f"hits: {hits:,}, {hits / board.asked:.1%}; of requests without a login: {board.guests_hits / board.guests_asked:.1%}",
    ]
    for reason, count in board.reasons.most_common():
        if reason != "hit":
            lines.append(f"{count:>7,}  {reason}    (first: {board.examples[reason]})")
    lines.append(f"pages made for somebody else, or errors: {len(board.wrong)}")
    lines += [f"         {one}" for one in board.wrong[:10]]
    return "\n".join(lines)


def main(url):
    try:
        board = run(url)
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"{url}: {error}")
    print(said(board))
    return 1 if board.wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
