#!/usr/bin/env python3
"""Tests the simulated browser cache, with a simulated clock: python3 -B tests/browsing/test_browser_cache.py"""

import email.utils
import sys
import unittest
from types import SimpleNamespace

from browser_cache import BrowserCache

NOON = 1_800_000_000.0
URL = "/page"


def at(seconds):
    return email.utils.formatdate(NOON + seconds, usegmt=True)


def answer(status=200, text="page", **fields):
    fields = {name.replace("_", "-"): value for name, value in fields.items()}
    return SimpleNamespace(status=status, text=text, fields={"date": at(0), **fields}, set_cookies=[])


class Browser:
    """A browser with the cache; the test plays the server and sets the clock."""

    def __init__(self):
        self.cache = BrowserCache()
        self.now = NOON
        self.sent = []

    def get(self, served, **request):
        request = {name.replace("_", "-"): value for name, value in request.items()}
        found = self.cache.find(URL, request, self.now)
        if found.answer is not None:
            return found.answer.text
        self.sent.append(found.conditions)
        return self.cache.take(URL, request, served, self.now, self.now).text


class Cases(unittest.TestCase):
    def setUp(self):
        self.browser = Browser()

    def kept(self, seconds, first, **request):
        """Whether the browser shows `first` again after `seconds`, without a request."""
        self.browser.get(first, **request)
        self.browser.now += seconds
        return self.browser.get(answer(text="another"), **request) == first.text

    def test_max_age_counts_before_expires(self):
        self.assertTrue(self.kept(59, answer(cache_control="max-age=60", expires=at(-1))))

    def test_max_age_ends(self):
        self.assertFalse(self.kept(60, answer(cache_control="max-age=60")))

    def test_age_in_other_caches_counts(self):
        self.assertFalse(self.kept(30, answer(cache_control="max-age=60", age="40")))

    def test_lifetimes_of_shared_caches_do_not_count(self):
        self.assertFalse(self.kept(1, answer(cache_control="s-maxage=600")))

    def test_private_responses_are_kept(self):
        self.assertTrue(self.kept(1, answer(cache_control="private, max-age=60")))

    def test_expires_counts(self):
        self.assertTrue(self.kept(59, answer(expires=at(60))))

    def test_expires_that_is_no_date_has_passed(self):
        self.assertFalse(self.kept(0, answer(expires="0", last_modified=at(-10**6))))

    def test_a_tenth_of_the_time_since_the_change(self):
        self.assertTrue(self.kept(99, answer(last_modified=at(-1000))))

    def test_no_more_than_a_tenth(self):
        self.assertFalse(self.kept(100, answer(last_modified=at(-1000))))

    def test_without_any_time_nothing_is_fresh(self):
        self.assertFalse(self.kept(0, answer()))

    def test_no_store_is_not_stored(self):
        self.browser.get(answer(cache_control="no-store, max-age=60", etag='"a"'))
        self.assertFalse(self.browser.cache.has(URL))

    def test_no_store_voids_what_was_stored(self):
        self.browser.get(answer(etag='"a"'))
        self.browser.get(answer(cache_control="no-store"))
        self.assertFalse(self.browser.cache.has(URL))

    def test_no_cache_is_stored_and_asked_about(self):
        self.browser.get(answer(cache_control="no-cache, max-age=60", etag='"a"'))
        self.assertEqual(self.browser.get(answer(status=304)), "page")
        self.assertEqual(self.browser.sent[1], {"If-None-Match": '"a"'})

    def test_pragma_is_no_cache(self):
        self.assertFalse(self.kept(0, answer(cache_control="max-age=60", pragma="no-cache")))

    def test_what_gnuboard_says_is_stored_and_asked_about(self):
        page = answer(expires="0", last_modified=at(0), cache_control="pre-check=0, post-check=0, max-age=0", pragma="no-cache")
        self.assertFalse(self.kept(0, page))
        self.assertEqual(self.browser.sent[1], {"If-Modified-Since": at(0)})

    def test_a_304_shows_what_is_stored_and_renews_it(self):
        self.browser.get(answer(cache_control="max-age=60", etag='"a"'))
        self.browser.now += 100
        self.assertEqual(self.browser.get(answer(status=304, text="", cache_control="max-age=60", date=at(100))), "page")
        self.browser.now += 59
        self.assertEqual(self.browser.get(answer(text="another")), "page")

    def test_a_304_does_not_replace_what_describes_the_content(self):
        self.browser.get(answer(etag='"a"', content_type="text/html"))
        found = self.browser.cache.take(URL, {}, answer(status=304, content_type="text/plain", x="1"), NOON, NOON)
        self.assertEqual((found.status, found.fields["content-type"], found.fields["x"]), (200, "text/html", "1"))

    def test_a_reload_asks(self):
        self.browser.get(answer(cache_control="max-age=60", etag='"a"'))
        self.browser.get(answer(status=304), cache_control="max-age=0")
        self.browser.get(answer(status=304), cache_control="no-cache")
        self.assertEqual(self.browser.sent[1:], [{"If-None-Match": '"a"'}] * 2)

    def test_vary_wants_the_same_cookies(self):
        self.browser.get(answer(cache_control="max-age=60", vary="Cookie"), cookie="a=1")
        self.assertEqual(self.browser.get(answer(text="another"), cookie="a=1"), "page")
        self.assertEqual(self.browser.get(answer(text="another"), cookie="a=2"), "another")

    def test_another_variant_is_asked_about_by_its_tag_alone(self):
        self.browser.get(answer(etag='"a"', last_modified=at(-1), vary="Accept-Encoding, Cookie"), cookie="a=1")
        self.browser.get(answer(status=304), cookie="a=2")
        self.assertEqual(self.browser.sent[1], {"If-None-Match": '"a"'})

    def test_vary_on_everything_never_fits(self):
        self.assertFalse(self.kept(0, answer(cache_control="max-age=60", vary="*")))

    def test_redirects_need_a_lifetime(self):
        self.browser.get(answer(status=302, location="/"))
        self.assertFalse(self.browser.cache.has(URL))
        self.browser.get(answer(status=302, location="/", cache_control="max-age=60"))
        self.assertTrue(self.browser.cache.has(URL))

    def test_a_post_voids_what_is_stored(self):
        self.browser.get(answer(cache_control="max-age=60"))
        self.browser.cache.invalidate("POST", URL, answer(status=403))
        self.assertTrue(self.browser.cache.has(URL))
        self.browser.cache.invalidate("POST", URL, answer(status=302))
        self.assertFalse(self.browser.cache.has(URL))

    def test_an_error_does_not_void_what_is_stored(self):
        self.browser.get(answer(etag='"a"'))
        self.assertEqual(self.browser.get(answer(status=502, text="bad")), "bad")
        self.assertEqual(self.browser.get(answer(status=304)), "page")


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"browser cache: {result.testsRun - failed} passed, {failed} failed")
    sys.exit(not result.wasSuccessful())
