"""A visitor whose browser has a cache on disk: cookies go when its windows are closed, and pages stay for whoever opens it next."""

import time

from browser_cache import BrowserCache
from visitor import Visitor


class CachedVisitor(Visitor):
    def __init__(self, *of_a_visitor, **more):
        super().__init__(*of_a_visitor, **more)
        self.cache = BrowserCache()

    def look(self, path):
        """What the browser shows of that address: from its cache, or asked for with what the cache has of it."""
        cookies = self._sent_to(path)
        request = {"cookie": cookies} if cookies else {}
        now = time.time()
        found = self.cache.find(path, request, now)
        if found.answer is not None:
            return found.answer
        answer = self.get(path, **found.conditions)
        return self.cache.take(path, request, answer, now, time.time())

    def close_windows(self):
        """Session cookies go; so do the others, as when somebody has logged out."""
        self.forget()
        self.close()
