"""Measures how soon what an author writes shows in a search that was stored before, and in the published pages.

From version 4 on, Movable Type keeps results of a search itself for SearchCacheTTL (20 s), and no write drops them: whoever searches within
that time gets the old result, with or without Kasoku. So what a write drops is dropped once more after that time. Where Movable Type keeps
nothing (version 3.35, or `SearchCacheTTL 0`), the first answer after the write has it.
"""

import time

from scenarios import equal, holds, lacks
from searches import ADDRESSES, PROGRAMS_OWN_SECONDS
from visitor import Visitor
from writer import ApiProgram, Author

# What a busy machine may need besides.
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


    def own_search(self, path):
        """What the author gets, who is known by a cookie."""
        return self._author.elsewhere(f"127.0.4.{next(ADDRESSES) % 254 + 1}").get(path)


def what_is_written_shows_in_a_stored_search(site, **_):
    all_writes_show(site, "zaun", site.installed.is_old)


def without_movable_types_own_cache_the_first_answer_has_it(site, **_):
    """With `SearchCacheTTL 0`, nothing is old after a write: not for the author, and not for others."""
    if site.installed.is_old:
        print("        this version keeps no results itself", flush=True)
        return
    site.installed.write_config("SearchCacheTTL 0\n")
    try:
        all_writes_show(site, "gold", at_once=True)
    finally:
        site.installed.write_config()


def all_writes_show(site, stem, at_once):
    """Tries each kind of write with a word that begins with `stem`. `at_once`: the first answers after the write show it."""
    writes = Writes(site)
    late = []
    for number, prepare in enumerate(writes.kinds()):
        name, word = prepare.__name__.replace("_", " "), f"{stem}{'abcdefgh'[number]}konig"
        write, is_there = prepare(word)
        asked, seconds, decision = measured(site, site.search(word), f"There is {word}", write, is_there)
        own = writes.own_search(site.search(word))
        equal(own.is_hit, False, f"the author's search ({own.decision})")
        if seconds is not None:
            equal(f"There is {word}" in own.text, is_there, f"{name}: the author's search ({own.decision})")
        print(f"        {name}: " + (f"after {seconds:.1f} s, answer {asked}" if seconds is not None else f"not within {PATIENCE_SECONDS} s ({decision})"), flush=True)
        if seconds is None or (at_once and asked > 1):
            late.append(name)
    equal(late, [], "what does not show in the first answer" if at_once else f"what does not show within {PATIENCE_SECONDS} s")


def what_is_written_shows_on_the_front_page_at_once(site, **_):
    """Movable Type publishes it as a file, which Kasoku serves itself. Other visitors had the old page stored."""
    author = Author(site)
    for _ in range(2):
        lacks(Visitor(site).get("/index.html").text, "Wrenbird", "the front page before")
    number = author.publish("Wrenbird", "There is one.")
    author.follow()
    shows_the_file(site, "Wrenbird")
    author.delete(number)
    # Some versions publish what is left only when the author's browser has followed the next page.
    shows_the_file(site, "")


def shows_the_file(site, text):
    page = Visitor(site).get("/index.html")
    equal(page.bytes == (site.root / "index.html").read_bytes(), True, f"the front page is the file ({page.decision})")
    holds(page.text, text, f"the front page ({page.decision})")


def somebody(site):
    """A visitor who has not been seen: version 3.35 lets an address search for words once in 20 seconds."""
    return Visitor(site, address=f"127.0.5.{next(ADDRESSES) % 254 + 1}")


def measured(site, path, text, write, is_there):
    """A search that another visitor had stored before: how many answers and seconds after the write it takes until the text is in it, or no
    longer in it; and the last decision."""
    for _ in range(2):
        before = somebody(site).get(path)
        equal(text in before.text, not is_there, f"the text before ({before.decision})")
        site.until_idle()
    write()
    begun = time.monotonic()
    asked = 0
    while True:
        answer = somebody(site).get(path)
        asked += 1
        if (text in answer.text) == is_there:
            return asked, time.monotonic() - begun, answer.decision
        if time.monotonic() - begun > PATIENCE_SECONDS:
            return asked, None, answer.decision
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


SCENARIOS = [a_log_in_and_a_preview_drop_no_search, what_is_written_shows_on_the_front_page_at_once, what_is_written_shows_in_a_stored_search,
             without_movable_types_own_cache_the_first_answer_has_it]
