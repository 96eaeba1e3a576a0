#!/usr/bin/env python3
"""Tests WordPress behind Kasoku: reading, searching, log-ins and writing, without a cache rule, with one, and with the policy.

Then come problems that had occurred with other applications, how soon a write shows, two thousand requests of forty visitors with a check
of each answer, and the purges of plugins.

All programs are real and from Debian: WordPress, php-fpm, MariaDB, and Chromium for a person's actions. Prints a line for each scenario and
`wordpress: N passed, M failed`; exits with 1 if a scenario failed. KASOKU_SCREENSHOTS=DIRECTORY saves screenshots there.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

import application  # noqa: E402
import freshness  # noqa: E402
import plugins  # noqa: E402
import pretences  # noqa: E402
import rows  # noqa: E402
from browser import Browser  # noqa: E402
from dashboard import edit, log_in, try_to_log_in  # noqa: E402
from scenarios import Tally, equal, holds, picture  # noqa: E402
from site_under_test import PASSWORD, USER, Site  # noqa: E402
from visitor import get  # noqa: E402
import visitors  # noqa: E402

# The least configuration for WordPress with a front page, named posts and a dashboard.
PLAIN = """
[[site]]
origin = "fastcgi://unix:{socket}"
root = "{root}"
try-files = ["{{path}}", "{{path}}/", "/index.php"]
"""

# The rule: pages get a lifetime of ten minutes, since WordPress says nothing about caching.
GRANTED = PLAIN + """
ttl = "10m"

[[site.rule]]
path = "/wp-admin/*"
pass = true

[[site.rule]]
path = "/wp-login.php"
pass = true
"""


# -- without a rule


def the_front_page_has_its_styles(site, browser):
    browser.open(site.url + "/")
    holds(browser.source(), "Harbour notes", "the front page")
    # Each file of the page has arrived, and the styles apply.
    missing = browser.run(
        "return performance.getEntriesByType('resource').filter(e => e.responseStatus >= 400 || !e.responseStatus).map(e => e.name)"
    )
    equal(missing, [], "files of the page that did not come")
    sheets = browser.run("return Array.from(document.styleSheets).filter(s => s.href).map(s => [s.href, s.cssRules.length])")
    if not sheets or any(rules == 0 for _, rules in sheets):
        raise AssertionError(f"styles that were not read: {sheets}")
    picture(browser, "wordpress-front")


def a_static_file_does_not_reach_php(site, **_):
    # The browser of the last scenario requests an icon after it has shown the page.
    site.settle()
    before = site.php_requests()
    answer = get(site, "/wp-includes/css/dashicons.min.css")
    equal((answer.status, answer.fields["content-type"]), (200, "text/css; charset=utf-8"), "a style sheet")
    equal(site.php_requests() - before, 0, "requests that PHP has seen for a file")


def a_post_has_a_name_of_its_own(site, **_):
    answer = get(site, "/hello-world/")
    equal(answer.status, 200, "a post by its name")
    holds(answer.text, "Hello world!", "the post")


def a_search_finds_the_post(site, **_):
    answer = get(site, "/?s=welcome")
    equal(answer.status, 200, "a search")
    holds(answer.text, "/hello-world/", "what was found")


def what_is_not_there_is_told_by_wordpress(site, **_):
    answer = get(site, "/no-such-page/")
    equal(answer.status, 404, "a page that is not there")
    holds(answer.text, "Harbour notes", "WordPress's own page")


def sources_and_copies_are_not_given_out(site, **_):
    for path in ["/wp-config.php~", "/wp-config.php%7e", "/.htaccess", "/wp-config.php.bak", "/wp-includes/images/blank.gif/x.php"]:
        answer = get(site, path)
        if answer.status not in (403, 404) or "DB_" in answer.text:
            raise AssertionError(f"{path}: {answer.status} {answer.text[:200]!r}")


def a_wrong_password_is_refused(site, browser):
    browser.open(site.url + "/wp-login.php")
    try_to_log_in(browser, USER, "wrong")
    holds(browser.text("#login_error"), "incorrect", "what the login says")


def the_right_one_opens_the_dashboard(site, browser):
    log_in(browser, site, USER, PASSWORD)
    picture(browser, "wordpress-dashboard")


def a_post_is_edited_in_the_block_editor(site, browser):
    edit(browser, site, 1, "Edited without a rule. ")
    holds(get(site, "/hello-world/").text, "Edited without a rule.", "the post as everybody sees it")


# -- with a rule


def the_second_visitor_gets_a_hit(site, **_):
    for path in ["/", "/hello-world/", "/?s=welcome"]:
        first = get(site, path)
        before = site.php_requests()
        second = get(site, path)
        equal((second.status, second.is_hit), (200, True), f"{path} again ({second.decision})")
        equal(second.text, first.text, f"the page of {path}")
        equal(site.php_requests() - before, 0, f"requests that PHP has seen for a hit of {path}")


def who_is_logged_in_has_pages_of_their_own(site, browser):
    browser.open(site.url + "/")
    if not browser.run("return document.querySelector('#wpadminbar') !== null"):
        raise AssertionError("the page of a logged-in visitor has no admin bar")
    answer = get(site, "/")
    equal((answer.is_hit, "wpadminbar" in answer.text), (True, False), "everybody's page, and whether it has the admin bar")


def an_edited_post_is_new_for_everybody_after_a_purge(site, browser):
    holds(get(site, "/hello-world/").text, "Edited without a rule.", "the post before")
    edit(browser, site, 1, "Edited with a rule. ")
    browser.open(site.url + "/hello-world/")
    holds(browser.source(), "Edited with a rule.", "the post as its author sees it at once")
    site.kasoku("purge", f"{site.url}/hello-world/")
    holds(get(site, "/hello-world/").text, "Edited with a rule.", "the post after the purge")


def explain_says_which_line_keeps_the_page(site, **_):
    said = site.kasoku("explain", site.url + "/")
    holds(said, "ttl", "why the front page is a hit")


WITHOUT_A_RULE = [
    the_front_page_has_its_styles,
    a_static_file_does_not_reach_php,
    a_post_has_a_name_of_its_own,
    a_search_finds_the_post,
    what_is_not_there_is_told_by_wordpress,
    sources_and_copies_are_not_given_out,
    a_wrong_password_is_refused,
    the_right_one_opens_the_dashboard,
    a_post_is_edited_in_the_block_editor,
]
WITH_A_RULE = [
    the_second_visitor_gets_a_hit,
    who_is_logged_in_has_pages_of_their_own,
    an_edited_post_is_new_for_everybody_after_a_purge,
    explain_says_which_line_keeps_the_page,
]


def main():
    tally = Tally("wordpress")
    with Site() as site:
        with Browser() as browser:
            for rules, scenarios in [(PLAIN, WITHOUT_A_RULE), (GRANTED, WITH_A_RULE)]:
                site.serve(rules.format(socket=site.php_socket, root=site.root))
                tally.run(scenarios, site, browser=browser)
        with Browser() as editor, Browser() as commenter, Browser() as stranger:
            site.serve(application.RULES.format(socket=site.php_socket, root=site.root))
            tally.run(application.SCENARIOS, site, editor=editor, commenter=commenter, stranger=stranger)
        tally.run(rows.SCENARIOS, site)
        tally.run(freshness.SCENARIOS, site)
        tally.run(pretences.SCENARIOS, site)
        tally.run(visitors.SCENARIOS, site)
        # This part is the last, since it changes the site's URL.
        plugins.serve(site)
        tally.run(plugins.SCENARIOS, site)
        return tally.end(site)


if __name__ == "__main__":
    sys.exit(main())
