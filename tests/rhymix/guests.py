"""Tests what guests and members get with `application = "rhymix"`, whatever session.delay and the strict CSRF setting say."""

import threading

from freshness import OTHERS_SECONDS_MAX, word
from install import MEMBERS
from people import CHROME, DESKTOP, PHONE, TOKEN, Person
from scenarios import equal, holds, lacks, true
from seen import seconds, shows, tell, warm
from servers import counted
from tokens import settings


def pages(site):
    """A page of each kind, in each skin."""
    posts = site.content["posts"]
    return ["/", "/board?page=2", "/index.php?mid=qna", *(f"/{board}" for board in posts), *(f"/{board}/{post}" for board in posts for post in posts[board][:3])]


def guests_share_pages_without_a_token_whatever_is_set(site):
    blocked = counted(site, "guard_blocked")
    for is_strict, is_delayed in settings():
        site.set(security__check_csrf_token=is_strict, session__delay=is_delayed)
        for path in pages(site):
            for agent in (DESKTOP, PHONE):
                first = Person(site, user_agent=agent).get(path)
                answer = Person(site, user_agent=CHROME if agent == DESKTOP else agent).get(path)
                what = f"{path}, strict: {is_strict}, delayed: {is_delayed}: {first.decision}, {answer.decision}"
                true(answer.is_hit, what)
                equal(TOKEN.search(answer.text)[1], "", f"the token of {what}")
                equal(answer.set_cookies, [], f"the cookies of {what}")
                equal(int(answer.fields.get("content-length", len(answer.bytes))), len(answer.bytes), f"the length of {what}")
    equal(counted(site, "guard_blocked"), blocked, "patterns that were found to differ")


def the_first_client_gets_its_own_token(site):
    """A page that passes is the client's own, with its session; only what is stored has no token."""
    site.set(security__check_csrf_token=False, session__delay=False)
    member = Person(site)
    member.log_in("member1")
    true(len(TOKEN.search(member.get("/board").text)[1]) > 0, "a member's page has a token")


def a_guest_comments_from_a_shared_page_whatever_is_set(site):
    for is_strict, is_delayed in settings():
        site.set(security__check_csrf_token=is_strict, session__delay=is_delayed)
        post, text = site.content["posts"]["board"][6], word()
        warm(lambda: Person(site), f"/board/{post}")
        guest = Person(site)
        guest.comment("board", post, text)
        what = f"strict: {is_strict}, delayed: {is_delayed}"
        tell([(f"a comment, {what}", seconds([shows(f"/board/{post}", text)], guest.look, lambda path: Person(site).get(path)))])
        # With the session that the comment has opened, and while pages are not dropped again within the same second.
        again = word()
        guest.comment("board", post, again)
        found = seconds([shows(f"/board/{post}", again)], guest.look, lambda path: Person(site).get(path))
        tell([(f"a second comment, {what}", found)])
        true(found <= OTHERS_SECONDS_MAX, f"seconds until others see it, {what}: {found}")


def a_guest_reads_a_secret_post_by_its_password_and_no_other_does(site):
    for is_delayed in (False, True):
        site.set(security__check_csrf_token=False, session__delay=is_delayed)
        title, text = word(), word()
        post = Person(site).write("board", title, f"<p>{text}</p>", is_secret=True)
        path = f"/board/{post}"
        guest, other = Person(site), Person(site)
        for visitor in (guest, other):
            lacks(visitor.look(path).text, text, f"the secret post, delayed: {is_delayed}")
        guest.give_password("board", document_srl=post)
        holds(guest.look(path).text, text, f"the secret post after its password, delayed: {is_delayed}")
        for visitor in (other, Person(site), Person(site)):
            lacks(visitor.look(path).text, text, f"the secret post for others, delayed: {is_delayed}")


