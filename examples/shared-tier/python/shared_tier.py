#!/usr/bin/python3
"""Shows, replaces and purges a page that Kasoku keeps in memcached or Redis (docs/shared-format.md).

usage: shared_tier.py SERVERS show URI [FIELD…]
       shared_tier.py SERVERS replace URI [FIELD…] <BODY
       shared_tier.py SERVERS purge URI

SERVERS are those of `shared.memcached`, spelled as there, with commas between them. Or they are the Redis primary, like "redis://10.0.0.1:6379",
or a node of a Redis Cluster, like "cluster:redis://10.0.0.1:6379". A FIELD is one of the request, such as "Accept-Language: ja", for a page
that varies by it. KASOKU_NAMESPACE and KASOKU_SECRET_FILE are `shared.namespace` and `shared.secret-file`.

Needs xxhash, and pylibmc or redis (Debian: python3-xxhash, python3-pylibmc, python3-redis).
"""

import hashlib
import hmac
import os
import secrets
import sys
import time
from email.utils import formatdate

import xxhash

# memcached's -I is `shared.item-bytes-max`; memcached needs 512 bytes of it for itself.
ROOM = int(os.environ.get("KASOKU_ITEM_BYTES_MAX", 1 << 20)) - 512
NAMESPACE = os.environ.get("KASOKU_NAMESPACE", "kasoku")


def secret():
    path = os.environ.get("KASOKU_SECRET_FILE")
    if not path:
        return None
    with open(path, "rb") as file:
        return file.read().removesuffix(b"\n")


SECRET = secret()
ALGORITHM = "hmac-sha256" if SECRET else "xxh3-128"


def digest(data):
    return hmac.new(SECRET, data, "sha256").hexdigest() if SECRET else xxhash.xxh3_128_hexdigest(data)


def chunk_digest(data):
    return hashlib.sha256(data).hexdigest() if SECRET else xxhash.xxh3_128_hexdigest(data)


def sealed(kind, content):
    words = f"KASOKU/1 {kind} {ALGORITHM}".encode()
    return words + b" " + digest(words + b"\r\n" + content).encode() + b"\r\n" + content


def opened(item):
    """The kind and the content of an item; an error if its digest is wrong."""
    first, content = item.split(b"\r\n", 1)
    words, stated = first.rsplit(b" ", 1)
    version, kind, algorithm = words.decode().split(" ")
    is_intact = hmac.compare_digest(stated, digest(words + b"\r\n" + content).encode())
    if (version, algorithm) != ("KASOKU/1", ALGORITHM) or not is_intact:
        sys.exit("the item is damaged, or sealed in another way")
    return kind, content


def name_of(uri, variant=None):
    data = uri.encode() + (b"" if variant is None else b"\0" + variant)
    return f"{NAMESPACE}:{hashlib.sha256(data).hexdigest()}"


def variant_of(names, fields):
    """For fields whose values are in lower case and have no quality. docs/shared-format.md says what becomes of other ones."""
    variant = b""
    for name in names:
        value = fields.get(name)
        variant += name.encode()
        variant += b"\0" if value is None else b"\1" + len(value).to_bytes(4, "big") + value.encode()
    return variant


def lines_of(text):
    return [line.split(": ", 1) for line in text.decode("latin-1").split("\r\n")]


class Memcached:
    """One memcached server, or a ring of several."""

    def __init__(self, spelled):
        import pylibmc

        # The ring of `shared.ring = "ketama-weighted"`. Without compression, items are what they are.
        self.client = pylibmc.Client(spelled, behaviors={"ketama_weighted": True})
        self.get, self.add, self.incr = self.client.get, self.client.add, self.client.incr

    def set(self, name, value, seconds=0):
        # memcached takes more than 30 days for a date.
        self.client.set(name, value, time=seconds if seconds <= 30 * 86400 else int(time.time()) + seconds)


class Redis:
    """A Redis primary, or a Redis Cluster."""

    def __init__(self, url):
        import redis

        is_cluster, url = url.startswith("cluster:"), url.removeprefix("cluster:")
        self.client = redis.RedisCluster.from_url(url) if is_cluster else redis.Redis.from_url(url)
        self.get, self.incr = self.client.get, self.client.incr

    def set(self, name, value, seconds=None):
        self.client.set(name, value, ex=seconds)

    def add(self, name, value):
        self.client.set(name, value, nx=True)


