"""Simulates a visitor whose browser has a cache on disk: when its windows are closed, cookies are dropped, but pages stay for the next
user."""

import time

from browser_cache import BrowserCache
from visitor import Visitor


class CachedVisitor(Visitor):
    def __init__(self, *of_a_visitor, **more):
        super().__init__(*of_a_visitor, **more)
        self.cache = BrowserCache()

    def look(self, path):
        """What the browser shows for that path: a fresh page of its cache, or the answer to a request with the cache's validators."""
        cookies = self._sent_to(path)
        request = {"cookie": cookies} if cookies else {}
        now = time.time()
        found = self.cache.find(path, request, now)
        if found.answer is not None:
            return found.answer
        answer = self.get(path, **found.conditions)
        return self.cache.take(path, request, answer, now, time.time())

    def close_windows(self):
        """Closes the windows and drops all cookies, as after a log-out."""
        self.forget()
        self.close()
