#!/usr/bin/env python3
"""Tests the proposals of `kasoku explain --live` for a Django site, and that visitors can still log in when all of them are applied.

Django masks its token differently in each page, so a search for the cookie's value does not find it. This uses Debian's Django
(python3-django) with its own server behind Kasoku. Prints a line for each scenario and `django: N passed, M failed`; `--program FILE` tests
another program than the release.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "browsing")]

from application_servers import run_all  # noqa: E402
from servers import can_connect, end, free_port, until  # noqa: E402
from visitor import Visitor  # noqa: E402

# Debian's Python, even if another comes first in the path: the package is for Debian's.
PYTHON = "/usr/bin/python3"
SITE = Path(__file__).resolve().parent / "django" / "site_under_test.py"
NAME, PASSWORD = "ann", "a long password"
PATIENCE_SECONDS = 20
CONFIGURATION = """
listen = ["127.0.0.1:{port}"]
admin = "unix:{directory}/admin.sock"

[[site]]
origin = "http://127.0.0.1:{application}"
{rules}
"""


class Servers:
    """A context with Django, and Kasoku in front of it."""

    def __init__(self, program):
        self.program, self.scratch = program, tempfile.TemporaryDirectory(prefix="kasoku-django-")
        self.directory = Path(self.scratch.name)
        self.application, self.port = free_port(), free_port()
        self.children, self.kasoku = [], None

    def __enter__(self):
        self.manage("migrate", "-v0")
        self.manage("createsuperuser", "--noinput", "--username", NAME, "--email", "ann@example.org")
        self.start([PYTHON, "-B", SITE, self.directory, "runserver", "--noreload", f"127.0.0.1:{self.application}"], self.application)
        self.serve("")
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            end(child)
        self.scratch.cleanup()

    def manage(self, *command):
        environment = os.environ | {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
        subprocess.run([PYTHON, "-B", SITE, self.directory, *command], check=True, capture_output=True, env=environment)

    def start(self, command, port):
        path = self.directory / f"log-{len(self.children)}"
        with open(path, "ab") as log:
            child = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, start_new_session=True)
        self.children.append(child)
        until(f"{command[0]} listens", lambda: can_connect(port), child, path)
        return child

    def serve(self, rules):
        """Starts Kasoku with these rules; ends the one before."""
        if self.kasoku:
            end(self.kasoku)
            self.children.remove(self.kasoku)
        self.config = self.directory / "kasoku.toml"
        text = CONFIGURATION.format(port=self.port, directory=self.directory, application=self.application, rules=rules)
        self.config.write_text(text, encoding="utf-8")
        self.kasoku = self.start([self.program, "serve", "--config", self.config], self.port)

    def said(self):
        return "\n".join(log.read_text(errors="replace") for log in sorted(self.directory.glob("log-*")))

    def advice(self, path):
        """The proposals for a page."""
        url = f"http://127.0.0.1:{self.port}{path}"
        command = [self.program, "explain", "--live", "--json", "--config", self.config, url]
        done = subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
        return json.loads(done.stdout)["advice"]


def log_in(visitor):
    """Logs in; returns the status of the answer to the form."""
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', visitor.get("/login/").text)
    form = {"username": NAME, "password": PASSWORD, "csrfmiddlewaretoken": token[1] if token else ""}
    return visitor.post("/login/", form).status


def lines_of(advice):
    """The proposed lines of the configuration."""
    lists = [advice.get("changes") or [], advice.get("instead") or []]
    return [one for all_of_them in lists for one in all_of_them if one["change"] == "set"]


def a_page_with_a_token_against_forgery_has_to_pass(servers):
    for path in ["/contact/", "/login/"]:
        advice = servers.advice(path)
        assert advice["kind"] == "nothing", (path, advice)
        assert "pass" in advice["why"] and "csrf" in advice["why"], (path, advice)


def a_form_without_a_token_is_not_shared_by_a_line_of_the_configuration(servers):
    assert not lines_of(servers.advice("/survey/")), servers.advice("/survey/")


def a_page_that_says_nothing_should_say_something_and_a_lifetime_may_be_granted_instead(servers):
    for path in ["/", "/hello/"]:
        advice = servers.advice(path)
        sent = [(one["name"], one["value"]) for one in advice["changes"] if one["change"] == "send"]
        assert sent == [("Cache-Control", "max-age=0"), ("CDN-Cache-Control", "max-age=60")], (path, advice)
        assert [one["name"] for one in lines_of(advice)] == ["ttl"], (path, advice)


def what_differs_by_visitor_is_tried_and_not_proposed(servers):
    advice = servers.advice("/weather/")
    assert advice["kind"] == "nothing" and "a trial showed" in advice["why"], advice


def nothing_is_said_against_vary(servers):
    for path in ["/", "/hello/", "/weather/", "/contact/", "/survey/", "/login/"]:
        advice = json.dumps(servers.advice(path))
        assert '"Vary"' not in advice and '"vary"' not in advice, (path, advice)


def people_log_in_where_all_that_is_proposed_is_written_down(servers):
    rules = ""
    for path in ["/contact/", "/login/", "/survey/", "/weather/", "/hello/", "/"]:
        lines = "".join(f'{one["name"]} = {one["value"]}\n' for one in lines_of(servers.advice(path)))
        rules += f'\n[[site.rule]]\npath = "{path}"\n{lines}' if lines else ""
    assert 'path = "/hello/"' in rules, rules
    servers.serve(rules)
    for _ in range(3):
        # Other visitors have requested these pages before.
        for path in ["/", "/hello/", "/contact/", "/login/"]:
            Visitor(servers).get(path)
        ann = Visitor(servers)
        assert log_in(ann) == 302, servers.said()
        answer = ann.get("/hello/")
        assert f"Hello, {NAME}!" in answer.text and not answer.is_hit, (answer.decision, answer.text)
    # A log-in drops the page to which it redirects.
    Visitor(servers).get("/hello/")
    for path, text in [("/hello/", "Hello, guest!"), ("/", "News")]:
        answer = Visitor(servers).get(path)
        assert text in answer.text and answer.is_hit, (answer.decision, answer.text)


SCENARIOS = [
    a_page_with_a_token_against_forgery_has_to_pass,
    a_form_without_a_token_is_not_shared_by_a_line_of_the_configuration,
    a_page_that_says_nothing_should_say_something_and_a_lifetime_may_be_granted_instead,
    what_differs_by_visitor_is_tried_and_not_proposed,
    nothing_is_said_against_vary,
    people_log_in_where_all_that_is_proposed_is_written_down,
]

if __name__ == "__main__":
    sys.exit(run_all("django", __doc__, Servers, SCENARIOS))
