"""Tests WordPress for problems that had occurred with other applications: shared browsers, unknown parameters, pages that break off, and
more.

Further ones are outages, cookies that a log-in leaves, and uploads that are programs.
"""

import time

import application
from cached_visitor import CachedVisitor
from guarded import no_shared_page_is_a_false_alarm
from scenarios import equal, holds, lacks, true
from seen import PATIENCE_SECONDS, warm
from site_under_test import PASSWORD, USER
from visitor import Visitor

POST = "/hello-world/"
ADMIN_BAR = "wpadminbar"

# Pages in whose middle PHP fails because of plugins or themes, after the status has been sent. And one that reports an error with status
# 200.
BROKEN = """<?php
add_action('wp_footer', function () {
    if (isset($_GET['s']) && $_GET['s'] === 'breaks') { flush(); no_such_function(); }
    if (isset($_GET['s']) && $_GET['s'] === 'ends') exit;
});
add_action('wp', function () {
    if (isset($_GET['s']) && $_GET['s'] === 'dies') wp_die('Not now.', 'No', ['response' => 200]);
});
"""


def no_page_is_taken_for_a_visitors_own(site, **_):
    # The posts are a minute apart. For a list of posts of the same second, MariaDB returns any ten, so the guard would compare twelve pages
    # more, and might still raise a false alarm (docs/guard.md).
    posts = [f"/buoy-{number}/" for number in range(40)]
    site.php("foreach (range(0, 39) as $n) wp_insert_post(['post_date' => sprintf('2026-01-05 10:%02d:00', $n), 'post_title' => \"Buoy $n\", 'post_name' => \"buoy-$n\", 'post_status' => 'publish', 'post_content' => 'Red.']);")
    try:
        no_shared_page_is_a_false_alarm(site, ["/", *posts])
    finally:
        site.php("foreach (get_posts(['numberposts' => -1]) as $p) if (str_starts_with($p->post_name, 'buoy-')) wp_delete_post($p->ID, true);")


def a_browser_that_was_closed_never_shows_a_members_page(site, **_):
    """A guest, an editor and a guest again use one browser, one after the other; its cache stays."""
    browser = CachedVisitor(site)
    for path in ["/", POST, "/feed/"]:
        for _ in range(2):
            lacks(browser.look(path).text, ADMIN_BAR, f"a guest's {path}")
    browser.get("/wp-login.php")
    browser.post("/wp-login.php", {"log": USER, "pwd": PASSWORD, "wp-submit": "Log In", "testcookie": "1"})
    for path in ["/", POST]:
        for _ in range(2):
            shown = browser.look(path)
            holds(shown.text, ADMIN_BAR, f"the editor's {path} ({shown.decision})")
    browser.close_windows()
    for path in ["/", POST, "/feed/"]:
        everybodys = Visitor(site).get(path)
        shown = browser.look(path)
        lacks(shown.text, ADMIN_BAR, f"what the next guest is shown of {path}")
        equal(shown.text, everybodys.text, f"the next guest's {path}")


def validators_of_wordpress_confirm_nothing(site, **_):
    """WordPress gives a feed Last-Modified, and an entity tag that is derived from it, so visitors with different feeds have the same
    ones."""
    warm(lambda: Visitor(site), "/feed/")
    feed = Visitor(site).get("/feed/")
    lacks(feed.fields, "last-modified", "the fields of a feed")
    made = "Wed, 01 Jan 2098 00:00:00 GMT"
    equal(Visitor(site).get("/feed/", **{"If-Modified-Since": made}).status, 200, "a feed that was not changed since 2098")
    equal(Visitor(site).get("/feed/", **{"If-None-Match": feed.fields["etag"]}).status, 304, "a feed by the tag of its bytes")
    equal(Visitor(site).get("/feed/", **{"If-None-Match": '"0123456789abcdef0123456789abcdef"'}).status, 200, "a feed by another tag")


def an_unknown_parameter_passes(site, **_):
    for path in ["/?color=blue", f"{POST}?lang=de", "/?s=welcome&coupon=summer", "/?code=1&state=2", f"{POST}?loggedout=true", "/?p=1&action=x"]:
        for _ in range(2):
            answer = Visitor(site).get(path)
            equal((answer.is_hit, "stored" in answer.decision), (False, False), f"{path} is shared ({answer.decision})")
    warm(lambda: Visitor(site), "/?s=welcome", "/?paged=1", f"{POST}?replytocom=1", "/?utm_source=letter", "/?feed=rss2")


