#!/usr/bin/env python3
"""Harbour Notes: a small weblog, and an honestly slow one. A CGI program (RFC 3875): a process for each request.

    HARBOUR_NOTES=DIRECTORY PATH_INFO=/search QUERY_STRING=tag=boats demo/blog.cgi

Like many a small weblog program it keeps one text file an entry and no index. So a tag search opens and parses all
3,000 files, for each request, counts their words to rank them, sorts and renders. Nothing sleeps and nothing is slowed down
on purpose: that is what such a search costs. The answer says nothing about caching, as such programs do, so that no cache
may keep it by itself.
"""

import collections
import datetime
import math
import os
import re
import sys
import time
import urllib.parse

import entries
import pages

SHOWN_MAX = 20
WORD = re.compile(r"[a-z]{4,}")


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


def answer(directory, path, query):
    """Status and page."""
    tag = urllib.parse.parse_qs(query).get("tag", [""])[0]
    entry = re.fullmatch(r"/entry/(\d{1,4})", path)
    if path in ("", "/"):
        names = sorted(os.listdir(directory), reverse=True)
        newest = [read_entry(directory, name) for name in names[:SHOWN_MAX]]
        return 200, pages.front(newest, sorted(entries.TOPICS), len(names))
    if path == "/search" and tag:
        found, total = search(directory, tag)
        return 200, pages.search(tag, found, total, SHOWN_MAX)
    if entry and 1 <= int(entry[1]) <= entries.COUNT:
        return 200, pages.entry(read_entry(directory, f"{int(entry[1]):04}.txt"))
    return 404, pages.not_found(path)


def main():
    begun = time.time()
    status, page = answer(os.environ["HARBOUR_NOTES"], os.environ.get("PATH_INFO", "/"), os.environ.get("QUERY_STRING", ""))
    if "HARBOUR_NOTES_ASK" in os.environ:
        url = f"http://{os.environ.get('HTTP_HOST', 'localhost')}{os.environ.get('REQUEST_URI', '/')}"
        page = pages.with_commands(page, os.environ["HARBOUR_NOTES_ASK"], url)
    body = pages.with_times(page, begun, time.time()).encode()
    head = f"Status: {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    sys.stdout.buffer.write(head.encode())
    if os.environ.get("REQUEST_METHOD") != "HEAD":
        sys.stdout.buffer.write(body)


if __name__ == "__main__":
    main()
