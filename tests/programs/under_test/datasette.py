"""Datasette 0.65 from PyPI, with its own server and two of its plugins: accounts with passwords, and API tokens.

- Pages of a database state `max-age=5` themselves; the list of databases, CSV and pages below `/-/` state nothing. All say `Vary: Cookie, Authorization`.
- Clocks: "Queries took 5.548ms" on each page, `query_ms` in JSON.
- A page with a form that writes sets `ds_csrftoken`, repeats it in the form, and says `private, no-store`.
- A name and a password are checked at `/-/login`, which sets `ds_actor`; programs send `Authorization: Bearer …`.
"""

import json
import re
import sqlite3

import program
from packages import python
from page import hit, never
from scenarios import equal, holds, true
from servers import run

PASSWORD, TOKEN = "correct horse battery", "a-token-for-programs"


class Program(program.Program):
    pypi = ["datasette==0.65.5", "datasette-auth-tokens==0.3", "datasette-auth-passwords==1.1.1"]
    rules = """
[[site]]
origin = "http://127.0.0.1:{application}"
{line}
"""
    tokens = [r'name="csrftoken" value="[^"]*"']
    clocks = [r"Queries took [\d.]+ms", r'"query_ms": [\d.e-]+']

    def _install(self):
        database = self.data / "harbour.db"
        with sqlite3.connect(database) as harbour:
            harbour.execute("CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, berth INTEGER, fee REAL)")
            harbour.executemany("INSERT INTO boats VALUES (?, ?, ?, ?)", [(i, f"Boat {i} 舟", i % 40, i * 1.5) for i in range(1, 2000)])
            harbour.execute("CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT)")
        harbour.close()
        datasette = python(self.pypi).with_name("datasette")
        hashed = run([datasette, "hash-password", "--password", PASSWORD]).strip()
        metadata = self.directory / "metadata.json"
        metadata.write_text(json.dumps({
            "title": "Harbour office",
            "databases": {"harbour": {
                "queries": {
                    "sign": {"sql": "insert into guests (name) values (:name)", "write": True},
                    "by-berth": {"sql": "select * from boats where berth = :berth"},
                },
                "tables": {"guests": {"allow": {"id": ["ann", "robot"]}}},
            }},
            "plugins": {
                "datasette-auth-passwords": {"ann_password_hash": hashed, "actors": {"ann": {"id": "ann"}}},
                "datasette-auth-tokens": {"tokens": [{"token": TOKEN, "actor": {"id": "robot"}}]},
            },
        }))
        self.listening("datasette", [datasette, "serve", database, "--port", self.application, "--metadata", metadata, "--secret", "a secret"],
                       self.application)

    pages = [
        hit("/"),
        hit("/harbour"),
        hit("/harbour/boats"),
        hit("/harbour/boats/7"),
        hit("/harbour/boats?_facet=berth&name__contains=7"),
        hit("/harbour/boats.json?_shape=objects"),
        hit("/harbour/boats.csv?_stream=on"),
        hit("/harbour/by-berth?berth=3"),
        never("/harbour/sign", "its form has a token, and the page says private, no-store"),
        never("/harbour/guests", "403 for visitors who are not logged in: no lifetime is granted to it"),
    ]

    @property
    def scenarios(self):
        return [a_member_logs_in_and_sees_what_guests_do_not, a_form_is_sent, a_program_sends_its_token]


def token_of(page):
    return re.search(r'name="csrftoken" value="([^"]+)"', page.text)[1]


def a_member_logs_in_and_sees_what_guests_do_not(way):
    equal(way.visitor(1).get("/harbour/guests").status, 403, "a guest")
    ann = way.visitor()
    form = {"username": "ann", "password": PASSWORD, "csrftoken": token_of(ann.get("/-/login"))}
    equal(ann.post("/-/login", form).status, 302, "the log-in")
    for _ in range(2):
        answer = ann.get("/harbour/guests")
        equal(answer.status, 200, "the member's page")
        holds(answer.text, "ann", "the member's page")
        holds(ann.get("/").text, "ann", "the start page of a member")
        equal(way.visitor(1).get("/harbour/guests").status, 403, "a guest afterwards")
        true("/-/logout" not in way.visitor(1).get("/").text, "a guest's start page")


def a_form_is_sent(way):
    for browser in range(2):
        guest = way.visitor(browser)
        name = f"guest {browser} {way.name}"
        answer = guest.post("/harbour/sign", {"name": name, "csrftoken": token_of(guest.get("/harbour/sign"))})
        equal(answer.status, 302, "the form")
        found = way.visitor().get("/harbour/guests.json?_shape=array&_sort_desc=id", Authorization=f"Bearer {TOKEN}")
        equal(json.loads(found.text)[0]["name"], name, "the newest guest")


def a_program_sends_its_token(way):
    path = "/harbour/guests.json?_shape=array"
    for _ in range(2):
        equal(way.visitor(1).get(path).status, 403, "without a token")
        equal(way.visitor().get(path, Authorization=f"Bearer {TOKEN}").status, 200, "with a token")
        equal(way.visitor(1).get(path, Authorization="Bearer wrong").status, 403, "with a wrong token")
