"""Tests WordPress with `application = "wordpress"`: the pages of an anonymous visitor, an editor and a commenter, each with their own
browser.

The configuration is that of a typical user, so failures here are mistakes of the policy, crates/config/applications/wordpress.toml.
"""

import re

from dashboard import admin_bar, draft, edit, log_in, log_out, publish, waits_for_moderation
from scenarios import equal, holds, lacks, picture, true
from site_under_test import PASSWORD, USER
from visitor import Visitor

RULES = """
[[site]]
origin = "fastcgi://unix:{socket}"
root = "{root}"
try-files = ["{{path}}", "{{path}}/", "/index.php"]
application = "wordpress"
"""

# Pages that are the same for all visitors who are not logged in.
PUBLIC = ["/", "/hello-world/", "/sample-page/", "/category/uncategorized/", "/?s=welcome", "/feed/", "/comments/feed/", "/hello-world/?utm_source=letter"]

# Cookies and fields of a browser that has visited the site before, comes from another site, and runs analytics scripts.
ANALYTICS = {"_ga": "GA1.1.1736502.1768000000", "_ga_9QX7": "GS1.1.1768000000.3.1", "_fbp": "fb.1.1768000000.4242", "__utma": "1.2.3", "_gid": "GA1.2.77"}
ELSEWHERE = {"Accept-Language": "de-CH,de;q=0.9", "Referer": "https://news.example/ferries", "Accept-Encoding": "gzip"}


def anonymous_pages_are_hits_for_the_second_visitor(site, **_):
    for path in PUBLIC:
        first, second = Visitor(site), Visitor(site, ANALYTICS, "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Safari/605.1")
        filled = first.get(path)
        equal(filled.status, 200, path)
        before = site.php_requests()
        answer = second.get(path, **{name: value for name, value in ELSEWHERE.items() if name != "Accept-Encoding"})
        equal((answer.status, answer.is_hit), (200, True), f"{path} again ({answer.decision})")
        equal(answer.text, filled.text, f"the page of {path}")
        equal(answer.set_cookies, [], f"cookies set with a hit of {path}")
        equal(site.php_requests() - before, 0, f"requests that PHP has seen for a hit of {path}")
        first.close(), second.close()


def what_is_personal_passes(site, **_):
    visitor = Visitor(site)
    for path in ["/wp-login.php", "/wp-admin/admin-ajax.php?action=heartbeat", "/wp-json/wp/v2/posts", "/?p=1&preview=true", "/wp-cron.php", "/wp-login.php?action=lostpassword"]:
        for _ in range(2):
            answer = visitor.get(path)
            equal(answer.is_hit, False, f"{path} is a hit ({answer.decision})")
            lacks(answer.decision, "stored", f"{path} is stored")
        visitor.forget()


def an_editor_logs_in_and_sees_the_admin_bar(site, editor, stranger, **_):
    editor.open(site.url + "/")
    equal(admin_bar(editor), None, "the admin bar before")
    picture(editor, "wordpress-1-before-login")
    log_in(editor, site, USER, PASSWORD)
    picture(editor, "wordpress-2-dashboard")
    for path in ["/", "/hello-world/"]:
        editor.open(site.url + path)
        holds(admin_bar(editor) or "", USER, f"the admin bar on {path} after login")
        stranger.open(site.url + path)
        equal(admin_bar(stranger), None, f"what others see on {path}")
        lacks(stranger.source(), USER + "</span>", f"what others see on {path}")
    editor.open(site.url + "/")
    picture(editor, "wordpress-3-front-page-of-the-editor")
    stranger.open(site.url + "/")
    picture(stranger, "wordpress-4-front-page-of-a-stranger")


def a_draft_and_its_preview_are_for_its_author_alone(site, editor, stranger, **_):
    number = draft(editor, site, "The ferry timetable", "Sails at dawn.")
    picture(editor, "wordpress-5-draft")
    for path in [f"/?p={number}&preview=true", f"/?p={number}"]:
        editor.open(site.url + path)
        holds(editor.source(), "Sails at dawn.", f"the author's {path}")
        picture(editor, "wordpress-6-preview")
        stranger.open(site.url + path)
        lacks(stranger.source(), "ferry timetable", f"a stranger's {path}")
        lacks(stranger.source(), "Sails at dawn.", f"a stranger's {path}")
    for path in [*PUBLIC, "/?s=ferry", "/wp-json/wp/v2/posts", "/wp-sitemap.xml"]:
        lacks(Visitor(site).get(path).text, "ferry timetable", f"{path} for everybody")
    site.draft = number


