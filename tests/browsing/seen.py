"""How soon a write is seen: by who made it, and by somebody else whose page came from memory until then.

A kind of write is a function that makes it, and returns a visitor who made it (None: who made it does not look) and what should be seen
of it. Its pages are in memory before, so that without the policy it would show nothing.
"""

import time

# Kasoku drops what may have changed at most once a second for each tag; a machine may be busy.
PATIENCE_SECONDS = 5


class Seen:
    """A page, and what it should show after a write: a text, or no longer a text."""

    def __init__(self, path, text, is_gone=False, is_new=False):
        self.path, self._text, self._is_gone = path, text, is_gone
        # Nobody can have seen it before.
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
    """Has these pages in memory. What an earlier write may have changed is dropped once more, within a second."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not all([visitor().get(path).is_hit for path in paths]):
        if time.monotonic() > deadline:
            decisions = {path: visitor().get(path).decision for path in paths}
            raise AssertionError(f"they are not kept: {decisions}")


def measure(kinds, visitor):
    """The table: of each kind of write its name, and the seconds until everybody has seen it. `visitor` makes somebody new."""
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
    """The seconds until everybody has seen it. Its author (None: who does not look) has to see it with the first look. Both look at a path, and get an answer."""
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
                raise AssertionError(f"somebody else does not see {one}: {answer.status} {answer.decision}")
            time.sleep(0.02)
    return last


def tell(rows):
    for name, seconds in rows:
        print(f"        {name}: the author at once, others after {seconds:.2f} s", flush=True)
