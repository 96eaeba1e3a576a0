"""Tests Chromium with its own cache, when several visitors use it one after the other with one profile on disk.

gnuboard lets browsers store each page (`max-age=0`, and the time of rendering as Last-Modified). So pages that a member has read are on the
disk when the browser is closed, and the browser validates them when the next visitor opens the same page.
"""

import shutil
import tempfile
import time

from browser import Browser
from counters import undisturbed
from guest import Guest
from scenarios import equal, holds, lacks, picture, true
from site_under_test import MEMBER_PASSWORD, MEMBERS, MEMBERS_BOARD
from table import BOARD, is_kept, post

FIRST, SECOND = "member5", "member6"


class Profile:
    """A context with a profile's directory, which outlives the browsers that use it."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="kasoku-profile-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def log_in(browser, site, member):
    browser.open(site.url + "/bbs/login.php")
    browser.fill("#login_id", member)
    browser.fill("#login_pw", MEMBER_PASSWORD)
    browser.click("#login_fs .btn_submit")
    browser.wait_for("the log-in to be done", "return !location.pathname.startsWith('/bbs/login')")


def shown(browser, site, path):
    """Opens the page and closes its dialogue; returns the page's source."""
    browser.open(site.url + path)
    return source(browser)


def source(browser):
    browser.dialogue()
    return browser.source()


def greeting(member):
    """The text by which each page greets the member."""
    return f"<strong>{MEMBERS[member]}님</strong>"


def is_a_guests(text, what):
    for member in (FIRST, SECOND):
        lacks(text, greeting(member), what)
    lacks(text, "/bbs/logout.php", what)
    holds(text, 'id="ft"', f"{what} is a page")


def is_of(text, member, what):
    holds(text, greeting(member), what)
    lacks(text, greeting(SECOND if member == FIRST else FIRST), what)


def the_next_person_in_a_browser_sees_nothing_of_a_member(site):
    """A guest's page is stored. A member reads the same page, and one for members only. The browser is closed, and another visitor opens
    it."""
    pages = ["/", BOARD, post(1)]
    for page in pages:
        is_kept(site, page)
    with Profile() as profile:
        with Browser(profile) as browser:
            is_a_guests(shown(browser, site, post(1)), "what a guest is shown")
            log_in(browser, site, FIRST)
            for page in pages:
                is_of(shown(browser, site, page), FIRST, f"{page} as a member reads it")
            holds(shown(browser, site, post(1, MEMBERS_BOARD)), 'id="bo_v"', "a post for members")
            picture(browser, "gnuboard-member")
        with Browser(profile) as browser:
            for page in pages:
                is_a_guests(shown(browser, site, page), f"{page} as the next person sees it")
            browser.open(site.url + post(1, MEMBERS_BOARD))
            true(browser.dialogue(), "the next person is refused what is for members")
            lacks(browser.source(), 'id="bo_v"', "what the next person sees of it")
            picture(browser, "gnuboard-next-person")


def one_member_after_the_other_sees_their_own_pages(site):
    with Profile() as profile, Browser(profile) as browser:
        for member in (FIRST, SECOND, FIRST):
            log_in(browser, site, member)
            for page in (BOARD, post(2), "/"):
                is_of(shown(browser, site, page), member, f"{page} as {member} reads it")
            browser.open(site.url + "/bbs/logout.php")
            for page in (BOARD, post(2), "/"):
                is_a_guests(shown(browser, site, page), f"{page} after {member} has logged out")


def back_shows_no_visitor_a_members_page(site):
    with Profile() as profile, Browser(profile) as browser:
        browser.open(site.url + post(3))
        log_in(browser, site, FIRST)
        is_of(shown(browser, site, post(4)), FIRST, "a member's page")
        browser.open(site.url + post(5))
        browser.back()
        is_of(source(browser), FIRST, "the member goes back")
        browser.open(site.url + "/bbs/logout.php")
        browser.open(site.url + BOARD)
        for _ in range(3):
            browser.back()
            is_a_guests(source(browser), f"what `back` shows after the log-out, at {browser.url()}")


def a_guest_comments_in_a_browser_and_sees_it_at_once(site):
    is_kept(site, post(6))
    with Browser() as browser:
        browser.open(site.url + post(6))
        browser.wait_for("the captcha to be drawn", "const i = document.querySelector('#captcha_img'); return i && i.complete && i.naturalWidth > 0")
        session = next(cookie["value"] for cookie in browser.cookies() if cookie["name"] == "PHPSESSID")
        browser.fill("#wr_name", "손님")
        browser.fill("#wr_password", "gull")
        browser.fill("#wr_content", "브라우저에서 쓴 댓글 Qx")
        browser.fill("#captcha_key", site.captcha(session))
        browser.click("#btn_submit")
        browser.wait_for("the comment to be there", "return document.body && document.body.innerText.includes('브라우저에서 쓴 댓글 Qx')")
        picture(browser, "gnuboard-comment")
    holds(Guest(site, address="127.0.0.70").ask("GET", post(6)).text, "브라우저에서 쓴 댓글 Qx", "what another visitor sees")


def the_choice_of_a_version_outlasts_pages_from_memory(site):
    with Browser() as browser:
        browser.open(site.url + "/?device=mobile")
        for page in (BOARD, post(1), "/", BOARD):
            holds(shown(browser, site, page), "HandheldFriendly", f"{page} in the version for telephones")


def reading_on_costs_php_the_captchas_alone(site):
    """A browser reads sixteen pages; each post makes it request a captcha."""
    pages = [post(number) for number in range(1, 15)] + [BOARD, "/"]
    # All of them are fresh for a minute from here on.
    site.kasoku("purge", "--all")
    for page in pages:
        is_kept(site, page)
    with Browser() as browser:
        browser.open(site.url + BOARD)
        site.settle()

        def read():
            before = site.php_requests()
            for page in pages:
                browser.open(site.url + page)
                if "wr_id" in page:
                    browser.wait_for("the captcha", "const i = document.querySelector('#captcha_img'); return i && i.complete && i.naturalWidth > 0")
            site.settle()
            return site.php_requests() - before

        equal(undisturbed(site, read), 3 * 14, "requests that PHP gets for sixteen pages: those of fourteen captchas")


SCENARIOS = [
    the_next_person_in_a_browser_sees_nothing_of_a_member,
    one_member_after_the_other_sees_their_own_pages,
    back_shows_no_visitor_a_members_page,
    a_guest_comments_in_a_browser_and_sees_it_at_once,
    the_choice_of_a_version_outlasts_pages_from_memory,
    reading_on_costs_php_the_captchas_alone,
]
