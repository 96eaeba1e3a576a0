"""The set-ups of the memcached bench: servers that have the images in files, in memory, in a ring of memcached servers, or in Redis."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import client
import native
from servers import apache as apache_server
from servers import nginx as nginx_server
from servers.apache import basics
from servers.place import KEEP_ALIVE_SECONDS, LOG_BUFFER_BYTES

IMAGES = 40
IMAGE_BYTES = 3584
# The paths of the images are this and a number.
PREFIX = "/image-"


@dataclass
class Place:
    """Where a set-up runs."""

    port: int
    directory: Path
    images: Path
    origin: int  # the origin's port
    memcached: list = field(default_factory=list)  # the addresses of its memcached or Redis servers


@dataclass
class Setup:
    """A set-up of the comparison."""

    label: str
    command: object
    kind: str  # where it has the images when it answers: "files", "memory", "memcached", "redis", or "nowhere" for the limit
    ring: str = ""  # its servers: "memcached", "redis", or "redis-cluster"
    key: object = None  # the name in memcached of the image with a number; none: it is not known


def limit(place):
    return [native.native(), "limit", place.port, IMAGE_BYTES]


def apache_files(place):
    """Apache with files: as Debian has it, with sendfile."""
    return _apache(place, ["mpm_event", "authz_core"], f"""
DocumentRoot {place.images}
<Directory {place.images}>
Require all granted
</Directory>
""")


def apache_memcached(place):
    """Apache's cache in memcached servers, to which it keeps connections."""
    return _apache_cache(place, "memcache", f"""
CacheSocache memcache:{",".join(place.memcached)}
MemcacheConnTTL {KEEP_ALIVE_SECONDS}
""")


def apache_memory(place):
    """The same cache in memory that Apache's processes share."""
    return _apache_cache(place, "shmcb", f"CacheSocache shmcb:{place.directory}/cache(16777216)")


def _apache_cache(place, provider, settings):
    """Apache as a reverse proxy with mod_cache. The quick handler answers a hit before any other module has a turn, so it makes no
    difference to a hit what Apache would otherwise ask."""
    return _apache(place, ["mpm_event", "authz_core", "proxy", "proxy_http", "cache", "cache_socache", f"socache_{provider}"], f"""
{settings}
CacheQuickHandler on
CacheEnable socache /
ProxyPass / http://127.0.0.1:{place.origin}/ enablereuse=on keepalive=on
""")


def _apache(place, modules, served):
    config = place.directory / "apache.conf"
    config.write_text(basics(place.directory, place.port, modules) + served)
    return [apache_server.PROGRAM, "-DFOREGROUND", "-f", config]


def nginx_files(place):
    """nginx with files that it keeps open, by sendfile."""
    return _nginx(place, "", f"location / {{ root {place.images}; sendfile on; }}")


def nginx_memcached(place):
    """nginx's memcached module over a ketama ring. It stores nothing; an image that memcached does not have comes from the origin."""
    servers = " ".join(f"server {address};" for address in place.memcached)
    return _nginx(place, f"""
  upstream memcached {{
    hash $memcached_key consistent; {servers}
    keepalive 64; keepalive_requests 1000000000; keepalive_timeout {KEEP_ALIVE_SECONDS}s;
  }}
  upstream origin {{ server 127.0.0.1:{place.origin}; keepalive 64; }}""", """
    location / { set $memcached_key $uri; memcached_pass memcached; error_page 404 502 504 = @origin; }
    location @origin { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; }""")  # fmt: skip


def origin(place):
    """The origin: another nginx, whose images are fresh for a day. It writes a line for each request at once."""
    return _nginx(place, "", f"location / {{ root {place.images}; expires 1d; }}", buffer="")


def _nginx(place, upstreams, served, buffer=f"buffer={LOG_BUFFER_BYTES} flush=1s"):
    d = place.directory
    config = d / "nginx.conf"
    config.write_text(f"""
daemon off; user root; pid {d}/pid; error_log {d}/error.log;
worker_processes 1; worker_rlimit_nofile 65536;
events {{ worker_connections 4096; }}
http {{
  access_log {d}/access.log combined {buffer};
  default_type image/png;
  keepalive_timeout {KEEP_ALIVE_SECONDS}s; keepalive_requests 1000000000;
  open_file_cache max=1000 inactive=1h; open_file_cache_valid 1h; open_file_cache_min_uses 1;
  client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
  {upstreams}
  server {{
    listen 127.0.0.1:{place.port} reuseport backlog=1024;
    {served}
  }}
}}
""")
    return [nginx_server.PROGRAM, "-p", d, "-e", d / "error.log", "-c", config]


def kasoku(in_memory=True, files=False, servers="memcached"):
    """Kasoku with a short configuration; with the shared tier where the place has memcached servers. It waits for them as long as nginx and
    Apache do, not 50 ms: while strace or callgrind counts, all takes longer."""

    def command(place):
        shared = f"[shared]\n{servers} = {place.memcached!r}\ntimeout = \"1s\"\n" if place.memcached else ""
        memory = "" if in_memory else "[memory]\nstore = false\n"
        config = place.directory / "kasoku.toml"
        config.write_text(f"""
listen = ["127.0.0.1:{place.port}"]
control-socket = "off"
workers = 1
user = "www-data"

[access-log]
path = "{place.directory}/access.log"

{memory}
{shared}
[[site]]
origin = "{f"file://{place.images}" if files else f"http://127.0.0.1:{place.origin}"}"
""")
        return [native.kasoku(), "serve", "--config", config]

    return command


def kasoku_key(number, query=""):
    """The name of an image in the shared tier: docs/shared-format.md."""
    return "kasoku:" + hashlib.sha256(f"http://{client.HOST}{PREFIX}{number}{query}".encode()).hexdigest()


ALL = {
    "limit": Setup("the limit", limit, "nowhere"),
    "apache": Setup("Apache, files", apache_files, "files"),
    "apache-memcached": Setup("Apache, mod_cache_socache, memcached", apache_memcached, "memcached", ring="memcached"),
    "apache-memory": Setup("Apache, mod_cache_socache, memory", apache_memory, "memory"),
    "nginx": Setup("nginx, files", nginx_files, "files"),
    "nginx-memcached": Setup(
        "nginx, memcached module", nginx_memcached, "memcached", ring="memcached", key=lambda number: f"{PREFIX}{number}"
    ),
    "kasoku-shared": Setup("Kasoku, shared tier only", kasoku(in_memory=False), "memcached", ring="memcached", key=kasoku_key),
    "kasoku-redis": Setup(
        "Kasoku, shared tier only, Redis", kasoku(in_memory=False, servers="redis"), "redis", ring="redis", key=kasoku_key
    ),
    "kasoku-cluster": Setup(
        "Kasoku, shared tier only, Redis Cluster",
        kasoku(in_memory=False, servers="redis-cluster"),
        "redis",
        ring="redis-cluster",
        key=kasoku_key,
    ),
    "kasoku-both": Setup("Kasoku, memory and shared tier", kasoku(), "memory", ring="memcached", key=kasoku_key),
    "kasoku-memory": Setup("Kasoku, memory only", kasoku(), "memory"),
    "kasoku-files": Setup("Kasoku, files", kasoku(files=True), "memory"),
}
SERVERS = 4
# Which set-ups are measured with other numbers of servers, and the one that shows what the same server takes without memcached.
HOPS = {"apache-memcached": "apache-memory", "nginx-memcached": "nginx", "kasoku-shared": "kasoku-memory"}
COUNTS = [1, 2, 4, 7]
