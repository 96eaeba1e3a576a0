"""Makes the members, secrets and items for one run of the oracle, in addition to those of the site: each is for one visitor alone.

Each text for one visitor contains a unique word of the form `Zqk12w`: a letter for its kind, and the number of its owner. n, r, e, i: a
member's nick, name, address and id; p: the reason of points; m: a member's secret comment; s, t: a comment and a post behind a password; k:
an item of the shop that only one visitor has looked at. The points of a member are the member's number in millions.
"""

import itertools
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path

from site_under_test import SECRETS_BOARD

WORD = re.compile(r"[Zz]q([a-z])(\d+)w")
# Members have three digits, so that no other sum in millions looks like points. The numbers continue over all runs of a process.
MEMBERS, OTHERS = itertools.count(100), itertools.count(1000)
MEMBERS_MAX = 999
# Three digits in base 36.
OTHERS_MAX = 36**3 - 1
SECRET_COMMENTS, SECRET_POSTS = 24, 6
FIRST_ITEM = 1790000000


@dataclass(frozen=True)
class Member:
    number: int
    # The number of the post with this member's secret comment.
    commented: int

    @property
    def name(self):
        return f"zqi{self.number}w"

    @property
    def nick(self):
        return f"Zqn{self.number}w"


@dataclass(frozen=True)
class Secret:
    """A comment (s) or a post (t) that gnuboard5 shows only to visitors who have entered its password."""

    kind: str
    number: int
    board: str
    # The number of the post, and that of the comment or, for a post, the post.
    post: int
    id: int

    @property
    def word(self):
        return f"Zq{self.kind}{self.number}w"


@dataclass
class Crew:
    members: list
    secrets: list
    # Numbers of items that no visitor has looked at yet.
    items: list


def made(site, members, items, seed):
    """A new crew with that many members and items."""
    draws = random.Random(seed)
    posts = site.content["posts"]["free"]
    members = [(next(MEMBERS), draws.choice(posts)) for _ in range(members)]
    comments = [(next(OTHERS), draws.choice(posts)) for _ in range(SECRET_COMMENTS)]
    secret_posts = [next(OTHERS) for _ in range(SECRET_POSTS)]
    items = [next(OTHERS) for _ in range(items)]
    if members[-1][0] > MEMBERS_MAX or items[-1] > OTHERS_MAX:
        raise ValueError("more members or items than there are numbers for")
    code = Path(__file__).with_name("crew.php").read_text().removeprefix("<?php")
    said = site.php(code, members=members, comments=comments, posts=secret_posts, items=items, comment=site.content["secret_comment"],
                    post=site.content["secret_post"], board=SECRETS_BOARD, item=site.content["items"][1], first=FIRST_ITEM)
    try:
        found = json.loads(said)
    except ValueError:
        raise RuntimeError(f"no crew could be made: {said}") from None
    secrets = [Secret("s", number, "free", parent, comment) for number, parent, comment in found["comments"]]
    secrets += [Secret("t", number, SECRETS_BOARD, post, post) for number, post in found["posts"]]
    return Crew([Member(*member) for member in members], secrets, items)
