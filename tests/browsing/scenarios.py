"""Runs scenarios one after the other and prints the result of each; has the assertions that they use."""

import os
import re
import traceback
from pathlib import Path


class Tally:
    """Counts the scenarios that passed and failed."""

    def __init__(self, part):
        self._part = part
        self._passed = self._failed = 0

    def run(self, scenarios, site, **browsers):
        """Runs the scenarios. Each is a function of the site and of those browsers; its name says what it shows."""
        for scenario in scenarios:
            name = scenario.__name__.replace("_", " ")
            try:
                scenario(site, **browsers)
                print(f"ok      {name}", flush=True)
                self._passed += 1
            except Exception:  # any error fails this scenario alone, and the others still run
                print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
                for who, browser in browsers.items():
                    self._picture_of_failure(browser, f"{who}-{name}")
                self._failed += 1

    def end(self, site):
        """Prints the totals; returns the exit status."""
        if self._failed:
            print(site.said()[-4000:])
        print(f"{self._part}: {self._passed} passed, {self._failed} failed")
        return 1 if self._failed else 0

    def _picture_of_failure(self, browser, name):
        try:
            picture(browser, f"failed-{self._part}-{name}")
        except Exception as error:  # the browser itself may have failed
            print(f"no picture: {error}")


def picture(browser, name):
    """Saves a screenshot of the browser if KASOKU_SCREENSHOTS names a directory."""
    if directory := os.environ.get("KASOKU_SCREENSHOTS"):
        browser.screenshot(Path(directory) / (re.sub(r"\W+", "-", name) + ".png"))


def equal(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r} instead of {wanted!r}")


def true(found, what):
    if not found:
        raise AssertionError(f"{what}: {found!r}")


def holds(text, words, what):
    if words not in text:
        raise AssertionError(f"{what}: {words!r} is not in it: {text[:600]!r}")


def lacks(text, words, what):
    if words in text:
        at = text.index(words)
        raise AssertionError(f"{what}: {words!r} is in it: {text[max(0, at - 200):at + 200]!r}")