def a_member_is_known_at_once_and_given_to_nobody_whatever_is_set(site):
    for is_strict, is_delayed in settings():
        site.set(security__check_csrf_token=is_strict, session__delay=is_delayed)
        what = f"strict: {is_strict}, delayed: {is_delayed}"
        paths = pages(site)
        warm(lambda: Person(site), "/board", "/qna")
        for visits_first in (True, False):
            member = Person(site)
            if visits_first:
                member.get("/index.php?act=dispMemberLoginForm")
            member.log_in("member2")
            for path in ["/board", *paths]:
                answer = member.look(path)
                true(not answer.is_hit, f"{path} of a member, {what}: {answer.decision}")
                if path in ("/board", "/qna", "/"):
                    holds(answer.text, "dispMemberLogout", f"{path} of a member, {what}: {answer.decision}")
            for path in paths:
                for _ in range(2):
                    lacks(Person(site).get(path).text, "dispMemberLogout", f"{path} of a guest, {what}")
            # A member writes, with the token of a page of its own.
            text = word()
            member.comment("qna", site.content["posts"]["qna"][5], text)
            holds(member.look(f"/qna/{site.content['posts']['qna'][5]}").text, text, f"a member's comment, {what}")
            member.log_out()
            lacks(member.look("/board").text, "dispMemberLogout", f"after the log-out, {what}")


def the_next_person_in_a_browser_sees_nothing_of_a_member(site):
    site.set(security__check_csrf_token=False, session__delay=False)
    for path in pages(site):
        person = Person(site)
        person.log_in("member3")
        person.look(path)
        person.close_windows()
        text = person.look(path).text
        lacks(text, "dispMemberLogout", f"{path} in the browser of a member")
        lacks(text, MEMBERS["member3"], f"{path} in the browser of a member")


def a_version_that_was_chosen_stays(site):
    site.kasoku("purge", "--all")
    desktop = len(Person(site).get("/board").bytes)
    guest = Person(site)
    guest.get("/board?m=1")
    for _ in range(2):
        answer = guest.get("/board")
        true(answer.fields.get("content-type", "").startswith("text/html") and len(answer.bytes) < desktop, f"the page for telephones: {answer.decision}")
    true(answer.is_hit, answer.decision)
    guest.get("/board?m=0")
    equal(len(guest.get("/board").bytes), desktop, "the page for desktops")


# What an operator writes who has no policy: a lifetime, which cookies are a session's, and what the guard has named.
GRANT = """
ttl-override = "1m"
ignore = ["no-store", "no-cache", "must-revalidate", "max-age", "expires"]
key-device = true
cookies.session = ["PHPSESSID"]
cookies.noise = ["default", "rx_login_status", "rx_uatype"]
session.anonymous-cookies = ["rx_login_status=none"]
guard-noise = ["initial_height&quot;:{digits}}", "min-height:{digits}px"]
try-files = ["{path}", "{path}/", "/index.php"]
"""
ROUNDS = 4


def without_a_policy_the_guard_blocks_nothing_while_visitors_write(site):
    """Each round forgets what the guard knows, since the rule changes, so that it compares all patterns anew."""
    site.set(security__check_csrf_token=False, session__delay=True)
    posts, is_over = site.content["posts"], threading.Event()

    def write():
        writer = Person(site, address="127.0.4.1")
        while not is_over.is_set():
            for board in posts:
                writer.comment(board, posts[board][1], word())
                writer.write(board, word())

    for number in range(ROUNDS):
        site.serve(site.rules(GRANT.replace("1m", f"{61 + number}s")))
        blocked, checks = counted(site, "guard_blocked"), counted(site, "guard_checks")
        is_over.clear()
        writing = threading.Thread(target=write)
        writing.start()
        try:
            for agent in (DESKTOP, CHROME, PHONE):
                for path in pages(site):
                    Person(site, user_agent=agent).get(path)
        finally:
            is_over.set()
            writing.join()
        true(counted(site, "guard_checks") > checks, "nothing was compared")
        equal(counted(site, "guard_blocked"), blocked, f"patterns that were found to differ: {site.kasoku('doctor')[:2000]}")
    site.serve(site.policy())


SCENARIOS = [guests_share_pages_without_a_token_whatever_is_set, the_first_client_gets_its_own_token, a_guest_comments_from_a_shared_page_whatever_is_set,
             a_guest_reads_a_secret_post_by_its_password_and_no_other_does,
             a_member_is_known_at_once_and_given_to_nobody_whatever_is_set, the_next_person_in_a_browser_sees_nothing_of_a_member, a_version_that_was_chosen_stays]
# Last, since what visitors write makes the boards long.
LAST = [without_a_policy_the_guard_blocks_nothing_while_visitors_write]
