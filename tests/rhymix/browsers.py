"""Tests Chromium on a board of Rhymix: a guest who comments from a shared page, and a member who logs in and out."""

from browser import Browser
from freshness import word
from install import MEMBER_PASSWORD, MEMBERS
from people import Person
from scenarios import equal, holds, lacks, picture, true
from seen import warm

MEMBER = "member1"
GREETING = f'alt="{MEMBERS[MEMBER]}"'
LOGIN = "/index.php?mid=board&act=dispMemberLoginForm"
LOGOUT = "dispMemberLogout"


def token(browser):
    return browser.run("return document.querySelector('meta[name=csrf-token]').content")


def is_a_guests(text, what):
    holds(text, "</html>", f"{what} is a page")
    lacks(text, LOGOUT, what)
    lacks(text, GREETING, what)


def is_the_members(text, what):
    holds(text, LOGOUT, what)
    holds(text, GREETING, what)


def a_guest_comments_in_a_browser_and_sees_it_at_once(site):
    """The guest gets a hit, whose token is empty, and no session; Rhymix's own script sends the form."""
    path, text = f"/board/{site.content['posts']['board'][7]}", word()
    warm(lambda: Person(site), path)
    with Browser() as browser:
        browser.open(site.url + path)
        equal(token(browser), "", "the token of a shared page")
        true(not any(cookie["name"] == "PHPSESSID" for cookie in browser.cookies()), "a shared page brings no session")
        browser.fill("#userName", "Tern")
        browser.fill("#userPw", "seagull")
        browser.wait_for("the editor", "return window.CKEDITOR && Object.values(CKEDITOR.instances).some(one => one.status == 'ready')")
        browser.run("Object.values(CKEDITOR.instances)[0].setData(arguments[0])", f"<p>{text}</p>")
        browser.click("#write_comment .btn_insert")
        browser.wait_for("the comment", "return document.readyState == 'complete' && [...document.querySelectorAll('#comment .fbItem')]"
                         ".some(one => one.innerText.includes(arguments[0]))", text)
        picture(browser, "rhymix-comment")
    holds(Person(site).get(path).text, text, "what another visitor sees")


def a_member_logs_in_and_out_in_a_browser_and_back_shows_no_members_page(site):
    posts = [f"/board/{post}" for post in site.content["posts"]["board"][8:11]]
    warm(lambda: Person(site), "/board", *posts)
    with Browser() as browser:
        browser.open(site.url + posts[0])
        is_a_guests(browser.source(), "what a guest is shown")
        browser.open(site.url + LOGIN)
        browser.fill("#fo_member_login [name=user_id]", MEMBER)
        browser.fill("#fo_member_login [name=password]", MEMBER_PASSWORD)
        browser.click("#fo_member_login [type=submit]")
        browser.wait_for("the log-in to be done", f"return document.documentElement.outerHTML.includes('{LOGOUT}')")
        for path in [*posts, "/board"]:
            browser.open(site.url + path)
            is_the_members(browser.source(), f"{path} as the member reads it")
        true(len(token(browser)) > 0, "the member's page has a token")
        picture(browser, "rhymix-member")
        browser.back()
        is_the_members(browser.source(), "the member goes back")
        browser.open(site.url + f"/index.php?mid=board&act={LOGOUT}")
        for path in [posts[0], "/board"]:
            browser.open(site.url + path)
            is_a_guests(browser.source(), f"{path} after the log-out")
        picture(browser, "rhymix-after-log-out")
        for _ in range(6):
            browser.back()
            is_a_guests(browser.source(), f"what `back` shows after the log-out, at {browser.url()}")


SCENARIOS = [a_guest_comments_in_a_browser_and_sees_it_at_once, a_member_logs_in_and_out_in_a_browser_and_back_shows_no_members_page]
