"""Tests which tokens Rhymix itself takes from a guest who writes. Nothing is shared here: the pages are the program's own.

The policy stands on this: a page that is stored with an empty token lets each guest write, whatever the settings say.
"""

import itertools
import re

from scenarios import equal, holds
from visitor import Visitor

META = re.compile(r'<meta name="csrf-token" content="(\w*)" />')
# Of no session.
ANOTHERS = "abcdefghijklmnop"


def settings():
    return itertools.product((False, True), (False, True))


def a_page_has_the_token_of_its_session_and_with_delayed_sessions_an_empty_one(site):
    post = f"/board/{site.content['posts']['board'][0]}"
    for is_strict, is_delayed in settings():
        site.set(security__check_csrf_token=is_strict, session__delay=is_delayed)
        for path in ["/", "/board", post, "/qna", "/notice"]:
            tokens = {META.search(Visitor(site).get(path).text)[1] for _ in range(2)}
            expected = {""} if is_delayed else tokens - {""}
            equal(tokens, expected, f"tokens of {path}, strict: {is_strict}, delayed: {is_delayed}")
            equal(len(tokens), 1 if is_delayed else 2, f"tokens of two visitors at {path}")


def a_guest_writes_without_a_token_and_with_an_empty_one_whatever_is_set(site):
    post = site.content["posts"]["board"][4]
    for number, (is_strict, is_delayed) in enumerate(settings()):
        site.set(security__check_csrf_token=is_strict, session__delay=is_delayed)
        for token, has_session in itertools.product((None, "", ANOTHERS), (True, False)):
            guest = Visitor(site)
            guest.get(f"/board/{post}")
            if not has_session:
                guest.forget()
            word = f"word-{number}-{token}-{has_session}"
            said = comment(guest, site, post, word, token)
            is_written = word in Visitor(site).get(f"/board/{post}").text
            what = f"token {token!r}, strict: {is_strict}, delayed: {is_delayed}, with a session: {has_session}: {said.text[:200]}"
            equal(is_written, not (is_strict and token == ANOTHERS), what)


def a_request_from_nowhere_is_refused(site):
    """What counts by default is where a request comes from: `Origin`, `Sec-Fetch-Site` or `Referer`."""
    site.set(security__check_csrf_token=False, session__delay=False)
    post = site.content["posts"]["board"][4]
    holds(comment(Visitor(site), site, post, "from nowhere", None, origin=False).text, "ERR_CSRF_CHECK_FAILED", "a comment from nowhere")


def comment(guest, site, post, word, token, origin=True):
    """Writes a comment as Rhymix' own script does."""
    fields = {"act": "procBoardInsertComment", "module": "board", "mid": "board", "document_srl": str(post), "content": f"<p>{word}</p>", "nick_name": "Tern",
              "password": "seagull", "use_html": "Y", "_rx_ajax_compat": "JSON"}
    if token is not None:
        fields["_rx_csrf_token"] = token
    sent = {"Accept": "application/json", "X-Requested-With": "XMLHttpRequest"}
    return guest.post("/index.php", fields, **sent, **({"Origin": site.url} if origin else {}))


SCENARIOS = [a_page_has_the_token_of_its_session_and_with_delayed_sessions_an_empty_one, a_guest_writes_without_a_token_and_with_an_empty_one_whatever_is_set,
             a_request_from_nowhere_is_refused]
