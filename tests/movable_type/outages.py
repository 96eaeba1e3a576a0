"""Tests what visitors get while Movable Type's database is away.

Movable Type then says so with status 200, text/plain and a line of text ("Got an error: ... Can't connect to ..."). It must not take the
place of a page, nor outlive the outage. Without the policy, an error that nobody recognises lives for seconds at first and twice as long each
time, but not for more than five minutes.
"""

import time
from collections import Counter

from install import content
from scenarios import holds, lacks, true
from searches import same
from visitor import Visitor

ERROR = "Got an error:"
# A failure that says 200 lives 5 seconds at first; the rest is for a busy machine.
GONE_SECONDS = 15
STALE_SECONDS = 20
ERROR_SECONDS_MAX = 300


def until_good(site, path, seconds):
    """Waits until the page has no error; returns how long that took, and the answer. None: it did not happen."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        answer = Visitor(site).get(path)
        if ERROR not in answer.text:
            return time.monotonic() - begun, answer
        time.sleep(0.2)
    return None, answer


def an_error_does_not_outlive_the_outage(site, **_):
    """Nothing was stored before; the first visitor sees the error."""
    site.kasoku("purge", "--all")
    path = site.tag("books")
    with site.without_database():
        for _ in range(2):
            answer = Visitor(site).get(path)
            print(f"        away: {answer.status} {answer.fields.get('content-type')} {answer.decision} {answer.text.strip()[:160]!r}", flush=True)
            holds(answer.text, ERROR, "the page without a database")
            site.until_idle()
    took, answer = until_good(site, path, GONE_SECONDS)
    print(f"        back: {'never' if took is None else f'{took:.1f} s'}, {answer.decision}", flush=True)
    true(took is not None, f"a good page within {GONE_SECONDS} s ({answer.decision})")


def a_good_page_goes_before_the_error(site, **_):
    """The page was stored, its lifetime ends, and the database is away."""
    path = site.tag("clocks")
    for _ in range(2):
        page = Visitor(site).get(path)
        site.until_idle()
    lacks(page.text, ERROR, "the page before")
    with site.without_database():
        begun = time.monotonic()
        while "stale" not in (answer := Visitor(site).get(path)).decision:
            same(content(answer.text), content(page.text), f"the page without a database ({answer.decision})")
            true(time.monotonic() - begun < STALE_SECONDS, f"a stale page ({answer.decision})")
            time.sleep(0.2)
        for _ in range(3):
            site.until_idle()
            answer = Visitor(site).get(path)
            same(content(answer.text), content(page.text), f"the page without a database ({answer.decision})")


def a_restart_within_the_outage_keeps_the_good_page(site, **_):
    """What is on disk is still a good page after Kasoku has ended and begun again."""
    path = site.tag("bread")
    for _ in range(2):
        page = Visitor(site).get(path)
        site.until_idle()
    # What was stored a second before is on disk.
    time.sleep(1.5)
    with site.without_database():
        Visitor(site).get(path)
        site.until_idle()
        site.start_anew()
        for _ in range(3):
            answer = Visitor(site).get(path)
            same(content(answer.text), content(page.text), f"the page after the restart ({answer.decision})")
            site.until_idle()
        unknown = site.tag("birds")
        holds(Visitor(site).get(unknown).text, ERROR, "a page that was never there")
    took, answer = until_good(site, unknown, GONE_SECONDS)
    true(took is not None, f"a good page within {GONE_SECONDS} s ({answer.decision})")


def an_outage_over_a_restart(site, seconds, **_):
    """The database is away for so many seconds, Kasoku is started anew in the middle, and visitors come all the time.

    Stored pages stay as they were. A page that was never there shows the error while the database is away, and for ERROR_SECONDS_MAX after it.
    """
    good = {path: stored(site, path) for path in [site.tag("rain"), site.tag("letters"), site.search("kitchen")]}
    # What was stored a second before is on disk.
    time.sleep(1.5)
    new = site.tag("garden", limit=9)
    decisions = Counter()
    with site.without_database():
        visits(site, good, new, seconds / 2, decisions)
        site.start_anew()
        visits(site, good, new, seconds / 2, decisions)
    for (what, why), count in sorted(decisions.items()):
        print(f"        {count:4} x {what}: {why}", flush=True)
    took, answer = until_good(site, new, min(ERROR_SECONDS_MAX, max(seconds, GONE_SECONDS)) + STALE_SECONDS)
    print(f"        back: {'never' if took is None else f'{took:.1f} s'}, {answer.decision}", flush=True)
    true(took is not None and took <= ERROR_SECONDS_MAX, f"the seconds until the page that was never there is good ({took}, {answer.decision})")
    for path in good:
        lacks(Visitor(site).get(path).text, ERROR, path)


def visits(site, good, new, seconds, decisions):
    """Visitors ask for all pages for so long; counts Kasoku's decisions."""
    begun = time.monotonic()
    while (gone := time.monotonic() - begun) < seconds:
        for path, page in good.items():
            answer = Visitor(site).get(path)
            decisions[("good page", reason(answer))] += 1
            same(content(answer.text), content(page), f"{path} after {gone:.0f} s of {seconds:.0f} s without a database ({answer.decision})")
        answer = Visitor(site).get(new)
        decisions[("page that was never there", reason(answer))] += 1
        holds(answer.text, ERROR, f"the page that was never there ({answer.decision})")
        time.sleep(min(2, seconds / 10))


def stored(site, path):
    """The page, which the next visitor gets as well."""
    begun = time.monotonic()
    while not (answer := Visitor(site).get(path)).is_hit:
        true(time.monotonic() - begun < STALE_SECONDS, f"{path} is stored ({answer.decision})")
        site.until_idle()
    lacks(answer.text, ERROR, f"{path} before ({answer.decision})")
    return answer.text


def reason(answer):
    """How Kasoku found the answer, without the parts that differ each time."""
    return "; ".join(part for part in answer.decision.split("; ")[1:] if not part.startswith(("ttl=", "rule=")))


SCENARIOS = [an_error_does_not_outlive_the_outage, a_good_page_goes_before_the_error, a_restart_within_the_outage_keeps_the_good_page]