class Tier:
    def __init__(self, servers):
        # In a cluster, all keys with the same word in braces are on one node.
        self.log = f"{{{NAMESPACE}}}" if servers[0].startswith("cluster:") else NAMESPACE
        if servers[0].startswith(("cluster:", "redis:")):
            self.ring = Redis(servers[0])
            self.each = [self.ring]
            return
        spelled = [server.removeprefix("unix:").replace(" ", ":") for server in servers]
        self.ring = Memcached(spelled)
        self.each = [Memcached([server]) for server in spelled]

    def content(self, name):
        item = self.ring.get(name)
        if item is None:
            sys.exit("there is no such page")
        kind, content = opened(item)
        if kind == "whole":
            return content
        head, digests = content.split(b"\r\n\r\n", 1)
        manifest, server, chunks = dict(lines_of(head)), self.server_of(name), []
        for number, stated in enumerate(digests.decode().split()):
            chunk = server.get(f"{name}:{manifest['Id']}:{number}")
            if chunk is None or chunk_digest(chunk) != stated:
                sys.exit("a chunk is missing or damaged")
            chunks.append(chunk)
        return b"".join(chunks)

    def server_of(self, name):
        """The server that has an item. It has the chunks as well, whatever the ring says of their names."""
        return next(server for server in self.each if server.get(name) is not None)

    def read(self, uri, fields):
        """The name of the page's item, its lines, its head and its body."""
        name = name_of(uri)
        lines, rest = self.content(name).split(b"\r\n\r\n", 1)
        if dict(lines_of(lines))["Kind"] == "fields":
            names = dict(lines_of(lines))["Vary-On"].split(",")
            name = name_of(uri, variant_of(names, fields))
            lines, rest = self.content(name).split(b"\r\n\r\n", 1)
        head, body = rest.split(b"\r\n\r\n", 1)
        return name, lines_of(lines), head.decode("latin-1").split("\r\n"), body

    def purge(self, uri):
        """Returns the counter of each server by the identity of its log."""
        id = secrets.token_hex(16)
        counters = {}
        for server in self.each:
            # A counter that is missing begins with the time.
            server.add(f"{self.log}:purges", str(time.time_ns() // 1000).encode())
            number = server.incr(f"{self.log}:purges")
            text = f"Kind: purge\r\nId: {id}\r\nNumber: {number}\r\nPurge: hard\r\nKey: {uri}\r\n\r\n"
            server.set(f"{self.log}:purges:{number}", sealed("whole", text.encode()), 86400)
            identity = server.get(f"{self.log}:log")
            if identity:
                counters[identity.decode().split(" ")[0]] = number
        return counters

    def replace(self, uri, fields, body):
        name, lines, head, _ = self.read(uri, fields)
        values = dict(lines)
        server = self.server_of(name)
        log = values["Generation"].split(" ")[0]
        # Front ends drop what they have of the page. The new one is younger than this purge.
        changed = {
            "Generation": f"{log} {self.purge(uri)[log]}",
            "Received": str(time.time_ns() // 1_000_000),
            "Initial-Age": "0",
            "Body-Length": str(len(body)),
        }
        lines = [f"{line}: {changed.get(line, value)}" for line, value in lines if line != "Withheld"]
        dropped = ("date:", "content-length:", "content-encoding:", "etag:", "last-modified:")
        head = [line for line in head if not line.lower().startswith(dropped)]
        head += [f"Date: {formatdate(usegmt=True)}", f"Content-Length: {len(body)}"]
        text = "\r\n".join(lines) + "\r\n\r\n" + "\r\n".join(head) + "\r\n\r\n"
        stale = max(int(values.get(line, 0)) for line in ("Stale-While-Revalidate", "Stale-If-Error", "Grace"))
        self.write(server, name, text.encode("latin-1") + body, int(values["Lifetime"]) + stale)

    def write(self, server, name, content, seconds):
        item = sealed("whole", content)
        if len(item) > ROOM:
            id = secrets.token_hex(16)
            chunks = [content[at : at + ROOM] for at in range(0, len(content), ROOM)]
            # The chunks come first: whoever finds the manifest finds them.
            for number, chunk in enumerate(chunks):
                server.set(f"{name}:{id}:{number}", chunk, seconds)
            digests = "".join(f"{chunk_digest(chunk)}\r\n" for chunk in chunks)
            manifest = f"Id: {id}\r\nLength: {len(content)}\r\nChunk-Length: {ROOM}\r\n\r\n{digests}"
            item = sealed("chunks", manifest.encode())
        server.set(name, item, seconds)


def main():
    if len(sys.argv) < 4 or sys.argv[2] not in ("show", "replace", "purge"):
        sys.exit(__doc__)
    servers, command, uri, *rest = sys.argv[1:]
    tier = Tier(servers.split(","))
    fields = {name.lower(): value for name, value in (field.split(": ", 1) for field in rest)}
    if command == "show":
        name, lines, head, body = tier.read(uri, fields)
        text = "\r\n".join([name, *(": ".join(line) for line in lines), "", *head, "", ""])
        sys.stdout.buffer.write(text.encode("latin-1") + body)
    elif command == "replace":
        tier.replace(uri, fields, sys.stdin.buffer.read())
    else:
        tier.purge(uri)


main()
