"""Tests for problems that had occurred on the real program: log-ins elsewhere, outages, load of PHP, own posts, choices, cookies, URLs,
uploads.

browsers.py tests the browser's cache, and freshness.py the effects of writes.
"""

import hashlib
import time
import urllib.parse

from counters import rendered, undisturbed
from guest import PHONE, Guest, Refused
from page import Page
from scenarios import equal, holds, lacks, true
from servers import away, counted
from site_under_test import ADMIN, ADMIN_PASSWORD, GUEST_PASSWORD, LONG_BOARD, MEMBER_PASSWORD, MEMBERS_BOARD
from window import DESKTOP, NAVIGATION

BOARD = "/bbs/board.php?bo_table=free"
# gnuboard's message while its database is down, with status 200.
AWAY = "MySQL Host, User, Password, DB 정보에 오류가 있습니다."
FOREVER = 60
# The most requests until a page is a hit: Kasoku probes a session only after an answer.
LOOKS_MAX = 50


def post(number, board="free"):
    return f"/bbs/board.php?bo_table={board}&wr_id={number}"


def is_kept(site, path, user_agent=None):
    """Requests a page as two new guests; the second must get a hit."""
    more = {"user_agent": user_agent} if user_agent else {}
    for address in ("127.0.0.41", "127.0.0.42"):
        answer = Guest(site, address=address, **more).ask("GET", path)
    if not answer.is_hit:
        raise AssertionError(f"{path} is not kept: {answer.decision}")
    return answer


def no_database(site):
    """A context in which the database is down: PHP can't connect to it."""
    return away(site.database_socket)


# -- pages that are shared, and those that are not


def guests_share_the_pages_that_each_spoil_with_a_session(site):
    shop = [f"/shop/item.php?it_id={site.content['items'][0]}", "/shop/", "/shop/list.php?ca_id=10"]
    boards = ["/", BOARD, post(1), "/bbs/group.php?gr_id=community", f"/bbs/content.php?co_id={site.content['content']}", "/bbs/faq.php", "/bbs/new.php"]
    site.kasoku("purge", "--all")

    def read():
        before = rendered(site)
        answers = {path: is_kept(site, path) for path in boards + shop}
        site.settle()
        return answers, rendered(site) - before

    site.settle()
    answers, renderings = undisturbed(site, read)
    for path, answer in answers.items():
        equal((answer.status, answer.set_cookies), (200, []), path)
    true(renderings <= len(answers), f"requests that PHP gets for {len(answers)} pages: {renderings}")


def telephones_have_pages_of_their_own(site):
    desktop = is_kept(site, post(2))
    mobile = is_kept(site, post(2), PHONE)
    true(desktop.text != mobile.text, "the two versions are the same")


def a_feed_is_shared(site):
    site.sql("UPDATE g5_board SET bo_use_rss_view = 1 WHERE bo_table = 'free'")
    holds(is_kept(site, "/bbs/rss.php?bo_table=free").text, "</rss>", "the feed")


def what_the_program_refuses_is_not_stored(site):
    """Refusals of pages that are for members, deleted, unknown or secret: status 200 with a dialogue, or with a form for a password."""
    for path in [post(1, MEMBERS_BOARD), post(9999), "/bbs/board.php?bo_table=nosuch", post(site.content["secret_post"], "askus"), "/bbs/qalist.php"]:
        for _ in range(2):
            answer = Guest(site, address="127.0.0.43").ask("GET", path)
            if answer.is_hit or "stored" in answer.decision:
                raise AssertionError(f"{path}: {answer.decision}")


def a_member_sees_members_pages_and_no_guest_does(site):
    member = Guest(site, address="127.0.0.44")
    member.log_in("member2", MEMBER_PASSWORD)
    for _ in range(3):
        page = member.look(post(1, MEMBERS_BOARD))
        holds(page.text, '<article id="bo_v"', "a member's page")
        equal(page.answer.fields["cache-control"], "private, no-store", "what its browser may keep")
        lacks(Guest(site, address="127.0.0.43").ask("GET", post(1, MEMBERS_BOARD)).text, '<article id="bo_v"', "what a guest gets")


