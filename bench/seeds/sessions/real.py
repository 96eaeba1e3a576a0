"""Measures crowds on the real gnuboard5: runs gnuboard/measure.py, and writes tables for the terminal and for bench/reports/sessions.md."""

import datetime
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import document
import machine
import shown
from native import ROOT, kasoku
from processes import BenchError
from report import markdown, replaced
from stack import DATABASE, PHP_FPM

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "gnuboard" / "measure.py"
USED = (("nginx", "varnish", "kasoku"), {"PHP": (PHP_FPM, "-v"), "MariaDB": (DATABASE, "--version")})
# measure.py ends earlier by itself: it begins no round that would take longer.
SECONDS_MAX = 900
STOP_SECONDS_MAX = 60

LABELS = {
    "direct": "nginx",
    "varnish": "Varnish, nginx",
    "patched": "Varnish, patched, sessions pass",
    "patched-members": "Varnish, patched, members pass",
    "kasoku-fastcgi": "Kasoku, FastCGI",
    "kasoku-http": "Kasoku, nginx",
}
KASOKU = [name for name in LABELS if name.startswith("kasoku")]
FUNCTIONS = {
    "own-comment": "guests see their own comment at once",
    "new-comment": "guests see a comment of others at once",
    "file": "a guest is given a file of a post",
    "secret": "a secret post opens by its password",
    "cart": "the shop shows a guest's cart",
    "notice": "a notice that was closed for the day stays closed",
    "device": "the version that was chosen, for desktops or telephones, stays",
    "visits": "visitors who read only lists are counted",
    "views": "each view of a post is counted",
}
# Pages are fresh for a minute. A crowd that takes about as long makes PHP answer some of them twice.
CROWD_SECONDS_MAX = 50


@dataclass
class Results:
    """Turns by front, one for each round; members' pages by front; whether a function works, by front and function."""

    turns: dict
    members: dict
    works: dict

    def of(self, name, figure):
        return [figure(turn) for turn in self.turns[name]]


def archive_is_here():
    return subprocess.run([sys.executable, "-B", PROGRAM, "--is-there"], capture_output=True, check=False).returncode == 0


