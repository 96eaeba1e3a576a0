"""AWStats 7.8, by CGI, with two months of a log.

- It sends no cookie, no token and no `Vary`, but `Cache-Control: public` with `Expires` and `Last-Modified` of now (in asctime's form): its setting
  `Expires=0`, Debian's default, states a lifetime of 0. So `ttl` alone yields to it; without that setting it states none.
- Rows with equal counts come in any order, and where a list is cut (the ten hosts) even other rows: Perl's hashes.
- So it needs two further lines, which explain prints together: one for the language, and `ignore = ["expires"]` against its own lifetime of 0. An
  operator who takes `Expires=0` out of AWStats' settings needs the first one alone.
- **The page is in the browser's language** (`Lang="auto"`, by `Accept-Language`, without `Vary`): without `key-languages` all visitors get one.
- "Last Update: 27 Nov 2026 - 21:04" is the time of the data, not of the page. There is no clock.
- Its forms are sent by GET. With AllowToUpdateStatsFromBrowser, a link would change something; it is off by default.
- `framename=index` and `framename=mainright` are two pages of one frame set.
"""

import datetime
import re
import shutil
from pathlib import Path

import program
from page import hit
from scenarios import equal, holds
from servers import run

STATS = "/cgi-bin/awstats.pl?config=harbour"


class Program(program.Program):
    packages = ["awstats", "libnet-ip-perl"]
    rules = """
[[site]]
origin = "file:///usr/share/awstats"
{line}

[[site.rule]]
path = "/cgi-bin/*"
origin = "cgi://{directory}/cgi-bin"
"""

    further_max = 2
    # Rows of tables, which come in any order where they tie.
    clocks = [r"(?m)^<tr><td.*$"]

    def _install(self):
        cgi = self.directory / "cgi-bin"
        cgi.mkdir()
        shutil.copy("/usr/lib/cgi-bin/awstats.pl", cgi)
        settings = Path("/etc/awstats/awstats.conf").read_text()
        own = {"LogFile": self.directory / "access.log", "LogFormat": 1, "SiteDomain": "harbour.example", "HostAliases": "harbour.example",
               "DNSLookup": 0, "DirData": self.data}
        for name, value in own.items():
            settings = re.sub(rf"(?m)^{name}=.*", f'{name}="{value}"' if isinstance(value, (str, Path)) else f"{name}={value}", settings)
        (cgi / "awstats.harbour.conf").write_text(re.sub(r"(?m)^Include .*", "", settings))
        self.log()
        run([cgi / "awstats.pl", "-config=harbour", "-update"], cwd=cgi)
        self.owned_by_web_user()

    def log(self):
        """A log of forty days: pages, images, robots, searches, errors."""
        agents = ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Googlebot/2.1 (+http://www.google.com/bot.html)",
                  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 Safari/605.1"]
        referrers = ["-", "https://www.google.com/search?q=harbour+fees", "https://news.example/ferries"]
        day, lines = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=40), []
        for number in range(4000):
            when = day + datetime.timedelta(minutes=14 * number)
            if when > datetime.datetime.now(datetime.timezone.utc):
                break
            path = ["/", "/boats", f"/boats/{number % 50}", "/pier.png", "/nowhere"][number % 5]
            lines.append(f'192.0.2.{number % 200} - - [{when:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" {404 if path == "/nowhere" else 200} '
                         f'{1000 + number} "{referrers[number % 3]}" "{agents[number % 3]}"\n')
        (self.directory / "access.log").write_text("".join(lines))

    @property
    def pages(self):
        last = datetime.date.today().replace(day=1) - datetime.timedelta(days=1)
        return [
            hit(STATS),
            hit(f"{STATS}&framename=mainright"),
            hit(f"{STATS}&framename=index"),
            hit(f"{STATS}&framename=mainright&output=urldetail"),
            hit(f"{STATS}&framename=mainright&output=allhosts"),
            hit(f"{STATS}&framename=mainright&output=lastrobots"),
            hit(f"{STATS}&framename=mainright&output=keyphrases"),
            hit(f"{STATS}&year={last:%Y}&month={last:%m}&output=main"),
            hit(f"{STATS}&output=errors404"),
            hit("/icon/other/awstats_logo6.png"),
        ]

    @property
    def scenarios(self):
        return [each_visitor_gets_the_language_that_the_browser_asks_for, a_form_is_sent]


def each_visitor_gets_the_language_that_the_browser_asks_for(way):
    for _ in range(2):
        for browser, word in [(0, "Unique visitors"), (1, "Unterschiedliche Besucher"), (2, "訪問者")]:
            holds(way.visitor(browser).get(f"{STATS}&output=main&framename=mainright").text, word, f"the page of visitor {browser}")


def a_form_is_sent(way):
    for browser in range(2):
        answer = way.visitor(browser).get("/cgi-bin/awstats.pl?urlfilter=boats&urlfilterex=&output=urldetail&config=harbour&framename=mainright")
        equal(answer.status, 200, "the form")
        holds(answer.text, "/boats/7", "the filtered list")
