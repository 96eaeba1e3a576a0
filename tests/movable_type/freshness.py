"""Measures how soon what an author writes shows in a search that was stored before.

From version 4 on, Movable Type keeps results of a search itself for SearchCacheTTL (20 s), and no write drops them: whoever searches within
that time gets the old result. So what a write drops is dropped once more after that time.
"""

import time

from scenarios import equal, lacks
from visitor import Visitor
from writer import ApiProgram, Author

# SearchCacheTTL's default, and what a busy machine may need besides.
PROGRAMS_OWN_SECONDS = 20
PATIENCE_SECONDS = PROGRAMS_OWN_SECONDS + 15


class Writes:
    """The kinds of writes, a method for each: it writes `word` into the blog, or removes it."""

    def __init__(self, site):
        self._site = site
        self._author = Author(site)
        self._program = None if site.installed.is_old else ApiProgram(site)

    def kinds(self):
        kinds = [self.a_new_entry, self.an_edited_entry, self.a_deleted_entry, self.an_entry_that_is_a_draft_again]
        return kinds if self._program is None else [*kinds, self.a_new_entry_by_the_data_api]

    def a_new_entry(self, word):
        return lambda: self._author.publish("Pier", f"There is {word}.", word), True

    def an_edited_entry(self, word):
        number = self._author.publish("Pier", "There is none.")
        return lambda: self._author.publish("Pier", f"There is {word}.", word, number=number), True

    def a_deleted_entry(self, word):
        number = self._author.publish("Pier", f"There is {word}.", word)
        return lambda: self._author.delete(number), False

    def an_entry_that_is_a_draft_again(self, word):
        number = self._author.publish("Pier", f"There is {word}.", word)
        return lambda: self._author.publish("Pier", f"There is {word}.", word, number=number, status="1"), False

    def a_new_entry_by_the_data_api(self, word):
        return lambda: self._program.publish("Pier", f"There is {word}.", [word]), True


def what_is_written_shows_in_a_stored_search(site, **_):
    writes = Writes(site)
    late = []
    for number, prepare in enumerate(writes.kinds()):
        name, word = prepare.__name__.replace("_", " "), f"zaun{'abcdefgh'[number]}konig"
        write, is_there = prepare(word)
        seconds, decision = measured(site, site.search(word), f"There is {word}", write, is_there)
        print(f"        {name}: " + (f"after {seconds:.1f} s" if seconds is not None else f"not within {PATIENCE_SECONDS} s ({decision})"), flush=True)
        if seconds is None:
            late.append(name)
    equal(late, [], f"what does not show within {PATIENCE_SECONDS} s")


def measured(site, path, text, write, is_there):
    """The seconds until the text is, or is no longer, in a search that another visitor had stored before; and the last decision."""
    for _ in range(2):
        before = Visitor(site).get(path)
        equal(text in before.text, not is_there, f"the text before ({before.decision})")
        site.until_idle()
    write()
    begun = time.monotonic()
    while True:
        answer = Visitor(site).get(path)
        if (text in answer.text) == is_there:
            return time.monotonic() - begun, answer.decision
        if time.monotonic() - begun > PATIENCE_SECONDS:
            return None, answer.decision
        time.sleep(0.2)


def a_log_in_and_a_preview_drop_no_search(site, **_):
    path = site.tag("maps")
    for _ in range(2):
        Visitor(site).get(path)
        site.until_idle()
    author = Author(site)
    author.preview("Half a sen", "Half a sen")
    author.get("/mt/mt.cgi?__mode=logout")
    answer = Visitor(site).get(path)
    equal(answer.is_hit, True, f"the search after a log-in, a preview and a log-out ({answer.decision})")
    lacks(answer.text, "Half a sen", "the search")


SCENARIOS = [a_log_in_and_a_preview_drop_no_search, what_is_written_shows_in_a_stored_search]
