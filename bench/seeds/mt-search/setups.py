"""The set-ups that the mt-search bench compares: the script without a cache, behind Apache's cache, and behind Kasoku."""

from dataclasses import dataclass
from pathlib import Path

import native
from servers import apache as apache_server
from servers.apache import basics

FASTCGI_PROCESSES = 2


@dataclass
class Place:
    """Where a set-up runs."""

    port: int
    directory: Path
    entries: Path
    blog: Path
    body_bytes: int
    store: Path | None = None  # a directory on disk for the cache


@dataclass
class Setup:
    """A set-up of the comparison."""

    label: str
    command: object
    caches: bool
    is_patched: bool = False  # the script sends Expires


def environment(setup, place):
    """The environment that Kasoku or Apache passes on to the programs."""
    patched = {"SEARCH_EXPIRES": "+1h"} if setup.is_patched else {}
    return {"SEARCH_ENTRIES": str(place.entries), **patched}


def limit(place):
    return [native.native(), "limit", place.port, place.body_bytes]


def apache(kind, caches):
    """Apache as in Debian, tuned as its documentation recommends: event MPM, sendfile, the quick handler."""

    def command(place):
        d = place.directory
        loaded = ["mpm_event", "authz_core", "env", "alias", kind, *(["cache", "cache_disk"] if caches else [])]
        if kind == "cgid":
            passed = "SEARCH_ENTRIES SEARCH_EXPIRES" if caches else "SEARCH_ENTRIES"
            script = f"SetHandler cgi-script\nPassEnv {passed}"
            served = f"ScriptSock {d}/cgid.sock\nScriptAlias / {place.blog}/"
        else:
            script = "SetHandler fcgid-script"
            served = f"""
FcgidIPCDir {d}/fcgid
FcgidProcessTableFile {d}/fcgid.shm
FcgidMaxProcesses {FASTCGI_PROCESSES}
FcgidMaxRequestsPerProcess 0
FcgidInitialEnv SEARCH_ENTRIES {place.entries}
{"FcgidInitialEnv SEARCH_EXPIRES +1h" if caches else ""}
ScriptAlias /mt-search.cgi {place.blog}/mt-search.fcgi
"""
        store = place.store or d / "cache"
        store.mkdir(exist_ok=True)
        store.chmod(0o777)
        cache = f"CacheQuickHandler on\nCacheRoot {store}\nCacheEnable disk /" if caches else ""
        config = d / "apache.conf"
        config.write_text(f"""
{basics(d, place.port, loaded)}
{served}
<Directory {place.blog}>
Options +ExecCGI
{script}
Require all granted
</Directory>
{cache}
""")
        return [apache_server.PROGRAM, "-DFOREGROUND", "-f", config]

    return command


def kasoku(origin):
    """Kasoku with a short configuration; the script is not patched."""

    def command(place):
        config = place.directory / "kasoku.toml"
        disk = f'[disk]\npath = "{place.store}/kasoku"\nsize = "1GiB"\n' if place.store else ""
        config.write_text(f"""
listen = ["127.0.0.1:{place.port}"]
workers = 1
user = "www-data"
environment = ["SEARCH_ENTRIES={place.entries}"]

[access-log]
path = "{place.directory}/access.log"

{disk}
[[site]]
origin = "{origin(place)}"
ttl = "1h"
""")
        return [native.kasoku(), "serve", "--config", config]

    return command


def spawned(place):
    return f"fastcgi+spawn://{place.blog}/mt-search.fcgi?processes={FASTCGI_PROCESSES}"


ALL = {
    "limit": Setup("the limit", limit, caches=False),
    "apache-cgi": Setup("Apache, mod_cgid", apache("cgid", caches=False), caches=False),
    "apache-fastcgi": Setup("Apache, mod_fcgid", apache("fcgid", caches=False), caches=False),
    "apache-cgi-cache": Setup("Apache, mod_cgid, mod_cache_disk", apache("cgid", caches=True), caches=True, is_patched=True),
    "apache-fastcgi-cache": Setup("Apache, mod_fcgid, mod_cache_disk", apache("fcgid", caches=True), caches=True, is_patched=True),
    "kasoku-cgi": Setup("Kasoku, CGI", kasoku(lambda place: f"cgi://{place.blog}"), caches=True),
    "kasoku-fastcgi": Setup("Kasoku, FastCGI", kasoku(spawned), caches=True),
}
ALONE = [name for name in ALL if name != "limit"]
HITS = ["limit", *(name for name, setup in ALL.items() if setup.caches)]
CACHED_APACHE = ["apache-cgi-cache", "apache-fastcgi-cache"]
CACHED_KASOKU = ["kasoku-cgi", "kasoku-fastcgi"]
# Each set-up of Kasoku with its counterpart: Apache without a cache, which does the least work for a request.
MISS_PAIRS = {"kasoku-cgi": "apache-cgi", "kasoku-fastcgi": "apache-fastcgi"}
MISSES = ["apache-cgi", "kasoku-cgi", "apache-fastcgi", "kasoku-fastcgi"]
# The caches that keep their pages on disk; Kasoku's in this table have a disk tier.
RESTARTED = [*CACHED_APACHE, *CACHED_KASOKU]
