"""Tests that the leak guard raises no false alarm on the program's pages, and finds a plugin that makes a page for one visitor."""

import time

from guest import PHONE, Guest
from scenarios import equal, holds, true
from servers import counted
from site_under_test import GUEST_PASSWORD
from window import DESKTOP

# A plugin of the site that shows visitors their address, on one page. It writes the address backwards: a page with the address itself is not stored,
# and the guard has nothing to find.
PLUGIN = """<?php
if (strpos($_SERVER['SCRIPT_NAME'], '/bbs/faq.php') !== false)
    add_event('tail_sub', function () { echo '<p id="mine">' . strrev($_SERVER['REMOTE_ADDR']) . '</p>'; });
"""
# The guard compares one hit in some 256, and at most one a second; three thousand hits without a pause may take less than a second.
REQUESTS_MAX = 9000
PAUSE_S = 0.002


def pages(site):
    """Some pages of each kind."""
    content = site.content
    lists = ["/", "/bbs/board.php?bo_table=free", "/bbs/board.php?bo_table=free&page=2", "/bbs/board.php?bo_table=notice", "/bbs/board.php?bo_table=qa",
             "/bbs/board.php?bo_table=gallery", "/bbs/group.php?gr_id=community", "/bbs/new.php", "/bbs/faq.php", "/free", "/free/5",
             f"/bbs/content.php?co_id={content['content']}", "/bbs/board.php?bo_table=free&sfl=wr_subject&stx=F1"]
    posts = [f"/bbs/board.php?bo_table={board}&wr_id={number}" for board in ("free", "notice") for number in content["posts"][board]]
    return lists + ["/shop/", "/shop/list.php?ca_id=10"] + posts + [f"/shop/item.php?it_id={item}" for item in content["items"]]


def look_at(site, user_agent=DESKTOP):
    """Requests each page until it is a hit, so that the guard has compared each kind; returns their number."""
    for path in pages(site):
        for address in ("127.0.0.91", "127.0.0.92"):
            answer = Guest(site, address=address, user_agent=user_agent).ask("GET", path)
        if not answer.is_hit:
            raise AssertionError(f"{path} is not kept: {answer.decision}: {site.kasoku('explain', site.url + path)}")
    return len(pages(site))


def look_at_news(site):
    """The same after a guest has written: lists and posts then have marks of what is new, which the guard compares as well."""
    guest = Guest(site, address="127.0.0.94")
    for board in ("free", "notice"):
        guest.comment(board, guest.write(board, "소식", "내용", password=GUEST_PASSWORD), "댓글", password=GUEST_PASSWORD)
    return look_at(site) + look_at(site, PHONE)


def no_page_of_the_program_is_a_false_alarm(site):
    checks, blocked = counted(site, "guard_checks"), counted(site, "guard_blocked")
    looks = look_at(site) + look_at(site, PHONE) + look_at_news(site)
    true(looks >= 100, looks)
    true(counted(site, "guard_checks") > checks, "nothing was compared")
    equal(counted(site, "guard_blocked"), blocked, "patterns that were found to differ")


def a_plugin_that_shows_each_visitor_an_address_is_found(site):
    page, blocked = "/bbs/faq.php", counted(site, "guard_blocked")
    plugin = site.root / "extend" / "mine.extend.php"
    plugin.write_text(PLUGIN)
    try:
        site.kasoku("purge", "--all")
        visitor = Guest(site, address="127.0.0.93")
        for number in range(REQUESTS_MAX):
            answer = visitor.ask("GET", page)
            if "leak-guard" in answer.decision:
                break
            time.sleep(PAUSE_S)
        holds(answer.decision, "leak-guard", f"what becomes of {page} after {number} requests")
        holds(answer.text, '<p id="mine">39.0.0.721</p>', "the page is the visitor's own")
        equal(counted(site, "guard_blocked"), blocked + 1, "patterns that were found to differ")
        said = site.kasoku("explain", site.url + page)
        holds(said, '<p id="mine">', "the explanation")
        true(".311.0.302" in said or ".001.15.891" in said, said)
    finally:
        plugin.unlink()


SCENARIOS = [no_page_of_the_program_is_a_false_alarm]
# Runs last, since its page is not shared afterwards.
LAST = [a_plugin_that_shows_each_visitor_an_address_is_found]
