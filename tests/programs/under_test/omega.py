"""Omega 1.4.22, Xapian's search, by CGI, over Debian's own documentation.

- It sends no cookie, no token, no `Vary` and no lifetime.
- Clocks: "Search took 0.001 seconds" on each page of results.
- Its forms are sent by GET. Hidden fields repeat the query (`xP`, `xFILTERS`): they follow from the URL alone.
- Each search is written to a log; a hit leaves no line there.
- `FMT=xml` and `FMT=opensearch` choose another answer by a parameter.
"""

import program
from page import hit
from scenarios import equal, holds
from servers import run

QUERY = "/cgi-bin/omega/omega?DB=docs"


class Program(program.Program):
    packages = ["xapian-omega"]
    rules = """
[[site]]
origin = "file:///usr/share/doc/xapian-omega"
environment = ["OMEGA_CONFIG_FILE={directory}/omega.conf"]
{line}

[[site.rule]]
path = "/cgi-bin/*"
origin = "cgi:///usr/lib/cgi-bin"
"""
    clocks = [r"[\d.]+ seconds", r"<time>[^<]*"]

    def _install(self):
        self.documents()
        (self.directory / "omega.conf").write_text(f"database_dir {self.data}\ntemplate_dir /var/lib/xapian-omega/templates\n"
                                                   f"log_dir {self.data}\ncdb_dir {self.data}\n")
        run(["omindex", "--db", self.data / "docs", "--url", "/", self.directory / "documents"])
        self.owned_by_web_user()

    def documents(self):
        documents = self.directory / "documents"
        documents.mkdir()
        for number in range(400):
            berths = " ".join(f"berth {berth} boat {(berth * 7 + number) % 40}" for berth in range(number % 60))
            (documents / f"day-{number}.html").write_text(f"<html><head><title>Day {number} at the harbour</title></head><body><p>The pier was swept. "
                                                          f"{berths}</p></body></html>")

    pages = [
        hit("/cgi-bin/omega/omega?DB=docs"),
        hit(f"{QUERY}&P=pier"),
        hit(f"{QUERY}&P=boat+7"),
        hit(f"{QUERY}&P=boat&topdoc=10"),
        hit(f"{QUERY}&P=boat&HITSPERPAGE=50"),
        hit(f"{QUERY}&P=berth&DEFAULTOP=and&xP=Zberth"),
        hit(f"{QUERY}&P=nosuchword"),
        hit(f"{QUERY}&P=pier&FMT=xml"),
        hit(f"{QUERY}&P=pier&FMT=opensearch"),
        hit(f"{QUERY}&P=pier&FMT=topterms"),
    ]

    @property
    def scenarios(self):
        return [each_search_has_its_own_results, a_new_document_is_found_after_a_purge]


def each_search_has_its_own_results(way):
    for words in ("swept", "boat 3", "harbour", "nothing-of-this"):
        for browser in range(2):
            answer = way.visitor(browser).get(f"{QUERY}&P={words.replace(' ', '+')}")
            equal(answer.status, 200, words)
            holds(answer.text, words, f"the search for {words}")


def a_new_document_is_found_after_a_purge(way):
    site, word = way.site, f"lighthouse{way.name}"
    way.visitor().get(f"{QUERY}&P={word}")
    (site.directory / "documents" / f"{word}.html").write_text(f"<html><body>{word}</body></html>")
    run(["omindex", "--db", site.data / "docs", "--url", "/", site.directory / "documents"])
    site.owned_by_web_user()
    site.kasoku("purge", "--all")
    for browser in range(2):
        holds(way.visitor(browser).get(f"{QUERY}&P={word}").text, f"{word}.html", "the new document")
