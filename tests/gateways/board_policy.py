#!/usr/bin/env python3
"""Tests "A policy for your own program" of docs/applications.md, step by step, on the board that comes with the source.

This reads the configuration of each step, the commands and their output from the page itself. It starts the program with each step's file
in front of the board (php-fpm and MariaDB), and visits the board. The results must be those of the page: the hits, the reasons of other
requests, the refused posts, and each line of `kasoku explain`. The numbers of visits.py may differ by a few percent, since a slow machine
has some more misses. Prints a line for each scenario and `board policy: N passed, M failed`. """

import os
import re
import shlex
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SESSIONS = ROOT / "bench" / "seeds" / "sessions"
sys.path[:0] = [str(SESSIONS), str(SESSIONS.parent), str(SESSIONS.parents[1])]

import native  # noqa: E402
import stack  # noqa: E402
import visits  # noqa: E402
from processes import Programs, free_port  # noqa: E402

PAGE = ROOT / "docs" / "applications.md"
README, README_SECTION = ROOT / "README.md", "## A site whose sessions spoil the cache"
CHAPTER = "## A policy for your own program"
# The page's addresses and files, which this replaces by free ones of this machine.
ADDRESS, ADMIN, TOKEN = "127.0.0.1:8080", "127.0.0.1:8081", "admin.token"
SOCKET, DOCUMENTS = "/run/php/board.sock", "/var/www/board"
# The most by which the share of hits may differ from the page's: on a busy machine the minute of a page ends more often.
SHARE_MAY_DIFFER = 0.05
READING_SECONDS = 0.1
PATIENCE_SECONDS = 10
COMMAND_SECONDS_MAX = 30


@dataclass
class Step:
    """One of the page's numbered steps."""

    title: str
    toml: str = ""
    visited: str = ""  # what visits.py printed
    explained: list = field(default_factory=list)  # commands, each with the lines that it printed
    # What was seen here:
    board: visits.Board = None
    printed: list = field(default_factory=list)

    def share(self):
        return self.board.reasons["hit"] / self.board.asked

    def refused(self):
        return [one for one in self.board.wrong if one == "/write_update.php: 403"]


