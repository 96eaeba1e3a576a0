"""Tests how much work Kasoku spares PHP with a crowd: the requests that reach PHP, those that must, and the hits."""

import time

from crowd import PAGES, Crowd
from scenarios import equal, true
from servers import counted

# Pages are fresh for a minute. A machine that takes longer for the whole crowd fetches many of them twice, so its figures are void.
SECONDS_MAX = 50
TRIES_MAX = 3


def most_of_what_a_crowd_reads_does_not_reach_php(site):
    for _ in range(TRIES_MAX):
        begun = time.monotonic()
        found = come(site)
        if time.monotonic() - begun < SECONDS_MAX:
            return judge(*found)
    raise AssertionError(f"the machine is too slow: no crowd was done within {SECONDS_MAX} s")


def come(site):
    # The leak guard has compared each kind of page before (guard.py), which it does once for a configuration. The cache is empty.
    site.kasoku("purge", "--all")
    before, beacons, dropped = site.php_requests(), counted(site, "beacons"), counted(site, "beacons_dropped")
    sums = Crowd(site).run()
    return sums, site.php_requests() - before, counted(site, "beacons") - beacons, counted(site, "beacons_dropped") - dropped


def judge(sums, php, told, dropped):
    found = f"of {sums.anonymous} anonymous pages {sums.hits} hits, of {sums.shop} in the shop {sums.shop_hits}; {sums.must_pass} had to pass; {told} beacons"
    equal((sums.anonymous, sums.refused), (PAGES, 0), "anonymous pages, and writes that were refused")
    equal(dropped, 0, "visitors of whom the program was not told")
    bound = 1.05 * sums.must_pass + 0.15 * sums.anonymous
    true(php <= bound, f"PHP got {php} of {bound:.0f}: {found}")
    true(sums.hits >= 0.85 * sums.anonymous and sums.shop_hits >= 0.75 * sums.shop, found)
    print(f"        PHP got {php} of at most {bound:.0f} requests: {found}")


SCENARIOS = [most_of_what_a_crowd_reads_does_not_reach_php]