def log_ins_elsewhere_reach_the_program_with_their_cookies(site):
    for path in ["/plugin/social/popup.php?provider=naver&url=%2F", "/plugin/social/?hauth.start=Naver&hauth.time=1",
                 "/plugin/social/?hauth.done=Naver&code=abc&state=def", "/plugin/social/index.php?hauth_done=Kakao&code=abc&state=def",
                 "/plugin/sns/twitter/callback.php?oauth_token=a&oauth_verifier=b", "/bbs/login.php?provider=naver"]:
        guest = Guest(site, address="127.0.0.45")
        guest.look(post(3))
        for _ in range(2):
            before = site.php_requests()
            answer = guest.ask("GET", path)
            equal(site.php_requests() - before >= 1, True, f"{path} reaches PHP")
            if answer.is_hit or "stored" in answer.decision or "bypass" not in answer.decision:
                raise AssertionError(f"{path}: {answer.decision}")


# -- the database is down


def an_outage_replaces_no_page(site):
    is_kept(site, post(4))
    site.kasoku("purge", "--soft", "--all")
    with no_database(site):
        for _ in range(5):
            answer = Guest(site, address="127.0.0.46").ask("GET", post(4))
            holds(answer.text, "사용스킨", f"the page from before ({answer.decision})")
            time.sleep(0.2)
    deadline = time.monotonic() + FOREVER
    while "stale" in Guest(site, address="127.0.0.46").ask("GET", post(4)).decision:
        true(time.monotonic() < deadline, "the page is made anew when the database is there again")
        time.sleep(0.5)


def an_outage_is_not_stored(site):
    with no_database(site):
        for _ in range(2):
            answer = Guest(site, address="127.0.0.46").ask("GET", post(5))
            equal(answer.text, AWAY, "what gnuboard says")
            holds(answer.decision, "detail=outage", "what Kasoku says")
        holds(site.kasoku("explain", "--live", site.url + post(5)), "out of order", "explain")
    holds(Guest(site, address="127.0.0.46").ask("GET", post(5)).text, "사용스킨", "the page when the database is there again")


def what_was_changed_is_not_shown_in_an_outage(site):
    guest = Guest(site, address="127.0.0.47")
    number = guest.write("free", "지울 글", "지울 내용", password=GUEST_PASSWORD)
    is_kept(site, post(number))
    guest.delete("free", number, password=GUEST_PASSWORD)
    is_kept(site, post(6))
    site.kasoku("purge", site.url + post(6))
    with no_database(site):
        for path in (post(number), post(6)):
            equal(Guest(site, address="127.0.0.46").ask("GET", path).text, AWAY, f"{path} after a write, and after a purge")


# -- the load of PHP


def guests_who_may_comment_are_served_from_memory(site):
    """Each such post makes a browser request a captcha: two POSTs and a picture, and a sound on telephones. Kasoku sends no probe for
    that."""
    numbers = range(7, 13)
    for number in numbers:
        is_kept(site, post(number))
    guests = [Guest(site, address=f"127.0.0.{host}") for host in range(50, 56)]
    probes = probes_of(site)

    def read():
        before = rendered(site)
        answers = [guest.look(post(number)).answer for number in numbers for guest in guests]
        site.settle()
        return answers, rendered(site) - before

    answers, renderings = undisturbed(site, read)
    equal(sum(answer.is_hit for answer in answers), len(answers), "looks that were hits")
    equal(renderings, 3 * len(answers), "requests that PHP gets: those of the captchas")
    equal(probes_of(site) - probes, 0, "questions about sessions")


def probes_of(site):
    return counted(site, "session_probes")


# -- features that had been broken


def who_wrote_a_post_reads_it_again_though_reading_costs_points(site):
    site.sql(f"UPDATE g5_board SET bo_read_point = -1 WHERE bo_table = '{LONG_BOARD}'")
    author, other = Guest(site, address="127.0.0.57"), Guest(site, address="127.0.0.58")
    number = author.write(LONG_BOARD, "점수", "내 글", password=GUEST_PASSWORD)
    for _ in range(3):
        # The URL is typed, since a dialogue leads back to the page before.
        other.look(post(number, LONG_BOARD), typed=True)
        true(other.alerts, "another visitor is refused")
        page = author.look(post(number, LONG_BOARD), typed=True)
        holds(page.text, "내 글", f"the author's own post ({page.answer.decision})")
    equal(author.alerts, [], "what the author is told")
    site.sql(f"UPDATE g5_board SET bo_read_point = 0 WHERE bo_table = '{LONG_BOARD}'")
    site.kasoku("purge", "--all")