def what_is_no_page_is_not_kept(site, **_):
    plugin = site.root / "wp-content" / "mu-plugins" / "broken.php"
    plugin.write_text(BROKEN)
    try:
        for path, has_an_end in [("/?s=breaks", False), ("/?s=ends", False), ("/?s=dies", True)]:
            for _ in range(2):
                answer = Visitor(site).get(path)
                equal("</html>" in answer.text, has_an_end, f"whether the page of {path} has an end")
                equal((answer.status, answer.is_hit, "stored" in answer.decision), (200, False, False), f"{path} ({answer.decision})")
    finally:
        plugin.unlink()


def while_the_database_is_away_pages_stay_and_nothing_else_is_kept(site, **_):
    site.serve(application.RULES.format(socket=site.php_socket, root=site.root) + 'ttl = "1s"\n')
    page = Visitor(site).get("/")
    equal(page.status, 200, "the front page")
    site.sql("RENAME TABLE wp_options TO away")
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "stale" not in (answer := Visitor(site).get("/")).decision:
            equal((answer.status, answer.text), (200, page.text), f"the front page without a database ({answer.decision})")
            true(time.monotonic() < deadline, f"that the front page is old ({answer.decision})")
            time.sleep(0.05)
        equal((answer.status, answer.text), (200, page.text), f"the old front page ({answer.decision})")
        other = Visitor(site).get("/?s=away")
        equal((other.status, "stored" in other.decision), (500, False), f"a page that was not there before ({other.decision})")
    finally:
        site.sql("RENAME TABLE away TO wp_options")
        site.serve(application.RULES.format(socket=site.php_socket, root=site.root))
    equal(Visitor(site).get("/?s=away").status, 200, "the page, with the database back")


def no_cookie_of_a_log_in_is_noise(site, **_):
    """Each cookie by itself makes a request pass, as a browser may lose some. The form itself leaves a cookie that is the same for all."""
    visitor = Visitor(site)
    visitor.get("/wp-login.php")
    sent = visitor.post("/wp-login.php", {"log": USER, "pwd": PASSWORD, "wp-submit": "Log In", "testcookie": "1"})
    administration = visitor.get("/wp-admin/")
    warm(lambda: Visitor(site), "/")
    names = {line.partition("=")[0] for line in sent.set_cookies + administration.set_cookies}
    true(len(names) >= 4, f"cookies that a log-in sets: {sorted(names)}")
    for name in sorted(names - {"wordpress_test_cookie"}):
        answer = Visitor(site, {name: "1"}).get("/")
        equal((answer.is_hit, name in answer.decision), (False, True), f"the front page with {name} ({answer.decision})")


def an_upload_is_never_run_and_secrets_are_not_served(site, **_):
    uploads = site.root / "wp-content" / "uploads"
    (uploads / "woocommerce_uploads").mkdir()
    for name, text in [("x.php", "<?php echo 'it ' . 'runs';"), ("x.txt", "a file"), ("woocommerce_uploads/book.txt", "what was paid for"), ("dump.sql", "a table")]:
        (uploads / name).write_text(text)
    (site.root / "wp-content" / "debug.log").write_text("a secret")
    for path in ["/wp-content/uploads/x.php", "/wp-content/uploads/x.php/y", "/wp-content/uploads/woocommerce_uploads/book.txt", "/wp-content/uploads/dump.sql",
                 "/wp-content/debug.log", "/wp-config.php", "/wp-config.php.x", "/wp-content//uploads/x.php", "/readme.html"]:
        answer = Visitor(site).get(path)
        equal(answer.status, 403, f"{path} ({answer.decision}) {answer.text[:100]}")
    equal(Visitor(site).get("/wp-content/uploads/x.txt").text, "a file", "an upload that is no program")
    equal(Visitor(site).get("/wp-config-and-more/").status, 404, "a page that begins like a file")


SCENARIOS = [
    no_page_is_taken_for_a_visitors_own,
    a_browser_that_was_closed_never_shows_a_members_page,
    validators_of_wordpress_confirm_nothing,
    an_unknown_parameter_passes,
    what_is_no_page_is_not_kept,
    while_the_database_is_away_pages_stay_and_nothing_else_is_kept,
    no_cookie_of_a_log_in_is_noise,
    an_upload_is_never_run_and_secrets_are_not_served,
]
