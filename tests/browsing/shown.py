"""The part of the oracles (tests/gnuboard, tests/rhymix) that knows no application: counts and collects mistakes, knows which visitor got each
unique value first, and lets many visitors act in several threads. A visitor has `sitting`, the name of the person at the browser, and `told`,
the last things that the browser did."""

import os
import queue
import random
import threading
from dataclasses import dataclass

THREADS = 6
# The most mistakes before a run ends, enough to see what went wrong.
FOUND_MAX = 20


@dataclass
class Exchange:
    """A request, and the answer that the page gets. `came` is the answer from the network, if there was one."""

    method: str
    path: str
    had_session: bool
    came: object
    answer: object
    is_back: bool = False


class Mistakes:
    """The mistakes so far, and the owners of unique values. Several threads may use it."""

    def __init__(self, found_max=FOUND_MAX):
        self.found = []
        self.found_max = found_max
        self.requests = 0
        # The last page that the leak guard kept from being shared, perhaps only while the guard compared it.
        self.guarded = None
        self._owners = {}
        self._lock = threading.Lock()

    def add(self, who, wrong):
        self.found += ["\n            ".join([what, *who.told]) for what in wrong][:self.found_max - len(self.found)]

    def broke(self, who, error):
        with self._lock:
            self.add(who, [f"{type(error).__name__}: {error}"])

    def belongs(self, value, owner, what):
        """The mistakes of a value that only this owner may get."""
        first = self._owners.setdefault(value, owner)
        return [] if first == owner else [f"{what} {value} of {owner} was given to {first}"]


def is_from_memory(came):
    return came.is_hit or "; stored" in came.decision or "; collapsed" in came.decision


def around(text, found):
    return repr(text[max(0, found.start() - 60):found.end() + 30])


def let_act(visitors, oracle, requests, acts=(), tells=False):
    """Lets the visitors take random steps until there were that many requests or the oracle has found enough.

    `acts` are called meanwhile, one after the other and evenly spread.
    """
    free = queue.SimpleQueue()
    for visitor in visitors:
        free.put(visitor)

    def work():
        while oracle.requests < requests and len(oracle.found) < oracle.found_max:
            visitor = free.get()
            try:
                operate()
                visitor.step()
            except Exception as error:  # any error is reported as a mistake
                oracle.broke(visitor, error)
            free.put(visitor)

    acts = [(requests * (number + 1) // (len(acts) + 1), act) for number, act in enumerate(acts)]
    turn = threading.Lock()

    def operate():
        with turn:
            if acts and oracle.requests >= acts[0][0]:
                acts.pop(0)[1]()

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    while acting := [thread for thread in threads if thread.is_alive()]:
        acting[0].join(20)
        if tells:
            print(f"        {oracle.sums()}", flush=True)
    for visitor in visitors:
        visitor.close()
    return oracle


def operator(site):
    """Acts of an operator during a run: reloads and purges."""
    return [site.reload, lambda: site.kasoku("purge", "--soft", "--all"), site.reload, lambda: site.kasoku("purge", "--all")]


def a_seed(variable):
    seed = int(os.environ.get(variable, random.SystemRandom().randrange(10**6)))
    print(f"        {variable}={seed}", flush=True)
    return seed
