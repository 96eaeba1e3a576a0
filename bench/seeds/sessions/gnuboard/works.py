"""Checks which functions of gnuboard5 still work behind a front. Each check reads a page until a cache has stored it, and then acts as a
visitor."""

import hashlib
import time

from guest import Guest, Refused
from site_under_test import GUEST_PASSWORD, SECRETS_BOARD
from window import NAVIGATION

BOARD = "/bbs/board.php?bo_table=free"
COMMENT = "등대지기의 새 댓글"
# Kasoku sends the beacon after the answer.
TOLD_SECONDS_MAX = 3


def found(site):
    """Whether each function works, by name."""
    return {name: is_so(site) for name, is_so in CHECKS.items()}


def kept(site, path):
    """The page after two new guests have read it, so that a cache has stored it."""
    for host in (41, 42):
        text = Guest(site, address=f"127.0.0.{host}").ask("GET", path, NAVIGATION).text
    return text


def post(number):
    return f"{BOARD}&wr_id={number}"


def comment(site, number):
    """A guest who has just commented on that post, with the page that follows."""
    kept(site, post(number))
    guest = Guest(site, address="127.0.0.43")
    guest.comment("free", number, COMMENT, password=GUEST_PASSWORD)
    return guest


def the_writer_sees_a_comment_at_once(site):
    return COMMENT in comment(site, site.content["posts"]["free"][10]).page.text


def others_see_a_comment_at_once(site):
    number = site.content["posts"]["free"][11]
    comment(site, number)
    return COMMENT in Guest(site, address="127.0.0.44").look(post(number)).text


def a_file_is_given(site):
    number, files = next(iter(site.content["attachments"].items()))
    kept(site, post(number))
    try:
        return hashlib.md5(Guest(site, address="127.0.0.45").download("free", number).bytes).hexdigest() == files[0]["md5"]
    except Refused:
        return False


def a_secret_post_opens(site):
    try:
        page = Guest(site, address="127.0.0.46").open_secret(SECRETS_BOARD, site.content["secret_post"], GUEST_PASSWORD)
    except Refused:
        return False
    return '<article id="bo_v"' in page.text


def the_shop_shows_the_cart(site):
    kept(site, "/shop/")
    guest = Guest(site, address="127.0.0.47")
    guest.put_into_cart(site.content["items"][1])
    return '<span class="cart-count">1</span>' in guest.look("/shop/").text


def a_closed_notice_stays_closed(site):
    notice = "오늘은 안개가 낍니다"
    shown = kept(site, "/")
    closed = Guest(site, address="127.0.0.48", cookies={f"hd_pops_{site.content['popup']}": "1"}).look("/").text
    return notice in shown and notice not in closed


def the_chosen_version_stays(site):
    kept(site, BOARD)
    guest = Guest(site, address="127.0.0.49")
    guest.look("/?device=mobile")
    return "HandheldFriendly" in guest.look(BOARD).text


def each_view_of_a_post_is_counted(site):
    number = site.content["posts"]["free"][12]
    before = views(site, number)
    for host in range(50, 55):
        Guest(site, address=f"127.0.0.{host}").look(post(number))
    return views(site, number) - before == 5


def each_reader_of_a_list_is_counted(site):
    kept(site, BOARD)
    wanted = visits(site) + 5
    for host in range(60, 65):
        Guest(site, address=f"127.0.0.{host}").look(BOARD)
    deadline = time.monotonic() + TOLD_SECONDS_MAX
    while visits(site) < wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    return visits(site) == wanted


def visits(site):
    """The number of visitors that gnuboard5 has counted, all days together."""
    return int(site.sql("SELECT COALESCE(SUM(vs_count), 0) FROM g5_visit_sum")[0][0])


def views(site, number):
    return int(site.sql(f"SELECT wr_hit FROM g5_write_free WHERE wr_id = {number}")[0][0])


CHECKS = {
    "own-comment": the_writer_sees_a_comment_at_once,
    "new-comment": others_see_a_comment_at_once,
    "file": a_file_is_given,
    "secret": a_secret_post_opens,
    "cart": the_shop_shows_the_cart,
    "notice": a_closed_notice_stays_closed,
    "device": the_chosen_version_stays,
    "visits": each_reader_of_a_list_is_counted,
    "views": each_view_of_a_post_is_counted,
}