def measure(wanted):
    words = [sys.executable, "-B", PROGRAM, "--rounds", wanted.rounds, *(["--no-files"] if wanted.no_files else [])]
    environment = {**os.environ, "KASOKU_TEST_PROGRAM": str(kasoku())}
    child = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, env=environment, text=True)
    try:
        text, _ = child.communicate(timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise BenchError(f"the crowds take longer than {SECONDS_MAX} s") from None
    finally:
        # measure.py ends its servers first.
        if child.poll() is None:
            child.terminate()
            child.wait(STOP_SECONDS_MAX)
    if child.returncode != 0:
        raise BenchError(f"the crowds on gnuboard5 ended with {child.returncode}")
    return Results(**json.loads(text))


def as_text(results):
    return "\n\n".join([document.as_text(tables(results)), worst(results), remark(results)]).strip()


def write(results):
    """Fills only the places of this experiment: the tables of the stand-in may be of another day and another machine."""
    parts = {name: f"**{title}**\n\n{markdown(header, lines)}" for name, (title, header, lines) in tables(results).items()}
    parts |= {"real-machine": machine.description(*USED), "real-worst": worst(results), "real-remark": remark(results)}
    text = shown.DOCUMENT.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = replaced(text, name, part)
    shown.DOCUMENT.write_text(text, encoding="utf-8")
    return [str(shown.DOCUMENT.relative_to(ROOT))]


def tables(results):
    rounds = len(results.turns["direct"])
    title = f"60 visitors of the real gnuboard5, 740 anonymous pages, medians of {rounds} crowds"
    return {
        "real-requests": (title, REQUESTS_HEADER, [requests(results, name) for name in LABELS]),
        "real-rounds": ("Requests that PHP got, by crowd", ("", *crowds(results)), per_round(results)),
        "real-cpu": ("CPU seconds of a crowd", CPU_HEADER, [cpu(results, name) for name in LABELS]),
        "real-own": ("What Kasoku asks of PHP by itself", OWN_HEADER, [own(results, name) for name in KASOKU]),
        "real-members": (f"A member's page, {results.members['direct']['pairs']} looks by each way, in turn", MEMBERS_HEADER, members(results)),
        "real-works": ("What still works", ("", *LABELS.values()), working(results)),
    }


REQUESTS_HEADER = ("", "requests that PHP got", "had to pass", "anonymous hits, %", "shop's hits, %", "visitors counted, of 60")
CPU_HEADER = ("", "PHP", "MariaDB", "nginx", "cache", "all", "of nginx alone")
OWN_HEADER = ("", "beacons", "beacons dropped", "questions about sessions", "pages compared by the guard")
MEMBERS_HEADER = ("", "median, ms", "of nginx alone")


def hits(turn):
    return turn["hits"] / turn["anonymous"]


def shop_hits(turn):
    return turn["shop_hits"] / turn["shop"]


def requests(results, name):
    def typical(figure):
        return median(results.of(name, figure))

    return (
        LABELS[name],
        f"{typical(lambda turn: turn['php_requests']):,.0f}",
        f"{typical(lambda turn: turn['must_pass']):,.0f}",
        f"{100 * typical(hits):.1f}",
        f"{100 * typical(shop_hits):.1f}",
        f"{typical(lambda turn: turn['visits']):.0f}",
    )


def crowds(results):
    return [f"crowd {turn['seed']}" for turn in results.turns["direct"]]


def per_round(results):
    return [(LABELS[name], *(f"{turn['php_requests']:,}" for turn in results.turns[name])) for name in LABELS]


CPU_PARTS = ("php", "database", "nginx", "cache")


def whole(turn):
    return sum(turn[part] for part in CPU_PARTS)


def cpu(results, name):
    parts = [median(results.of(name, lambda turn, part=part: turn[part])) for part in CPU_PARTS]
    ratios = [one / other for one, other in zip(results.of(name, whole), results.of("direct", whole))]
    return (LABELS[name], *(f"{part:.2f}" for part in parts), f"{median(results.of(name, whole)):.2f}", f"{median(ratios):.2f}")


def own(results, name):
    told = ("beacons", "beacons_dropped", "questions", "comparisons")
    return (LABELS[name], *(f"{median(results.of(name, lambda turn, what=what: turn['told'][what])):.0f}" for what in told))


def members(results):
    return [(LABELS[name], f"{results.members[name]['median']:.2f}", f"{results.members[name]['ratio']:.2f}") for name in LABELS]


def working(results):
    return [(label, *("yes" if results.works[name][function] else "no" for name in LABELS)) for function, label in FUNCTIONS.items()]


def worst(results):
    """A sentence about Kasoku's worst crowd, over FastCGI or HTTP."""

    def least(figure):
        return min(value for name in KASOKU for value in results.of(name, figure))

    ratio = max(results.members[name]["ratio"] for name in KASOKU)
    return (
        f"In Kasoku's worst crowd, by either way: {least(hits):.1%} of the anonymous pages were hits, {least(shop_hits):.1%} of those of the shop, "
        f"and a member's page took {ratio:.3f} times as long as directly."
    )


def remark(results):
    """The date and the commit, and events that made the figures worse than necessary."""
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    said = [f"Measured on {day} at commit {commit()}."]
    if slow := [turn["seconds"] for name in LABELS for turn in results.turns[name] if name not in ("direct", "varnish") and turn["seconds"] > CROWD_SECONDS_MAX]:
        said.append(f"{len(slow)} of the crowds in front of a cache took more than {CROWD_SECONDS_MAX} s (up to {max(slow):.0f} s): pages that live for a minute were made twice.")
    if refused := sum(turn["refused"] for turns in results.turns.values() for turn in turns):
        said.append(f"{refused} forms were refused.")
    return " ".join(said)


def commit():
    """The last commit that changed the program."""
    words = ["git", "log", "-1", "--format=%h", "--", "crates", "Cargo.toml", "Cargo.lock"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
