"""Asks a program's pages as three visitors, with Kasoku and without, and prints what came in a table.

A page passes if it is a hit when it should be, and if each visitor got what the program says to this visitor's browser without Kasoku,
but for the clocks that the program's file names.
"""

import re
import time
from collections import Counter
from dataclasses import dataclass, field

from texts import changes, without_clocks

# How long a page may take to become a hit: what Kasoku compares first is over by then.
SETTLED_SECONDS_MAX = 10
# A page that is never shared is asked again for a shorter time.
NEVER_SECONDS_MAX = 2
# So many times the same decision that it is not stored, and the page is not asked again.
SETTLED_DECISIONS = 3
# Lines of a difference that are printed.
DIFFERENCE_LINES_MAX = 6
# A line of explain's advice, and whether it is one of the configuration.
ADVICE = re.compile(r"^([a-z][a-z ]*?) {2,}(\S.*)$")
SETTING = re.compile(r"^[a-z][a-z.-]* = ")


@dataclass
class Row:
    """What came for a page."""

    page: object
    came: list = field(default_factory=list)
    without_seconds: float = 0.0
    first_seconds: float = 0.0
    with_seconds: float = 0.0
    asked: int = 0
    faults: list = field(default_factory=list)
    explained: list = field(default_factory=list)

    @property
    def has_passed(self):
        return not self.faults


def pages(program):
    """Asks all pages; returns their rows."""
    return [row(program, page) for page in program.pages]


def row(program, page):
    row = Row(page)
    wanted, seconds = [], []
    for browser in range(3):
        visitor = program.without.visitor(browser)
        wanted.append(visitor.get(page.path, **page.fields))
        seconds.append(visitor.seconds)
    row.without_seconds = sorted(seconds)[1]
    first, row.first_seconds = ask(program, page, 0)
    answers = [first, until_hit(program, page, 1, row)]
    third, row.with_seconds = ask(program, page, 2)
    if is_first_of_its_class(program, third):
        # The next one gets a hit.
        until_hit(program, page, 2, row)
        third, row.with_seconds = ask(program, page, 2)
    answers.append(third)
    row.came = [status(answer) for answer in answers]
    judge(program, row, answers, wanted)
    if row.faults:
        row.explained = explained(program, page)
    return row


def ask(program, page, browser):
    visitor = program.through.visitor(browser)
    return visitor.get(page.path, **page.fields), visitor.seconds


def until_hit(program, page, browser, row):
    """A visitor's answer. While it is no hit, the visitor asks again: Kasoku may still compare."""
    begun, pause = time.monotonic(), 0.2
    patience = SETTLED_SECONDS_MAX if page.is_shared else NEVER_SECONDS_MAX
    refused = []
    while True:
        time.sleep(pause)
        answer, _ = ask(program, page, browser)
        row.asked += 1
        refused = refused + [answer.decision] if is_refused(answer) else []
        is_settled = len(refused) >= SETTLED_DECISIONS and len(set(refused[-SETTLED_DECISIONS:])) == 1
        if answer.is_hit or is_settled or time.monotonic() - begun > patience:
            return answer
        pause = min(pause * 2, 2)


def is_refused(answer):
    """Whether the answer will not be stored, for a reason that is no running comparison."""
    return "stored" not in answer.decision and "uri-miss" not in detail(answer) and "pending" not in answer.decision


def is_first_of_its_class(program, answer):
    """Whether nobody of this language or device has asked for the page before, where a further line gives each class a page of its own."""
    has_classes = any(line.startswith(("key-languages", "key-device")) for line in program.further)
    return detail(answer) == "vary-miss" or has_classes and detail(answer) in ("leak-guard-pending", "rules-changed")


def detail(answer):
    found = re.search(r"detail=([\w-]+)", answer.decision)
    return found[1] if found else ""


def status(answer):
    """`Cache-Status` in short: hit, or the reason."""
    if answer.is_hit:
        return "hit"
    more = re.search(r'(?:cookie|field)="([^"]*)"', answer.decision)
    words = [detail(answer) or answer.decision or "none", more[1] if more else "", "stored" if "; stored" in answer.decision else ""]
    return " ".join(word for word in words if word)


