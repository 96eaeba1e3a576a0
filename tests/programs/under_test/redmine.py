"""Redmine 5.0 of Debian (Rails 6.1), by puma, with SQLite.

- Each page is one visitor's: `<meta name="csrf-token">` is masked anew each time, also within a session, and each answer sets the session cookie
  (`_redmine_session`, in Debian the instance's), even feeds and the interface's JSON. All say `max-age=0, private, must-revalidate`; files and CSV say
  `private`. So by what it says only style sheets and scripts are shared: they state nothing but `Last-Modified`.
- The language of a guest's page follows `Accept-Language`, and no `Vary` says so (it is `Accept, X-Requested-With`).
- Programs send `X-Redmine-API-Key`, `key=` in the URL, or Basic authorization; without them the interface says 401, or what guests may see.
- What changes besides the token: `name="form-4ae7d40f"` of the search form, at random; ages ("less than a minute").
- A guest who asks for a private project gets a redirect to the log-in form with `no-cache`.
"""

import json
import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import program
from page import hit, never
from scenarios import equal, holds, lacks, true
from servers import run

SOURCES = Path("/usr/share/redmine")
# The package has set this up: all of Redmine's tables, and its default trackers, roles and priorities.
DATABASE = Path("/var/lib/dbconfig-common/sqlite3/redmine/instances/default/redmine_default")
PASSWORD = "correct horse battery"
TOKEN = "each page has a token, and says private"
PRIVATE = "it says private"


class Program(program.Program):
    packages = ["redmine-sqlite", "redmine", "puma"]
    rules = """
[[site]]
origin = "http://127.0.0.1:{application}"
{line}
"""

    clocks = [r'name="[\w-]*form-[0-9a-f]{8}"']
    tokens = [r'<meta name="csrf-token" content="[^"]*"', r'name="authenticity_token" value="[^"]*"']

    def _install(self):
        self.root, instance = self.data / "redmine", self.data / "redmine" / "instances" / "default"
        shutil.copytree(SOURCES, self.root, ignore=shutil.ignore_patterns("instances", "Gemfile.lock"))
        for name in ("config", "files", "log", "tmp", "public/plugin_assets"):
            (instance / name).mkdir(parents=True)
        database = self.data / "redmine.sqlite"
        shutil.copy(DATABASE, database)
        with sqlite3.connect(database) as connection:
            # Readers do not hold up writers.
            connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        settings = instance / "config" / "database.yml"
        settings.write_text(f"production:\n  adapter: sqlite3\n  database: {database}\n  encoding: utf8\n  timeout: 10000\n")
        (instance / "config" / "secret_key.txt").write_text("0123456789abcdef" * 4)
        gems = self.root / "Gemfile"
        gems.write_text(gems.read_text().replace("/usr/share/redmine/{config,instances/*/config}/database.yml", str(settings)))
        (self.root / "Gemfile.local").write_text('gem "puma"\n')
        self.owned_by_web_user()
        self._seed()
        self.listening("puma", self._words("puma", "--environment", "production", "--threads", "2:4", "--bind", f"tcp://127.0.0.1:{self.application}",
                                           "config.ru"), self.application, cwd=self.root)

    def _seed(self):
        # Bundler finds Debian's gems without the network.
        run(self._words("install", "--local"), cwd=self.root)
        script = Path(__file__).parent / "redmine_site" / "data.rb"
        shutil.copy(script, self.data)
        said = subprocess.run(self._words("bin/rails", "runner", self.data / script.name), cwd=self.root, capture_output=True, text=True, timeout=180)
        found = dict(line.split() for line in said.stdout.splitlines() if re.match(r"(key|file) \w+$", line))
        if "file" not in found:
            raise RuntimeError(f"Redmine could not be filled: {said.stdout}{said.stderr[:2000]}")
        self.key, self.file = found["key"], found["file"]

    def _words(self, *words):
        command = ["bundle"] if words[0] == "install" else ["bundle", "exec"]
        return ["runuser", "-u", "www-data", "--", "env", f"HOME={self.data}", "REDMINE_INSTANCE=default", "RAILS_ENV=production", f"PASSWORD={PASSWORD}",
                f"PATH={os.environ['PATH']}", *command, *words]

    @property
    def pages(self):
        return [
            never("/", TOKEN),
            never("/projects/harbour", TOKEN),
            never("/projects/harbour/issues", TOKEN),
            never("/login", TOKEN),
            never("/projects/harbour/issues.atom", PRIVATE),
            never("/projects/harbour/issues.csv", PRIVATE),
            never("/issues.json?limit=5", PRIVATE),
            never(f"/attachments/download/{self.file}/plan.txt", PRIVATE),
            hit("/stylesheets/application.css"),
            hit("/javascripts/application.js"),
        ]

    @property
    def scenarios(self):
        return [a_member_logs_in_and_writes, a_program_sends_its_key, a_file_is_downloaded, each_guest_gets_the_language_that_the_browser_asks_for]


