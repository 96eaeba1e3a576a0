#!/usr/bin/env python3
"""Tests a board that opens a session for each visitor, behind Kasoku with the bench's policy; board_policy.py tests the way to such a
policy.

The board is bench/seeds/sessions/board, which resembles gnuboard5, with php-fpm and MariaDB, not patched. Guests get hits, members get
their own pages, and no visitor gets another's page. Prints a line for each scenario and `board sessions: N passed, M failed`. """

import os
import re
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SESSIONS = ROOT / "bench" / "seeds" / "sessions"
sys.path[:0] = [str(SESSIONS), str(SESSIONS.parent), str(SESSIONS.parents[1])]

import setups  # noqa: E402
import stack  # noqa: E402
import visits  # noqa: E402
from processes import Programs, free_port  # noqa: E402

# The share of all requests of 300 visits, including log-ins, first requests and members' pages.
HITS_SHARE_MIN = 0.95
READING_SECONDS = 0.1
PATIENCE_SECONDS = 10


class Served:
    """The board behind one Kasoku, at its own address."""

    def __init__(self, programs, board, name, policy):
        place = setups.Place(free_port(), programs.directory(name))
        command = setups.kasoku(place, board.plain, board.php, policy)
        programs.start(name, command, os.sched_getaffinity(0)).until_listening(place.port)
        self.url = f"http://127.0.0.1:{place.port}/"
        self.board = board

    def visitor(self, **cookies):
        return Guest(self.url, cookies)


class Guest(visits.Visitor):
    """A visitor with these cookies, who requests single pages."""

    def __init__(self, url, cookies):
        super().__init__(0, visits.Board(url))
        self.cookies = dict(cookies)

    def sees(self, path):
        """Requests the page; returns `hit`, or why it was none. The page's bar must be this visitor's."""
        before = self.board.reasons.copy()
        self.get(path)
        assert not self.board.wrong, self.board.wrong
        return next(iter(self.board.reasons - before))

    def log_in(self, member):
        self.get("/login.php")
        self.post("/login_check.php", mb_id=member, mb_password="board")
        assert self.name and not self.board.wrong, (self.name, self.board.wrong)


def three_hundred_visits_are_served_from_memory_and_no_visitor_sees_another(served):
    board = visits.run(served.url)
    assert not board.wrong, board.wrong
    assert board.reasons["hit"] >= HITS_SHARE_MIN * board.asked, visits.said(board)


def a_guest_gets_no_session_and_asks_php_for_nothing(served):
    path = "/view.php?no=4000"
    first, second = served.visitor(), served.visitor()
    first.get(path)
    asked = served.board.php_requests()
    assert second.sees(path) == "hit"
    assert served.board.php_requests() == asked
    assert not first.cookies and not second.cookies, (first.cookies, second.cookies)


def a_member_logs_in_and_out_and_a_guest_sees_neither(served):
    path = "/view.php?no=4001"
    member, guest = served.visitor(), served.visitor()
    for _ in range(2):
        member.log_in("member7")
        for _ in range(3):
            assert "pass-session" in member.sees(path)
            guest.sees(path)
            assert guest.sees(path) == "hit"
        member.get("/logout.php")
        assert member.name is None and not member.board.wrong, member.board.wrong
        soon_a_hit(member, path)


def a_session_of_last_week_is_seen_to_be_a_guests(served):
    old = served.visitor(PHPSESSID="0123456789abcdef0123456789")
    assert "pass-session" in old.sees("/view.php?no=4002")
    soon_a_hit(old, "/view.php?no=4002")


def a_guest_who_writes_is_a_guest_again(served):
    guest = served.visitor()
    for _ in range(2):
        visits.write(guest, author="A guest")
        assert not guest.board.wrong, guest.board.wrong
        assert "PHPSESSID" in guest.cookies
        soon_a_hit(guest, "/view.php?no=4003")


def a_file_is_a_members_who_has_opened_its_post(served):
    member, guest = served.visitor(), served.visitor()
    member.log_in("member8")
    links = re.findall(r"/download\.php\?no=\d+", member.get("/view.php?no=4000"))
    member.get(links[0])
    assert not member.board.wrong, member.board.wrong
    guest.get(links[0])
    assert guest.board.wrong == [f"{links[0]}: 403"], guest.board.wrong


def soon_a_hit(visitor, path):
    """Requests the page until it is a hit. Kasoku probes a session in the background, so some requests pass before the result. It ignores a
    probe that the session's next request overtakes, so the visitor pauses between pages; else this might never end on a fast machine."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (reason := visitor.sees(path)) != "hit":
        assert time.monotonic() < end, f"still no hit: {reason}"
        time.sleep(READING_SECONDS)


SCENARIOS = [
    three_hundred_visits_are_served_from_memory_and_no_visitor_sees_another,
    a_guest_gets_no_session_and_asks_php_for_nothing,
    a_member_logs_in_and_out_and_a_guest_sees_neither,
    a_session_of_last_week_is_seen_to_be_a_guests,
    a_guest_who_writes_is_a_guest_again,
    a_file_is_a_members_who_has_opened_its_post,
]


def main():
    failed = 0
    with Programs() as programs:
        board = stack.start(programs, os.sched_getaffinity(0))
        served = Served(programs, board, "policy", setups.POLICY.read_text(encoding="utf-8"))
        for scenario in SCENARIOS:
            name = scenario.__name__.replace("_", " ")
            try:
                scenario(served)
                print(f"ok      {name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    print(f"board sessions: {len(SCENARIOS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