def the_editor_publishes_and_sees_it_at_once(site, editor, stranger, **_):
    publish(editor, site, site.draft)
    picture(editor, "wordpress-7-published")
    editor.open(site.url + "/")
    holds(editor.source(), "The ferry timetable", "the editor's front page")
    stranger.open(site.url + "/the-ferry-timetable/")
    holds(stranger.source(), "Sails at dawn.", "the post, which no visitor has asked for before")
    # The front page may be as old as its lifetime; a purge shows the post at once.
    site.kasoku("purge", "--prefix", site.url + "/")
    stranger.open(site.url + "/")
    holds(stranger.source(), "The ferry timetable", "everybody's front page after a purge")
    picture(stranger, "wordpress-8-stranger-after-publishing")


def an_edit_shows_to_its_author_at_once(site, editor, **_):
    first = Visitor(site).get("/hello-world/")
    equal(first.status, 200, "the post")
    edit(editor, site, 1, "Edited behind the policy. ")
    editor.open(site.url + "/hello-world/")
    holds(editor.source(), "Edited behind the policy.", "the author's page")
    site.kasoku("purge", f"{site.url}/hello-world/")
    holds(Visitor(site).get("/hello-world/").text, "Edited behind the policy.", "everybody's page after a purge")


def the_logged_in_editor_comments(site, editor, **_):
    for _ in range(2):
        before = Visitor(site).get("/hello-world/")
    true(before.is_hit, f"a hit of the post ({before.decision})")
    editor.open(site.url + "/hello-world/")
    editor.fill("#comment", "The editor was here.")
    editor.click("#submit")
    editor.wait_for("the comment", "return document.readyState === 'complete' && document.body.innerText.includes('The editor was here.')")
    picture(editor, "wordpress-9-comment-of-the-editor")
    holds(admin_bar(editor) or "", USER, "the admin bar after the comment")
    # The form redirects to the post, which Kasoku therefore drops.
    holds(Visitor(site).get("/hello-world/").text, "The editor was here.", "everybody's page, which was a hit before")


def a_comment_that_waits_is_seen_by_its_author_alone(site, commenter, stranger, **_):
    commenter.open(site.url + "/hello-world/")
    commenter.fill("#comment", "I was on that ferry.")
    commenter.fill("#author", "Perpetua Quill")
    commenter.fill("#email", "perpetua@quill.example")
    commenter.click("#wp-comment-cookies-consent")
    commenter.click("#submit")
    commenter.wait_for("the comment", "return document.readyState === 'complete' && document.body.innerText.includes('I was on that ferry.')")
    true(waits_for_moderation(commenter), "that the comment waits for moderation")
    picture(commenter, "wordpress-10-comment-awaits-moderation")
    # The URL lacks the parameters of the redirect, so only the cookie names the visitor.
    commenter.open(site.url + "/hello-world/")
    holds(commenter.source(), "I was on that ferry.", "the page for the comment's author")
    equal(commenter.run("return document.querySelector('#author').value"), "Perpetua Quill", "the name in the author's form")
    for path in ["/hello-world/", "/", "/comments/feed/"]:
        stranger.open(site.url + path)
        for secret in ["I was on that ferry.", "Perpetua Quill", "perpetua@quill.example"]:
            lacks(stranger.source(), secret, f"a stranger's {path}")
    stranger.open(site.url + "/hello-world/")
    picture(stranger, "wordpress-11-stranger-beside-the-comment")


def a_comment_without_consent_is_seen_by_its_author_alone(site, **_):
    """A commenter who declines cookies is redirected to a URL with the comment's number and a hash, which shows the comment."""
    commenter, stranger = Visitor(site), Visitor(site)
    form = {"comment": "No cookies for me.", "author": "Auberon Flint", "email": "auberon@flint.example", "comment_post_ID": "1", "comment_parent": "0"}
    sent = commenter.post("/wp-comments-post.php", form)
    equal(sent.status, 302, "the comment")
    where = sent.fields["location"].removeprefix(site.url).partition("#")[0]
    holds(where, "moderation-hash", "where it leads to")
    for _ in range(2):
        shown = commenter.get(where)
        holds(shown.text, "No cookies for me.", "what its author sees")
        lacks(shown.decision, "stored", "what Kasoku does with it")
    lacks(stranger.get("/hello-world/").text, "No cookies for me.", "what others see")


