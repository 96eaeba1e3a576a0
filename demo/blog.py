#!/usr/bin/env python3
"""Harbour Notes: a small weblog, and an honestly slow one.

    python3 demo/blog.py [--port 8000]

Like many a small weblog program it keeps one text file an entry and no index. So a tag search opens and parses all
3,000 files, for each request, counts their words to rank them, sorts and renders. Nothing sleeps and nothing is slowed down
on purpose: that is what such a search costs. The answer says `Cache-Control: max-age=60`, and with that one line
a cache in front may spare the program all but one search a minute for each tag.

It speaks HTTP/1.1 with the standard library's server. It is an example of an application, not of a good web server.
"""

import argparse
import collections
import datetime
import email.utils
import math
import os
import re
import signal
import sys
import tempfile
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import entries
import pages

SHOWN_MAX = 20
WORD = re.compile(r"[a-z]{4,}")
CACHE_CONTROL = "max-age=60, stale-while-revalidate=600"


def read_entry(directory, name):
    """Opens and parses one entry's file."""
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        head, _, body = file.read().partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    return {
        "number": int(name.removesuffix(".txt")),
        "title": fields["Title"],
        "date": datetime.datetime.strptime(fields["Date"], "%Y-%m-%d %H:%M"),
        "tags": fields["Tags"].split(", "),
        "paragraphs": body.strip().split("\n\n"),
    }


def search(directory, tag):
    """All entries with that tag, by relevance, then by date; and how many entries there are.

    Relevance is tf-idf: how often an entry uses the words of the topic, a word being worth the more the fewer entries
    use it. Which words are rare is known only when all entries have been read.
    """
    all_entries = [read_entry(directory, name) for name in os.listdir(directory)]
    counts = {entry["number"]: collections.Counter(words(entry)) for entry in all_entries}
    entries_using = collections.Counter(word for count in counts.values() for word in count)
    topic = {word for phrases in entries.TOPICS.get(tag, ()) for phrase in phrases for word in WORD.findall(phrase)}

    def relevance(entry):
        count = counts[entry["number"]]
        weight = sum(count[word] * math.log(len(all_entries) / entries_using[word]) for word in topic if word in count)
        return weight / count.total()

    found = [entry for entry in all_entries if tag in entry["tags"]]
    found.sort(key=lambda entry: (relevance(entry), entry["date"]), reverse=True)
    return found, len(all_entries)


def words(entry):
    """The words of four letters or more of an entry, in lower case; the title counts thrice."""
    return WORD.findall(" ".join([entry["title"]] * 3 + entry["paragraphs"]).lower())


class Blog(BaseHTTPRequestHandler):
    """One connection; the standard library starts a thread for each."""

    protocol_version = "HTTP/1.1"
    server_version = "HarbourNotes/1"
    # One write for head and body, and no waiting for the other side's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        tag = urllib.parse.parse_qs(url.query).get("tag", [""])[0]
        entry = re.fullmatch(r"/entry/(\d{1,4})", url.path)
        if url.path == "/":
            self.front()
        elif url.path == "/search" and tag:
            self.search(tag)
        elif entry and 1 <= int(entry[1]) <= entries.COUNT:
            one = read_entry(self.directory, f"{int(entry[1]):04}.txt")
            self.answer(pages.entry(one), newest=one["date"])
        else:
            self.answer(pages.not_found(url.path), status=404)

    do_HEAD = do_GET

    def front(self):
        names = sorted(os.listdir(self.directory), reverse=True)
        newest = [read_entry(self.directory, name) for name in names[:SHOWN_MAX]]
        self.answer(pages.front(newest, sorted(entries.TOPICS), len(names)), newest=newest[0]["date"])

    def search(self, tag):
        found, total = search(self.directory, tag)
        newest = max((entry["date"] for entry in found), default=None)
        self.answer(pages.search(tag, found, total, SHOWN_MAX), newest=newest)

    def answer(self, page, status=200, newest=None):
        body = page.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if status == 200:
            self.send_header("Cache-Control", CACHE_CONTROL)
        if newest:
            stamp = newest.replace(tzinfo=datetime.timezone.utc)
            self.send_header("Last-Modified", email.utils.format_datetime(stamp, usegmt=True))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing: the table is what the demo prints."""


def main():
    arguments = argparse.ArgumentParser(description="A small weblog whose tag search is slow.")
    arguments.add_argument("--host", default="127.0.0.1")
    arguments.add_argument("--port", type=int, default=8000)
    options = arguments.parse_args()
    # So that the entries are removed however the program is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="harbour-notes-") as directory:
        entries.write_all(directory)
        Blog.directory = directory
        with ThreadingHTTPServer((options.host, options.port), Blog) as server:
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                pass


if __name__ == "__main__":
    main()