def token_of(page):
    return re.search(r'name="authenticity_token" value="([^"]+)"', page.text)[1]


def log_in(way, browser):
    ann = way.visitor(browser)
    form = {"utf8": "✓", "authenticity_token": token_of(ann.get("/login")), "username": "ann", "password": PASSWORD, "login": "Login"}
    answer = ann.post("/login", form)
    equal(answer.status, 302, "the log-in")
    return ann


def a_member_logs_in_and_writes(way):
    for browser in range(2):
        way.visitor(browser).get("/projects/harbour")
        ann = log_in(way, browser)
        for _ in range(2):
            holds(ann.get("/projects/harbour").text, 'id="loggedas"', "a member's page")
            lacks(way.visitor(2).get("/projects/harbour").text, 'id="loggedas"', "a guest's page")
        holds(ann.get("/projects/safe/issues").text, "4711", "the private project")
        equal(way.visitor(2).get("/projects/safe/issues").status, 302, "the private project for a guest")
        page = ann.get("/projects/harbour/issues/new")
        subject = f"Berth {browser} {way.name}"
        answer = ann.post("/projects/harbour/issues", {"authenticity_token": token_of(page), "issue[tracker_id]": "1", "issue[subject]": subject,
                                                       "issue[status_id]": "1", "issue[priority_id]": "1"})
        equal(answer.status, 302, "the new issue")
        for visitor in (ann, way.visitor(1)):
            holds(visitor.get("/projects/harbour/issues").text, subject, "the list at once")


def a_program_sends_its_key(way):
    key = {"X-Redmine-API-Key": way.site.key}
    for _ in range(2):
        equal(way.visitor().get("/users/current.json").status, 401, "without a key")
        said = way.visitor().get("/users/current.json", **key)
        equal((said.status, "ann" in said.text), (200, True), "with a key")
        holds(way.visitor().get("/issues.json?project_id=safe", **key).text, "4711", "the private issue with a key")
        lacks(way.visitor().get("/issues.json?project_id=safe").text, "4711", "without a key")
        equal(way.visitor().get(f"/users/current.json?key={way.site.key}").status, 200, "with a key in the URL")
    issue = json.dumps({"issue": {"project_id": "harbour", "subject": f"By a program {way.name}", "priority_id": 1}})
    equal(way.visitor().ask("POST", "/issues.json", {**key, "Content-Type": "application/json"}, issue).status, 201, "an issue by a program")


def a_file_is_downloaded(way):
    for browser in range(2):
        answer = way.visitor(browser).get(f"/attachments/download/{way.site.file}/plan.txt")
        equal((answer.status, answer.text), (200, "the plan of the pier"), "the file")
        true("plan.txt" in answer.fields.get("content-disposition", "plan.txt"), "its name")


def each_guest_gets_the_language_that_the_browser_asks_for(way):
    for _ in range(2):
        for browser, word in [(0, "Sign in"), (1, "Anmelden"), (2, "ログイン")]:
            holds(way.visitor(browser).get("/projects").text, word, f"the page of visitor {browser}")
