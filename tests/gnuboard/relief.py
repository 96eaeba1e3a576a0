"""What PHP is spared by a crowd: how many requests reach it, how many of them had to, and how many pages came from memory."""

from counters import counted
from crowd import PAGES, Crowd
from scenarios import equal, true


def most_of_what_a_crowd_reads_does_not_reach_php(site):
    before, beacons, dropped = site.php_requests(), counted(site, "beacons"), counted(site, "beacons_dropped")
    sums = Crowd(site).run()
    told = counted(site, "beacons") - beacons
    found = f"of {sums.anonymous} anonymous pages {sums.hits} hits, of {sums.shop} in the shop {sums.shop_hits}; {sums.must_pass} had to pass; {told} beacons"
    equal((sums.anonymous, sums.refused), (PAGES, 0), "anonymous pages, and writes that were refused")
    equal(counted(site, "beacons_dropped"), dropped, "visitors of whom the program was not told")
    bound = 1.05 * sums.must_pass + 0.15 * sums.anonymous
    true(site.php_requests() - before <= bound, f"PHP got {site.php_requests() - before} of {bound:.0f}: {found}")
    true(sums.hits >= 0.85 * sums.anonymous and sums.shop_hits >= 0.75 * sums.shop, found)
    print(f"        PHP got {site.php_requests() - before} of at most {bound:.0f} requests: {found}")


SCENARIOS = [most_of_what_a_crowd_reads_does_not_reach_php]
