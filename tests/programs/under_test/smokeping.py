"""SmokePing 2.7.3, by CGI, with round-trip times of this machine.

- Its pages state `Expires` in one step of its database (300 s), which is its own lifetime, and `<meta http-equiv="refresh" content="300">`.
- It sends no cookie, no token and no `Vary`.
- Clocks: the navigator (`displaymode=n`) has hidden fields `epoch_start` and `epoch_end`, the seconds of now and of three hours ago, in a form, and repeats
  them in the names of its images (`…?displaymode=a;start=…;end=…`); other pages have dates of the last update in the text.
- `_charts` prints its charts, and rows that tie, in the order of Perl's hashes, another one each time.
- A page draws its images into files when it is made: `/smokeping/images/…_last_10800.png`. A hit draws none, so pages and images are of one age.
- The zoom's script asks by POST or by GET with `displaymode=a`, and gets `PATH;START;END` or an image.
- `filter=…` of the search form is sent by POST.
"""

import shutil
from pathlib import Path

import program
from page import hit
from scenarios import equal, holds, true
from servers import run

SCRIPT = "/smokeping/smokeping.cgi"

CONFIGURATION = """*** General ***
owner = Ann Pier
contact = ann@harbour.example
mailhost = localhost
cgiurl = http://127.0.0.1{script}
imgcache = {images}
imgurl = /smokeping/images
datadir = {data}/rrd
piddir = {data}
smokemail = /etc/smokeping/smokemail
tmail = /etc/smokeping/tmail
dyndir = {data}/dynamic
*** Alerts ***
to = ann@harbour.example
from = smoke@harbour.example
*** Database ***
step = 300
pings = 5
AVERAGE 0.5 1 1008
AVERAGE 0.5 12 4320
MIN 0.5 12 4320
MAX 0.5 12 4320
AVERAGE 0.5 144 720
MAX 0.5 144 720
MIN 0.5 144 720
*** Presentation ***
template = /etc/smokeping/basepage.html
charset = utf-8
htmltitle = yes
graphborders = no
+ charts
menu = Charts
title = The most interesting destinations
++ median
sorter = Median(entries=>5)
title = Top Median Roundtrip Time
menu = by Median
format = Median RTT %f seconds
++ loss
sorter = Loss(entries=>5)
title = Top Packet Loss
menu = Loss
format = Packets Lost %f
+ overview
width = 600
height = 50
range = 10h
+ detail
width = 600
height = 200
unison_tolerance = 2
"Last 3 Hours" 3h
"Last 30 Hours" 30h
"Last 10 Days" 10d
*** Probes ***
+ FPing
binary = /usr/bin/fping
*** Targets ***
probe = FPing
menu = Top
title = Network Latency Grapher
remark = Welcome to the harbour's SmokePing.
+ Piers
menu = Piers
title = The piers
++ North
menu = North
title = North pier
host = 127.0.0.1
++ South
menu = South
title = South pier
host = 127.0.0.2
+ Lighthouse
menu = Lighthouse
title = The lighthouse
host = 127.0.0.3
"""


class Program(program.Program):
    packages = ["smokeping", "fping"]
    rules = """
[[site]]
origin = "file://{directory}/www"
{line}

[[site.rule]]
path = "/smokeping/*.cgi"
origin = "cgi://{directory}/cgi-bin"
"""
    clocks = [
        r'name="epoch_(?:start|end)"[^>]*>',
        r"(?:start|end|epoch_start|epoch_end)=\d+",
        r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?",
        r"__navcache/[^\"]*",
        # The rows of the charts come in any order where they tie, and so do the charts.
        r"<h2>(?:Top [^<]*|\d+\. \w+ [^<]*)</h2>",
        r'"\?target=[^"]*"><IMG ALT="" SRC="[^"]*__chartscache/[^"]*"',
        r"\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}",
    ]

    def _install(self):
        images, cgi = self.directory / "www" / "smokeping" / "images", self.directory / "cgi-bin"
        for directory in (images, cgi, self.data / "rrd", self.data / "dynamic"):
            directory.mkdir(parents=True)
        for name in ("css", "js"):
            shutil.copytree(Path("/usr/share/smokeping/www") / name, images.parent / name)
        configuration = self.directory / "smokeping.conf"
        configuration.write_text(CONFIGURATION.format(data=self.data, images=images, script=SCRIPT))
        script = cgi / "smokeping.cgi"
        script.write_text(f"#!/bin/sh\nexec /usr/share/smokeping/smokeping.cgi {configuration}\n")
        script.chmod(0o755)
        self.owned_by_web_user(self.data, images)
        # One round of pings makes the databases.
        run(["runuser", "-u", "www-data", "--", "/usr/sbin/smokeping", f"--config={configuration}", "--debug"])

    pages = [
        hit(SCRIPT),
        hit(f"{SCRIPT}?target=Piers"),
        hit(f"{SCRIPT}?target=Piers.North"),
        hit(f"{SCRIPT}?target=Piers.South"),
        hit(f"{SCRIPT}?target=Lighthouse"),
        hit(f"{SCRIPT}?target=_charts"),
        hit(f"{SCRIPT}?target=_charts.median"),
        hit(f"{SCRIPT}?displaymode=n;start=now-3h;end=now;target=Piers.North"),
        hit("/smokeping/images/Piers/North_mini.png"),
        hit("/smokeping/css/smokeping-screen.css"),
    ]

    @property
    def scenarios(self):
        return [a_form_is_sent, an_image_of_a_page_comes]


def a_form_is_sent(way):
    for browser in range(2):
        visitor = way.visitor(browser)
        for name, there in [("North", "North"), ("Light", "Lighthouse")]:
            answer = visitor.post(SCRIPT, {"filter": name, "target": ""})
            equal(answer.status, 200, "the form")
            holds(answer.text, there, f"what is left by {name}")


def an_image_of_a_page_comes(way):
    for browser in range(2):
        visitor = way.visitor(browser)
        visitor.get(f"{SCRIPT}?target=Piers")
        answer = visitor.get("/smokeping/images/Piers/South_mini.png", Accept="image/avif,image/webp,*/*")
        true(answer.status == 200 and answer.bytes.startswith(b"\x89PNG"), f"the image: {answer.status}")
