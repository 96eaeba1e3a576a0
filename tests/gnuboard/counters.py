"""Tests that gnuboard5 counts each visitor who gets only hits once, with the right address, browser and referrer."""

import time

from guest import PHONE, Guest
from scenarios import equal, true
from servers import away, counted
from window import DESKTOP, NAVIGATION

VISITORS = 40
# None of these pages has a captcha: the program would count its script's request, with the page as referrer, if that came before the
# beacon.
FIRST_PAGES = ["/", "/bbs/board.php?bo_table=free", "/bbs/group.php?gr_id=community", "/shop/"]
PATIENCE_SECONDS = 20
TRIES_MAX = 5


def rendered(site):
    """The number of requests to PHP, without beacons."""
    log = (site.directory / "php-access.log").read_bytes()
    return log.count(b"\n") - log.count(b"/bbs/profile.php")


def undisturbed(site, act):
    """The result of a call of `act` during which the leak guard compared no page: the guard does that now and then, with its own
    requests."""
    for _ in range(TRIES_MAX):
        checks = counted(site, "guard_checks")
        found = act()
        if counted(site, "guard_checks") == checks:
            return found
    raise AssertionError("the guard looks at pages all the time")


def becomes(look, wanted, what):
    """Waits until `look()` returns `wanted`: Kasoku sends beacons after the answer."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := look()) != wanted:
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: {found!r} instead of {wanted!r}")
        time.sleep(0.02)


def forty_visitors_are_counted_as_forty(site):
    site.kasoku("purge", "--all")
    site.sql("DELETE FROM g5_visit; DELETE FROM g5_visit_sum; DELETE FROM g5_login")
    others = [Guest(site, address="127.0.0.71", user_agent=agent) for agent in (DESKTOP, PHONE)]
    posts = [f"/bbs/board.php?bo_table=free&wr_id={number}" for number in site.content["posts"]["free"][:3]]
    for other in others:
        for path in FIRST_PAGES + posts:
            other.look(path)
    becomes(lambda: [row[0] for row in visits(site)], ["127.0.0.71"], "addresses before the forty")
    visitors = []
    for number in range(VISITORS):
        agent = f"{PHONE if number % 4 == 3 else DESKTOP} Nr/{number}"
        visitor = Guest(site, address=f"127.0.2.{number + 1}", user_agent=agent)
        referer = f"https://search.example/?q={number}"
        page = visitor._show("GET", FIRST_PAGES[number % len(FIRST_PAGES)], {**NAVIGATION, "Sec-Fetch-Site": "cross-site", "Referer": referer})
        true(page.answer.is_hit, f"a hit: {page.answer.decision}")
        visitors.append([visitor.address, referer, agent])
        becomes(lambda: len(visits(site)), number + 2, "visits")
        for path in posts:
            true(visitor.look(path).answer.is_hit, f"a hit: {visitor.page.answer.decision}")
    equal(visits(site)[1:], visitors, "address, referrer and browser of each")
    equal(site.sql("SELECT SUM(vs_count) FROM g5_visit_sum"), [[str(VISITORS + 1)]], "the sum of visits")
    online = {row[0] for row in site.sql("SELECT lo_ip FROM g5_login")}
    equal({address for address, _, _ in visitors} - online, set(), "who is not online")


def visits(site):
    return site.sql("SELECT vi_ip, vi_referer, vi_agent FROM g5_visit ORDER BY vi_id")


def no_visitor_waits_for_the_counting_while_the_program_is_away(site):
    path = FIRST_PAGES[1]
    for _ in range(2):
        page = Guest(site, address="127.0.0.71").look(path)
    true(page.answer.is_hit, page.answer.decision)
    before = counted(site, "beacons") + counted(site, "beacons_dropped")
    # Kasoku, or nginx, can't connect to PHP.
    with away(site.php_socket):
        for number in range(300):
            answer = Guest(site, address=f"127.0.{3 + number // 250}.{number % 250 + 1}").ask("GET", path, NAVIGATION)
            true(answer.is_hit, f"a hit: {answer.decision}")
    becomes(lambda: counted(site, "beacons") + counted(site, "beacons_dropped") - before, 300, "visitors who were told of, or dropped")
    # Afterwards beacons arrive again. Each request is from a new address, since Kasoku sends no second beacon soon for one whose beacon it
    # dropped.
    hosts = iter(range(1, 250))
    becomes(lambda: is_counted(site, f"127.0.5.{next(hosts)}"), True, "a visitor is counted")


def is_counted(site, address):
    Guest(site, address=address).look(FIRST_PAGES[0])
    time.sleep(0.2)
    return address in [row[0] for row in visits(site)]


SCENARIOS = [forty_visitors_are_counted_as_forty, no_visitor_waits_for_the_counting_while_the_program_is_away]