def the_first_download_from_a_shared_page_is_given(site):
    """The link is valid in the session for which the page was made, and the file is for visitors who have opened the post."""
    number, files = next(iter(site.content["attachments"].items()))
    for agent in (DESKTOP, PHONE):
        is_kept(site, post(number), agent)
        for address, reads in (("127.0.0.57", False), ("127.0.0.58", True)):
            guest = Guest(site, address=address, user_agent=agent)
            # A visitor who reads gets a session by the captcha; the other has none.
            page = guest.look(post(number)) if reads else Page(post(number), guest.ask("GET", post(number), NAVIGATION))
            true(page.answer.is_hit, page.answer.decision)
            equal(guest.cookie("PHPSESSID") is None, not reads, "whether there is no session")
            file = guest.ask("GET", page.link("/bbs/download.php?"), {**NAVIGATION, "Referer": f"{site.url}{post(number)}"})
            equal(hashlib.md5(file.bytes).hexdigest(), files[0]["md5"], f"the file: {file.decision} {file.text[:200]}")


def the_choice_of_a_version_is_kept(site):
    """A choice by the link at the end of each page holds for passes and for hits."""
    for user_agent, first in [(None, "mobile"), (PHONE, "pc")]:
        guest = Guest(site, address="127.0.0.59", **({"user_agent": user_agent} if user_agent else {}))
        for version in (first, "pc" if first == "mobile" else "mobile"):
            guest.look(f"/?device={version}")
            for _ in range(LOOKS_MAX):
                page = guest.look(BOARD)
                equal("HandheldFriendly" in page.text, version == "mobile", f"the version for telephones, after device={version}")
                if page.answer.is_hit:
                    break
                time.sleep(0.1)
            true(page.answer.is_hit, page.answer.decision)


def a_cookie_that_a_log_in_leaves_behind_is_noise(site):
    guest = Guest(site, address="127.0.0.61")
    guest.log_in("member3", MEMBER_PASSWORD)
    guest.log_out()
    true(guest.cookie("2e61f26e"), "mb_client_key is still there")
    is_from_memory_soon(guest, BOARD)


def a_visitor_who_has_looked_at_the_shop_reads_boards_from_memory(site):
    guest = Guest(site, address="127.0.0.62")
    guest.look(f"/shop/item.php?it_id={site.content['items'][1]}")
    guest.look(f"/shop/itemuse.php?it_id={site.content['items'][1]}")
    guest._cookies[("5b1ceb69146c0bafdc082ff42248da98", "/")] = "MTc4MDAwMDAwMg%3D%3D"
    is_from_memory_soon(guest, BOARD)


def is_from_memory_soon(guest, path):
    """Requests the page until it is a hit. Kasoku probes the session after an answer, so that takes a few requests."""
    deadline = time.monotonic() + FOREVER
    while not (page := guest.look(path)).answer.is_hit:
        if time.monotonic() > deadline:
            raise AssertionError(f"{path}: {page.answer.decision}")
        time.sleep(0.1)


def a_board_whose_name_is_letters_and_digits_is_shared(site):
    """The board's pages set a cookie with its name in base64, which must not look like a secret."""
    holds(is_kept(site, f"/bbs/board.php?bo_table={LONG_BOARD}").decision, "hit", LONG_BOARD)


def a_cart_is_seen_by_its_guest_alone(site):
    item = site.content["items"][1]
    guest = Guest(site, address="127.0.0.63")
    is_kept(site, "/shop/")
    guest.put_into_cart(item)
    holds(guest.cart().text, item, "the cart")
    for path in ("/shop/", "/shop/list.php?ca_id=10"):
        page = guest.look(path)
        holds(page.answer.decision, "pass-session", f"{path} of a visitor with a cart")
        own = page.text
        true(own != is_kept(site, path).text, f"{path} shows the cart")
    is_from_memory_soon(guest, BOARD)


def a_visitor_who_typed_a_password_sees_the_secret_and_no_other_does(site):
    number = site.content["secret_post"]
    guest = Guest(site, address="127.0.0.64")
    holds(guest.open_secret("askus", number, GUEST_PASSWORD).text, '<article id="bo_v"', "the secret post")
    for _ in range(2):
        holds(guest.look(post(number, "askus")).text, '<article id="bo_v"', "the same again")
        lacks(Guest(site, address="127.0.0.65").look(post(number, "askus")).text, '<article id="bo_v"', "what others get")


