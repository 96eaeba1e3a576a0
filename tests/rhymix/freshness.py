"""Tests how soon a write in Rhymix shows, to its author and to another visitor, and that nothing that was deleted comes back."""

import itertools
import time

from people import PHONE, Person
from scenarios import true
from seen import no_longer, seconds, shows, tell, warm

BOARD, OTHERS = "board", ("qna", "notice")
# Kasoku drops pages that may have changed at most once in a second, and a page takes a moment.
OTHERS_SECONDS_MAX = 1.2
WATCHED_SECONDS = 3
NUMBERS = itertools.count(1)


class Writes:
    """The kinds of writes, a method for each. Each returns the author, and what pages should then show."""

    def __init__(self, site):
        self._site = site

    def a_guests_comment(self):
        post, text = self._site.content["posts"][BOARD][0], word()
        self._warm(f"/{BOARD}/{post}", f"/index.php?mid={BOARD}&document_srl={post}")
        guest = Person(self._site)
        guest.comment(BOARD, post, text)
        return guest, [shows(f"/{BOARD}/{post}", text), shows(f"/index.php?mid={BOARD}&document_srl={post}", text)]

    def a_members_comment(self):
        post, text = self._site.content["posts"]["qna"][0], word()
        member = self._member()
        self._warm(f"/qna/{post}")
        member.comment("qna", post, text)
        return member, [shows(f"/qna/{post}", text)]

    def a_comment_that_is_deleted(self):
        post, text = self._site.content["posts"][BOARD][1], word()
        guest = Person(self._site)
        comment = guest.comment(BOARD, post, text)
        self._warm(f"/{BOARD}/{post}")
        guest.delete_comment(BOARD, post, comment)
        return guest, [no_longer(f"/{BOARD}/{post}", text)]

    def a_guests_post(self):
        text, guest = word(), Person(self._site)
        self._warm(f"/{BOARD}")
        post = guest.write(BOARD, text)
        return guest, [shows(f"/{BOARD}", text), shows(f"/index.php?mid={BOARD}", text), shows(f"/{BOARD}/{post}", text, is_new=True)]

    def a_members_post(self):
        text, member = word(), self._member()
        self._warm("/notice")
        member.write("notice", text)
        return member, [shows("/notice", text)]

    def an_edit(self):
        before, after, member = word(), word(), self._member()
        post = member.write(BOARD, before)
        self._warm(f"/{BOARD}", f"/{BOARD}/{post}")
        member.write(BOARD, after, post=post)
        return member, [shows(f"/{BOARD}", after), shows(f"/{BOARD}/{post}", after), no_longer(f"/{BOARD}", before)]

    def a_post_that_its_guest_deletes(self):
        text, guest = word(), Person(self._site)
        post = guest.write(BOARD, text)
        self._warm(f"/{BOARD}", f"/{BOARD}/{post}")
        guest.delete(BOARD, post)
        return guest, [no_longer(f"/{BOARD}", text), no_longer(f"/{BOARD}/{post}", text)]

    def a_post_that_its_member_deletes(self):
        text, member = word(), self._member()
        post = member.write("qna", text)
        self._warm("/qna", f"/qna/{post}", f"/index.php?mid=qna&document_srl={post}")
        member.delete("qna", post)
        return member, [no_longer("/qna", text), no_longer(f"/qna/{post}", text), no_longer(f"/index.php?mid=qna&document_srl={post}", text)]

    def _member(self):
        member = Person(self._site)
        member.log_in("member1")
        return member

    def _warm(self, *paths):
        warm(lambda: Person(self._site), *paths)


def word():
    return f"Herring{next(NUMBERS)}Q"


def is_seen(name):
    """A scenario: this kind of write shows to its author at once, and to all others within a second."""

    def scenario(site):
        author, expected = getattr(Writes(site), name)()
        found = seconds(expected, author.look, lambda path: Person(site).get(path))
        tell([(name.replace("_", " "), found)])
        true(found <= OTHERS_SECONDS_MAX, f"seconds until others see it: {found}")

    scenario.__name__ = f"seen: {name}"
    return scenario


def a_deleted_post_is_never_shown_after_its_next_answer(site):
    for agent in ({}, {"user_agent": PHONE}):
        text, member = word(), Person(site)
        member.log_in("member2")
        post = member.write(BOARD, text)
        paths = [f"/{BOARD}", f"/{BOARD}/{post}", f"/index.php?mid={BOARD}&document_srl={post}"]
        warm(lambda: Person(site, **agent), *paths)
        member.delete(BOARD, post)
        gone, end = set(), time.monotonic() + WATCHED_SECONDS
        while time.monotonic() < end:
            for path in paths:
                answer = Person(site, **agent).get(path)
                is_there = text in answer.text
                true(not (is_there and path in gone), f"{path} shows the deleted post again: {answer.decision}")
                if not is_there:
                    gone.add(path)
        true(gone == set(paths), f"pages without the deleted post: {gone}")


def a_comment_leaves_the_posts_of_other_boards_stored(site):
    posts = [f"/{board}/{site.content['posts'][board][2]}" for board in OTHERS]
    warm(lambda: Person(site), "/qna", *posts)
    Person(site).comment(BOARD, site.content["posts"][BOARD][3], word())
    for path in ["/qna", *posts]:
        answer = Person(site).get(path)
        true(answer.is_hit, f"{path}: {answer.decision}")


KINDS = [name for name in vars(Writes) if not name.startswith("_")]
SCENARIOS = [*(is_seen(name) for name in KINDS), a_deleted_post_is_never_shown_after_its_next_answer, a_comment_leaves_the_posts_of_other_boards_stored]
