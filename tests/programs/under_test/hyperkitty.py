"""HyperKitty 1.3.7, Mailman's archive, by Django 3.2 and gunicorn, with SQLite; Mailman itself does not run.

- All pages say `Vary: Accept-Language, Cookie` (Django's LocaleMiddleware): the language is the browser's, so hits need one more line,
  `key-languages = ["en", "de", "ja"]`. None states a lifetime, except `recent-activity` (`max-age=43200`).
- Pages with a form (threads, messages, lists of a month, searches) set `csrftoken` and have `csrfmiddlewaretoken`, masked anew each time, also within
  a session. So they are each visitor's own. The list of lists and a list's overview have none.
- Nothing else changes between two guests. Ages ("19 days") change with the day.
- A member's log-in sets `sessionid`; a member's pages have the name in them.
- A download of the archive is a gzip file that is made each time, with the time of making in it.
"""

import os
import re
import subprocess
from pathlib import Path

import program
from page import hit, never
from scenarios import equal, holds, lacks, true

# Debian's Python, even if another comes first in the path: the packages are for Debian's.
PYTHON = "/usr/bin/python3"
LIST = "/archives/list/boats@harbour.example"
NAME, PASSWORD = "ann", "correct horse battery"
TOKEN = "its forms have a token, masked anew each time"


class Program(program.Program):
    packages = ["python3-django-hyperkitty", "python3-gunicorn", "python3-whoosh", "sassc"]
    rules = """
[[site]]
origin = "http://127.0.0.1:{application}"
{line}

[[site.rule]]
path = "/static/*"
origin = "file://{data}/static"
url-prefix = "/static"
"""
    clocks = [r"<(?:lastBuildDate|pubDate|updated)>[^<]*"]
    tokens = [r'name="csrfmiddlewaretoken" value="[^"]*"']

    def _install(self):
        (self.data / "cache").mkdir()
        mailbox = self.data / "boats.mbox"
        mailbox.write_text("".join(map(message, range(80))))
        self._manage("migrate", "-v0")
        self._manage("hyperkitty_import", "-l", "boats@harbour.example", mailbox)
        self._manage("collectstatic", "--noinput", "-v0")
        self._manage("compress", "--force")
        self._manage("update_index", "-v0")
        self._manage("createsuperuser", "--noinput", "--username", NAME, "--email", "ann@harbour.example")
        self.owned_by_web_user()
        self.listening("gunicorn", [PYTHON, "-m", "gunicorn", "--user", "www-data", "--workers", "2", "--bind", f"127.0.0.1:{self.application}",
                                    "django.core.wsgi:get_wsgi_application()"], self.application, env=self._variables(), cwd=self.data)

    def _variables(self):
        return {**os.environ, "KASOKU_DATA": str(self.data), "PYTHONPATH": str(Path(__file__).resolve().parent / "hyperkitty_site"),
                "DJANGO_SETTINGS_MODULE": "hyperkitty_settings", "DJANGO_SUPERUSER_PASSWORD": PASSWORD, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(self.data)}

    def _manage(self, *words):
        done = subprocess.run([PYTHON, "-m", "django", *map(str, words)], env=self._variables(), cwd=self.data, capture_output=True, text=True, timeout=180)
        if done.returncode != 0:
            raise RuntimeError(f"django {words[0]}: {done.stderr[-2000:]}")

    @property
    def pages(self):
        self.thread = re.search(r"/thread/[A-Z0-9]+/", self.without.visitor().get(f"{LIST}/2026/11/").text)[0]
        return [
            hit("/archives/"),
            hit(f"{LIST}/"),
            hit(f"{LIST}/recent-activity"),
            hit(f"{LIST}/top-posters"),
            never(f"{LIST}/latest", TOKEN),
            never(f"{LIST}/2026/11/", TOKEN),
            never(f"{LIST}{self.thread}", TOKEN),
            never("/archives/search?q=leaks&mlist=boats@harbour.example", TOKEN),
            never("/accounts/login/", TOKEN),
            hit("/archives/?sort=popular"),
        ]

    @property
    def scenarios(self):
        return [a_member_logs_in_and_is_greeted_alone, each_visitor_gets_the_language_that_the_browser_asks_for, the_archive_is_downloaded]


def message(number):
    thread, is_answer = divmod(number, 4)
    sender = "Ann Pier <ann@harbour.example>" if number % 2 else "Joerg Kai <joerg@harbour.example>"
    return (f"From ann@harbour.example Mon Nov {2 + thread:2d} {8 + is_answer:02d}:00:00 2026\nFrom: {sender}\nTo: boats@harbour.example\n"
            f"Subject: {'Re: ' if is_answer else ''}Berth {thread} leaks\nDate: Mon, {2 + thread:02d} Nov 2026 {8 + is_answer:02d}:00:00 +0000\n"
            f"Message-ID: <{number}@harbour.example>\n" + (f"In-Reply-To: <{thread * 4}@harbour.example>\n" if is_answer else "")
            + f"\nThe boat at berth {thread} leaks. Message {number}.\n\n")


def a_member_logs_in_and_is_greeted_alone(way):
    for browser in range(2):
        ann = way.visitor(browser)
        ann.get("/archives/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', ann.get("/accounts/login/").text)[1]
        answer = ann.post("/accounts/login/", {"csrfmiddlewaretoken": token, "login": NAME, "password": PASSWORD})
        equal(answer.status, 302, "the log-in")
        true(ann.cookie("sessionid") is not None, "the session")
        for path in ("/archives/", f"{LIST}/", "/archives/"):
            holds(ann.get(path).text, "/accounts/logout/", f"a member's {path}")
            lacks(way.visitor(2).get(path).text, "/accounts/logout/", f"a guest's {path}")


def each_visitor_gets_the_language_that_the_browser_asks_for(way):
    for _ in range(2):
        for browser, word in [(0, "Available lists"), (1, "Verfügbare Listen")]:
            holds(way.visitor(browser).get("/archives/").text, word, f"the page of visitor {browser}")


def the_archive_is_downloaded(way):
    for browser in range(2):
        answer = way.visitor(browser).get(f"{LIST}/export/boats@harbour.example-2026-11.mbox.gz?start=2026-11-01&end=2026-12-01")
        true(answer.status == 200 and answer.bytes[:2] == b"\x1f\x8b", f"the archive: {answer.status} {answer.bytes[:20]}")