def automatic_log_in_logs_in_on_any_page(site):
    member = Guest(site, address="127.0.0.66")
    member.log_in("member4", MEMBER_PASSWORD, stays=True)
    is_kept(site, BOARD)
    member.close_browser()
    holds(member.look(BOARD).text, "/bbs/logout.php", "the page of a member whose browser was closed")


def a_wrong_password_is_refused_and_drops_little(site):
    is_kept(site, BOARD)
    guest = Guest(site, address="127.0.0.67")
    form = guest.look("/bbs/login.php").form("flogin")
    try:
        guest.submit(form, mb_id=ADMIN, mb_password=ADMIN_PASSWORD + "x")
        raise AssertionError("a wrong password is taken")
    except Refused:
        pass
    true(is_kept(site, BOARD), "the list is still kept")


# -- short addresses, and files that must not run or be read


def short_addresses_lead_to_pages(site):
    for short, long in [("/free", BOARD), ("/free/1", post(1)), ("/content/company", "/bbs/content.php?co_id=company"),
                        (f"/shop/{site.content['items'][0]}", f"/shop/item.php?it_id={site.content['items'][0]}"),
                        ("/shop/list-10", "/shop/list.php?ca_id=10")]:
        equal(title(is_kept(site, short).text), title(is_kept(site, long).text), short)
    lacks(Guest(site, address="127.0.0.68").ask("GET", "/free/write").decision, "stored", "the form for a post")


def title(text):
    return text.partition("<title>")[2].partition("</title>")[0]


def links_have_the_address_that_visitors_see(site):
    page = Guest(site, address="127.0.0.68").look(BOARD)
    for link in page.answer.text.split('href="')[1:]:
        url = urllib.parse.urlsplit(link.partition('"')[0])
        if url.hostname == "127.0.0.1" and url.port != site.port:
            raise AssertionError(f"{url.geturl()} does not lead to port {site.port}")


def an_upload_does_not_run_and_secrets_are_not_read(site):
    upload = site.root / "data" / "file" / "free" / "x.php"
    upload.parent.mkdir(parents=True, exist_ok=True)
    upload.write_text("<?php echo 'it ran: ' . (6 * 7);")
    (upload.parent / "y.phtml.jpg").write_bytes(b"<?php echo 'it ran: ' . (6 * 7);")
    for path in ["/data/file/free/x.php", "/data/file/free/x.php/y", "/data//file/free/x.PHP", "/%64ata/file/free/x.ph%70", "/data/file/free/x.php?a=.jpg",
                 "/data/dbconfig.php", "/data/.htaccess", "/data/session/sess_1", "/install/gnuboard5.sql", "/adm/sql_write.sql"]:
        answer = Guest(site, address="127.0.0.69").ask("GET", path)
        true(answer.status in (403, 404), f"{path}: {answer.status}")
        lacks(answer.text, "it ran: 42", path)
    upload.unlink()


SCENARIOS = [
    guests_share_the_pages_that_each_spoil_with_a_session,
    telephones_have_pages_of_their_own,
    a_feed_is_shared,
    what_the_program_refuses_is_not_stored,
    a_member_sees_members_pages_and_no_guest_does,
    log_ins_elsewhere_reach_the_program_with_their_cookies,
    an_outage_replaces_no_page,
    an_outage_is_not_stored,
    what_was_changed_is_not_shown_in_an_outage,
    guests_who_may_comment_are_served_from_memory,
    who_wrote_a_post_reads_it_again_though_reading_costs_points,
    the_first_download_from_a_shared_page_is_given,
    the_choice_of_a_version_is_kept,
    a_cookie_that_a_log_in_leaves_behind_is_noise,
    a_visitor_who_has_looked_at_the_shop_reads_boards_from_memory,
    a_board_whose_name_is_letters_and_digits_is_shared,
    a_cart_is_seen_by_its_guest_alone,
    a_visitor_who_typed_a_password_sees_the_secret_and_no_other_does,
    automatic_log_in_logs_in_on_any_page,
    a_wrong_password_is_refused_and_drops_little,
    short_addresses_lead_to_pages,
    links_have_the_address_that_visitors_see,
    an_upload_does_not_run_and_secrets_are_not_read,
]