def steps_of(page):
    """The steps with visits, in order; each adds its lines to those of the steps before it. The other steps have no configuration, or one
    for another board."""
    chapter = page.partition(CHAPTER)[2].partition("\n## ")[0]
    found = []
    for part in chapter.split("\n### ")[1:]:
        step = Step(part.partition("\n")[0])
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```", part, re.MULTILINE | re.DOTALL):
            command, _, printed = block.partition("\n")
            if language == "toml":
                step.toml = block
            elif command.startswith("$ kasoku explain "):
                step.explained.append((command.removeprefix("$ "), printed))
            elif command.startswith("hits: "):
                step.visited = block
        if step.toml and step.visited:
            before = [found[-1].toml] if found else []
            # There is one empty line, below the site of the first step.
            step.toml = ("\n" if len(found) == 1 else "").join([*before, step.toml])
            found.append(step)
    return found


class Walk:
    """The board, and the program in front of it with the configuration of one step after the other."""

    def __init__(self, programs):
        self.programs = programs
        self.board = stack.start(programs, os.sched_getaffinity(0))

    def take(self, number, step):
        port, admin = free_port(), free_port()
        directory = self.programs.directory(f"step-{number}")
        ours = {ADDRESS: f"127.0.0.1:{port}", ADMIN: f"127.0.0.1:{admin}", TOKEN: f"{directory}/{TOKEN}"}
        ours |= {SOCKET: str(self.board.php), DOCUMENTS: str(self.board.plain)}
        config = directory / "kasoku.toml"
        config.write_text(replaced(step.toml, ours), encoding="utf-8")
        program = self.programs.start(f"step-{number}", [native.kasoku(), "serve", "--config", config], os.sched_getaffinity(0))
        program.until_listening(admin)
        for command, _ in step.explained:
            words = shlex.split(replaced(command, ours | {"kasoku.toml": str(config)}))
            done = subprocess.run([native.kasoku(), *words[1:]], capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS_MAX)
            step.printed.append(replaced(done.stdout + done.stderr, {f"127.0.0.1:{port}": ADDRESS}))
        step.board = visits.run(f"http://127.0.0.1:{port}")
        if step.title.startswith("4."):
            a_session_from_before_is_asked_about(port)
        self.programs.stop(program)


def replaced(text, names):
    for old, new in names.items():
        text = text.replace(old, new)
    return text


def a_session_from_before_is_asked_about(port):
    """Checks that a session from before passes at first, and that Kasoku then finds out that it is a guest's."""
    board = visits.Board(f"http://127.0.0.1:{port}")
    guest = visits.Visitor(0, board)
    guest.cookies["PHPSESSID"] = "0123456789abcdef"
    end = time.monotonic() + PATIENCE_SECONDS
    guest.get("/")
    assert "hit" not in board.reasons, board.reasons
    while "hit" not in board.reasons:
        assert time.monotonic() < end, f"still no hit: {board.reasons}"
        # Kasoku ignores a probe if the session's next request comes meanwhile, so the guest pauses between pages.
        time.sleep(READING_SECONDS)
        guest.get("/")


def without_a_policy_nothing_is_stored_and_no_visitor_sees_another(one, *_):
    assert one.share() == 0 and not one.board.wrong, visits.said(one.board)


def what_is_suggested_brings_hits_and_has_posts_refused(_, two, *__):
    assert two.share() > 0.8, visits.said(two.board)
    assert two.refused() and two.refused() == two.board.wrong, visits.said(two.board)


def with_the_urls_that_pass_no_post_is_refused(_, __, three, *___):
    assert not three.board.wrong, visits.said(three.board)


def with_the_probe_nineteen_of_twenty_are_hits(*steps):
    four = steps[3]
    assert four.share() >= 0.95 and not four.board.wrong, visits.said(four.board)


def with_the_guard_as_many_are_hits(*steps):
    five = steps[4]
    assert five.share() >= 0.95 and not five.board.wrong, visits.said(five.board)


def the_page_shows_the_reasons_that_are_seen(*steps):
    for step in steps:
        said = set(re.findall(r"^ *[\d,]+  (.*?)    \(first: ", step.visited, re.MULTILINE))
        # A request may come while another one's answer is on its way.
        assert said == set(step.board.reasons) - {"hit", "detail=collapsed"}, (step.title, said, step.board.reasons)


def the_page_shows_the_hits_that_are_seen(*steps):
    for step in steps:
        share = float(re.match(r"hits: [\d,]+, ([\d.]+)%", step.visited)[1]) / 100
        assert abs(share - step.share()) <= SHARE_MAY_DIFFER, (step.title, share, visits.said(step.board))


def the_readme_shows_the_hits_of_the_page(*steps):
    section = README.read_text(encoding="utf-8").partition(README_SECTION)[2].partition("\n## ")[0]
    shown = re.findall(r"^\| [^|]* \| ([\d.]+) % \|", section, re.MULTILINE)
    assert shown == [re.match(r"hits: [\d,]+, ([\d.]+)%", step.visited)[1] for step in steps[:4]], shown


def explain_prints_what_the_page_shows(*steps):
    compared = 0
    for step in steps:
        for (command, shown), printed in zip(step.explained, step.printed):
            for piece in filter(None, (piece.strip("\n") for piece in shown.split("…\n"))):
                assert f"\n{piece}\n" in f"\n{printed}\n", f"{step.title}\n$ {command}\n{piece}\n\nis no part of\n\n{printed}"
                compared += 1
    assert compared >= 3, f"{compared} pieces of explain on the page"


SCENARIOS = [
    without_a_policy_nothing_is_stored_and_no_visitor_sees_another,
    what_is_suggested_brings_hits_and_has_posts_refused,
    with_the_urls_that_pass_no_post_is_refused,
    with_the_probe_nineteen_of_twenty_are_hits,
    with_the_guard_as_many_are_hits,
    the_page_shows_the_reasons_that_are_seen,
    the_page_shows_the_hits_that_are_seen,
    the_readme_shows_the_hits_of_the_page,
    explain_prints_what_the_page_shows,
]


def main():
    failed = 0
    steps = steps_of(PAGE.read_text(encoding="utf-8"))
    if len(steps) != 5:
        sys.exit(f"{PAGE}: five steps with a configuration and what was seen, please, not {[step.title for step in steps]}")
    with Programs() as programs:
        walk = Walk(programs)
        for number, step in enumerate(steps, 1):
            walk.take(number, step)
            print(f"        {step.title}: {step.share():.1%} hits in {step.board.seconds:.0f} s", flush=True)
    for scenario in SCENARIOS:
        name = scenario.__name__.replace("_", " ")
        try:
            scenario(*steps)
            print(f"ok      {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    if "--show" in sys.argv:
        for step in steps:
            print("\n".join([f"\n### {step.title}", visits.said(step.board), *step.printed]))
    print(f"board policy: {len(SCENARIOS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
