"""Shows what of a program's pages changes without Kasoku: between two visitors that are alike, between two requests of one visitor with its
cookies, and between two visitors whose browsers differ. It is how the clocks of a program's file are found. """

import time

from texts import changes

# Longer than a clock that shows seconds stands still.
PAUSE_SECONDS = 1.1
LINES_MAX = 12
FIELDS = ("cache-control", "expires", "pragma", "vary", "etag", "last-modified", "set-cookie", "content-type")


def show(program):
    for page in program.pages:
        first = program.without.visitor(0)
        one = first.get(page.path, **page.fields)
        time.sleep(PAUSE_SECONDS)
        two = first.get(page.path, **page.fields)
        alike = program.without.visitor(0).get(page.path, **page.fields)
        other = program.without.visitor(1).get(page.path, **page.fields)
        print(f"\n== {page.path}  {one.status} {len(one.bytes)} bytes")
        for name in FIELDS:
            values = one.set_cookies if name == "set-cookie" else [one.fields[name]] if name in one.fields else []
            for value in values:
                print(f"   {name}: {value}")
        for what, answer in (("alike", alike), ("same cookies", two), ("other browser", other)):
            for line in changes(one.text, answer.text, LINES_MAX):
                print(f"   {what:13} {line}")
