"""Sends requests of forty visitors in random order to WordPress behind Kasoku, and checks each answer.

For any order of requests, this must hold:

- No answer, head or body, contains another visitor's secret: name, login, address, title of a draft, words of a comment that waits, nonce,
  or value of a cookie (population.py).
- The marks of a logged-in visitor are in the pages of logged-in visitors, and in no others; each of these pages has its visitor's name.
- A post behind a password shows only to visitors who have entered the password.
- A hit sets no cookie. Only its owner gets a cookie that was set.

More than half of the requests of strangers must be hits; else the test would show too little.

A seed repeats the list of requests, but not how the threads interleave.
"""

import html
import random
import threading

from population import BEHIND_THE_PASSWORD, LOGGED_IN, PROTECTED, populate
from visitor import Visitor

THREADS = 8
# The most mistakes before a run ends, enough to see what went wrong.
FOUND_MAX = 20


class Oracle:
    """Knows what each visitor may see. Several threads may use it."""

    def __init__(self, people):
        self.people = people
        self.found = []
        self.checked = self.strangers = self.hits = 0
        self._lock = threading.Lock()

    def check(self, person, where, answer):
        """Checks one answer, after its visitor has recorded its own secrets from it."""
        head = "\n".join(f"{name}: {value}" for name, value in answer.fields.items())
        text = html.unescape(head + "\n" + "\n".join(answer.set_cookies) + "\n" + answer.text)
        # A secret of two visitors is a mistake as well: both got it from one answer.
        wrong = [f"it has {secret!r} of {other.name}" for other in self.people if other is not person for secret in tuple(other.secrets) if secret in text]
        wrong += self._state(person, where, answer)
        if answer.is_hit and answer.set_cookies:
            wrong.append(f"a hit sets {answer.set_cookies}")
        if answer.status >= 500:
            wrong.append(f"its status is {answer.status}")
        with self._lock:
            self.checked += 1
            if person.kind in ("reader", "measured", "newcomer"):
                self.strangers += 1
                self.hits += answer.is_hit
            if len(self.found) < FOUND_MAX:
                self.found += [f"{person.name} at {where} ({answer.decision}): {what}" for what in wrong]

    @staticmethod
    def _state(person, where, answer):
        """Mistakes of a page that was not made for this visitor's current state."""
        wrong = []
        is_page = answer.status in (200, 404) and answer.text and answer.fields.get("content-type", "").startswith("text/html") and not where.startswith("/wp-")
        if is_page:
            marks = sorted(set(LOGGED_IN.findall(answer.text)))
            if person.is_logged_in and (not marks or person.display not in answer.text):
                wrong.append(f"the page of a logged-in visitor has only {marks}, and its name: {person.display in answer.text}")
            if not person.is_logged_in and marks:
                wrong.append(f"the page of a visitor who is not logged in has {marks}")
        is_open = BEHIND_THE_PASSWORD in answer.text
        if is_open and not person.has_password:
            wrong.append("it has what is behind the password, which was not given")
        if where == PROTECTED and answer.text and person.has_password and not is_open:
            wrong.append("the post is closed, though the password was given")
        if person.draft and "preview=true" in where and person.draft_title not in answer.text:
            wrong.append("the preview of the draft is missing")
        return wrong


def run(site, crew, requests, seed, reloads=(), visitor=Visitor):
    """Lets the visitors send requests; returns the oracle with its mistakes. `reloads` are called one after the other, evenly spread over
    the requests."""
    people = populate(site, crew, visitor)
    oracle = Oracle(people)
    draws = random.Random(seed)
    steps = [(person, *person.next(draws)) for person in draws.choices(people, k=requests)]
    steps.reverse()
    reloads = [(requests * (number + 1) // (len(reloads) + 1), reload) for number, reload in enumerate(reloads)]
    turn = threading.Lock()

    def next_step():
        with turn:
            if reloads and oracle.checked >= reloads[0][0]:
                reloads.pop(0)[1]()
            is_over = not steps or oracle.checked >= requests or len(oracle.found) >= FOUND_MAX
            return None if is_over else steps.pop()

    def work():
        while (step := next_step()) is not None:
            person, what, where = step
            with person.lock:
                try:
                    for asked, answer in person.do(what, where):
                        person.learns(answer)
                        oracle.check(person, asked, answer)
                except Exception as error:  # any error is reported as a mistake
                    oracle.found.append(f"{person.name}, {what} {where}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for person in people:
        person.visitor.close()
    if reloads:
        oracle.found.append(f"{len(reloads)} reloads did not happen")
    return oracle