def a_password_opens_a_post_to_the_visitor_who_gave_it(site, stranger, **_):
    path = "/members-evening/"
    site.post("Members evening", "The key is under the mat.", password="seagull")
    anonymous = Visitor(site)
    lacks(anonymous.get(path).text, "under the mat", "the page of those without the password")
    stranger.open(site.url + path)
    picture(stranger, "wordpress-12-password-wanted")
    stranger.fill("input[name=post_password]", "seagull")
    stranger.click("input[name=Submit]")
    stranger.wait_for("the post", "return document.readyState === 'complete' && document.body.innerText.includes('under the mat')")
    picture(stranger, "wordpress-13-password-given")
    # The password was sent to another URL, but the answer redirected to this one, so its stored page was dropped (RFC 9111 section 4.4).
    lacks(anonymous.get(path).text, "under the mat", "the page of those without it")
    answer = anonymous.get(path)
    equal((answer.is_hit, "under the mat" in answer.text), (True, False), f"the page of those without it ({answer.decision})")
    # In the following scenarios this browser is a stranger's again.
    stranger.forget_cookies()


def a_members_post_is_not_stored_for_who_left(site, editor, stranger, **_):
    """A private post is a 404 at the same URL for all visitors but its editors."""
    site.post("Harbour dues", "Seventeen crowns.", status="private")
    editor.open(site.url + "/harbour-dues/")
    holds(editor.source(), "Seventeen crowns.", "the editor's page")
    stranger.open(site.url + "/harbour-dues/")
    lacks(stranger.source(), "Seventeen crowns.", "a stranger's page")


def after_logging_out_it_is_everybodys_page_again(site, editor, **_):
    Visitor(site).get("/")
    log_out(editor, site)
    picture(editor, "wordpress-14-logged-out")
    editor.open(site.url + "/")
    equal(admin_bar(editor), None, "the admin bar")
    picture(editor, "wordpress-15-front-page-after-logout")
    before = site.php_requests()
    # Requests the page with the browser's remaining cookies, by a client that sees `Cache-Status`.
    left = {cookie["name"]: cookie["value"] for cookie in editor.cookies()}
    answer = Visitor(site, left).get("/")
    equal((answer.is_hit, site.php_requests() - before), (True, 0), f"the front page with the cookies that are left, {sorted(left)} ({answer.decision})")


def no_visitor_is_served_what_was_stored_for_a_member(site, stranger, **_):
    for path in [*PUBLIC, "/the-ferry-timetable/", "/members-evening/"]:
        text = Visitor(site).get(path).text
        for marker in ["wpadminbar", "logged-in", "under the mat", "Seventeen crowns", "I was on that ferry", "Perpetua", "perpetua@", "No cookies for me", "editor@example.org"]:
            lacks(text, marker, f"{path} for everybody")
        equal(re.findall(r"_wpnonce=\w+", text), [], f"nonces in {path}")


def explain_names_the_line_of_the_policy(site, **_):
    said = site.kasoku("explain", "-H", "Cookie: wordpress_logged_in_0123=x", site.url + "/")
    holds(said, "wordpress_logged_in_", "why a logged-in visitor passes")
    said = site.kasoku("explain", site.url + "/hello-world/")
    holds(said, "wordpress.toml", "which line keeps the page")


SCENARIOS = [
    anonymous_pages_are_hits_for_the_second_visitor,
    what_is_personal_passes,
    an_editor_logs_in_and_sees_the_admin_bar,
    a_draft_and_its_preview_are_for_its_author_alone,
    the_editor_publishes_and_sees_it_at_once,
    an_edit_shows_to_its_author_at_once,
    the_logged_in_editor_comments,
    a_comment_that_waits_is_seen_by_its_author_alone,
    a_comment_without_consent_is_seen_by_its_author_alone,
    a_password_opens_a_post_to_the_visitor_who_gave_it,
    a_members_post_is_not_stored_for_who_left,
    after_logging_out_it_is_everybodys_page_again,
    no_visitor_is_served_what_was_stored_for_a_member,
    explain_names_the_line_of_the_policy,
]
