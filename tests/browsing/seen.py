"""Measures how soon a write shows: to its author, and to another visitor whose page was a hit until then.

A kind of write is a function that makes the write. It returns the author (None if the author does not look) and what pages should then
show. Those pages are stored before, so that the write would not show without the policy. """

import time

# Kasoku drops pages that may have changed at most once a second for each tag; and the machine may be busy.
PATIENCE_SECONDS = 5


class Seen:
    """A page, and the text that it should show after a write, or should no longer show."""

    def __init__(self, path, text, is_gone=False, is_new=False):
        self.path, self._text, self._is_gone = path, text, is_gone
        # A new page can't have been stored before.
        self.is_new = is_new

    def by(self, answer):
        return (self._text in answer.text) != self._is_gone

    def __str__(self):
        return f"{self.path} {'without' if self._is_gone else 'with'} {self._text!r}"


def shows(path, text, is_new=False):
    return Seen(path, text, is_new=is_new)


def no_longer(path, text):
    return Seen(path, text, is_gone=True)


def warm(visitor, *paths):
    """Requests these pages until all are hits. Kasoku may drop them once more within a second after an earlier write."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not all([visitor().get(path).is_hit for path in paths]):
        if time.monotonic() > deadline:
            decisions = {path: visitor().get(path).decision for path in paths}
            raise AssertionError(f"they are not kept: {decisions}")


def measure(kinds, visitor):
    """The table: for each kind of write its name, and the seconds until it shows to all. `visitor` makes a new visitor."""
    rows = []
    for write in kinds:
        author, expected = write()
        try:
            looks = None if author is None else author.get
            rows.append((write.__name__.replace("_", " "), seconds(expected, looks, lambda path: visitor().get(path))))
        except AssertionError as error:
            raise AssertionError(f"{write.__name__.replace('_', ' ')}: {error}") from error
    return rows


def seconds(expected, author_looks, another_looks):
    """The seconds until the write shows to all. Its author (None if the author does not look) must see it in the first answer. Both
    arguments are functions from a path to an answer."""
    begun = time.monotonic()
    last = 0.0
    if author_looks is not None:
        for one in expected:
            answer = author_looks(one.path)
            if not one.by(answer):
                raise AssertionError(f"its author does not see {one}: {answer.status} {answer.decision}")
    for one in expected:
        while not one.by(answer := another_looks(one.path)):
            last = time.monotonic() - begun
            if last > PATIENCE_SECONDS:
                raise AssertionError(f"another visitor does not see {one}: {answer.status} {answer.decision}")
            time.sleep(0.02)
    return last


def tell(rows):
    for name, seconds in rows:
        print(f"        {name}: the author at once, others after {seconds:.2f} s", flush=True)