def judge(program, row, answers, wanted):
    is_hit = answers[1].is_hit and answers[2].is_hit
    if row.page.is_shared and not is_hit:
        row.faults.append("no hit")
    if not row.page.is_shared and any(answer.is_hit for answer in answers):
        row.faults.append("shared")
    others = [(number, differences(program, row.page, answer, own)) for number, (answer, own) in enumerate(zip(answers, wanted), 1)]
    others = [(number, difference) for number, difference in others if difference]
    if others:
        who = ", ".join(str(number) for number, _ in others)
        row.faults.append(f"visitor {who} gets something else than without Kasoku: {others[0][1]}")


def differences(program, page, one, other):
    """Where two answers differ, in a few lines; empty if they are equal but for clocks."""
    heads = [(answer.status, answer.fields.get("content-type"), answer.fields.get("location")) for answer in (one, other)]
    if heads[0] != heads[1]:
        return f"{heads[0]} instead of {heads[1]}"
    if one.bytes == other.bytes:
        return ""
    # Two answers for one visitor each may differ in their tokens as well.
    clocks = [*program.clocks, *(() if page.is_shared else program.tokens)]
    lines = changes(*(without_clocks(answer.text, clocks) for answer in (other, one)), DIFFERENCE_LINES_MAX)
    return "".join(f"\n          {line}" for line in lines)


def explained(program, page):
    """The lines of explain that matter here, and those with which it asks the application as well."""
    words = [word for name, value in page.fields.items() for word in ("-H", f"{name}: {value}")]
    said = program.explain(page.path, *words)
    guard = [re.sub(r", found .*?: ", ": ", line) for line in said if line.startswith("guard")]
    guard += [line for line in said if re.match(r" {10}\S+ +(anonymous|visitor|account) ", line)]
    lived = program.explain(page.path, "--live", *words)
    at = next((number for number, line in enumerate(lived) if line.startswith("verdict")), 0)
    return guard + lived[at:]


def proposed(rows, already):
    """The lines of the configuration that explain proposed, together, for most of the pages that failed; empty if there are none."""
    found = Counter(lines for row in rows if row.faults for lines in dict.fromkeys(proposals(row.explained)))
    names = {name_of(line) for line in already}
    return next((lines for lines, _ in found.most_common() if not names & set(map(name_of, lines))), ())


def proposals(explained):
    """The alternatives among explain's advice that are lines of the configuration alone: those after "and" belong to those before."""
    alternatives = []
    for label, text in (found.groups() for found in map(ADVICE.match, explained) if found):
        if label in ("guard", "verdict", "header"):
            continue
        if label == "and" and alternatives:
            alternatives[-1].append(text)
        else:
            alternatives.append([text])
    return [tuple(lines) for lines in alternatives if all(map(SETTING.match, lines))]


def name_of(line):
    return line.partition(" = ")[0]


def table(rows):
    width = max(len(row.page.path) for row in rows)
    width = min(width, 72)
    print(f"        {'URL':{width}}  expected  1st / 2nd (requests) / 3rd request; ms without Kasoku, 1st, 3rd")
    said = None
    for row in rows:
        expected = "hit" if row.page.is_shared else "never"
        first, second, third = row.came
        again = f" ({row.asked})" if row.asked > 1 else ""
        mark = "ok    " if row.has_passed else "FAILED"
        print(f"{mark}  {row.page.path:{width}}  {expected:8}  {first} / {second}{again} / {third}; "
              f"{row.without_seconds * 1000:.0f}, {row.first_seconds * 1000:.0f}, {row.with_seconds * 1000:.1f}")
        if row.page.why:
            print(f"          ({row.page.why})")
        for fault in row.faults:
            print(f"        - {fault}")
        # What explain says of a pattern is printed once.
        for line in row.explained if row.explained != said or not said else ["as above"]:
            print(f"        | {line[:220]}")
        said = row.explained or said
