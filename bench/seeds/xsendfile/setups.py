"""The set-ups of the xsendfile bench: servers, and behind each an application that names the files, or sends them itself."""

import socket
from dataclasses import dataclass
from pathlib import Path

import native
from servers import apache as apache_server
from servers.apache import basics

HERE = Path(__file__).resolve().parent
SIZES = {"10 KB": 10 << 10, "100 KB": 100 << 10, "1 MB": 1 << 20, "10 MB": 10 << 20}
# The file that slow visitors download.
SLOW = "100 MB"
SLOW_BYTES = 100_000_000
APPLICATION_PROCESSES = 2


@dataclass
class Place:
    """Where a server runs, and what it serves."""

    port: int
    directory: Path
    files: Path
    application: Path  # a FastCGI socket


@dataclass
class Row:
    """A row of the comparison."""

    label: str
    server: str
    path: str  # with `{name}` for the file's name
    kind: str  # static, handed, loop, empty


ROWS = {
    "limit": Row("the limit, sendfile", "limit", "/", "static"),
    "nginx": Row("nginx, static", "nginx", "/{name}", "static"),
    "apache": Row("Apache, static", "apache", "/{name}", "static"),
    "kasoku": Row("Kasoku, static", "kasoku", "/{name}", "static"),
    "kasoku-file": Row("Kasoku, static, never stored", "kasoku", "/file/{name}", "static"),
    "nginx-accel": Row("nginx, X-Accel-Redirect", "nginx", "/accel/{name}", "handed"),
    "apache-x": Row("Apache, X-Sendfile", "apache", "/x/{name}", "handed"),
    "kasoku-accel": Row("Kasoku, X-Accel-Redirect", "kasoku", "/accel/{name}", "handed"),
    "kasoku-x": Row("Kasoku, X-Sendfile", "kasoku", "/x/{name}", "handed"),
    "nginx-loop": Row("nginx, the application reads", "nginx", "/loop/{name}", "loop"),
    "apache-loop": Row("Apache, the application reads", "apache", "/loop/{name}", "loop"),
    "kasoku-loop": Row("Kasoku, the application reads", "kasoku", "/loop/{name}", "loop"),
}
# To measure the cost of the way to the application: its empty answer, and an empty file without the application.
EMPTY = {
    f"{server}-empty-{what}": Row("", server, path, "empty")
    for server in ("nginx", "kasoku")
    for what, path in (("answer", "/empty/"), ("file", "/empty_file"))
}


def name_of(size):
    return f"f{SLOW_BYTES if size == SLOW else SIZES[size]}"


def limit(place, size):
    return [native.native(), "file", place.port, place.files / name_of(size)]


def nginx(place):
    d = place.directory
    config = d / "nginx.conf"
    config.write_text(f"""
daemon off; user root; pid {d}/pid; error_log {d}/error.log;
worker_processes 1; worker_rlimit_nofile 65536;
events {{ worker_connections 4096; }}
http {{
  access_log {d}/access.log combined buffer=64k flush=1s;
  sendfile on; default_type application/octet-stream;
  keepalive_timeout 300s; keepalive_requests 1000000000;
  open_file_cache max=1000 inactive=1h; open_file_cache_valid 60s; open_file_cache_min_uses 1;
  fastcgi_cache_path {d}/cache keys_zone=pages:1m;
  client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
  server {{
    listen 127.0.0.1:{place.port} reuseport backlog=1024;
    root {place.files};
    location /protected/ {{ internal; alias {place.files}/; }}
    location = /page/ {{
      fastcgi_cache pages; fastcgi_cache_key $request_uri; add_header X-Cache $upstream_cache_status;
      fastcgi_pass unix:{place.application};
      include /etc/nginx/fastcgi_params;
    }}
    location ~ ^/(accel|loop|empty|made)/ {{
      fastcgi_pass unix:{place.application};
      fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; fastcgi_param SERVER_PROTOCOL $server_protocol;
    }}
  }}
}}
""")
    return ["/usr/sbin/nginx", "-p", d, "-e", d / "error.log", "-c", config]


def apache(place):
    d = place.directory
    loaded = ["mpm_event", "authz_core", "proxy", "proxy_fcgi", "xsendfile"]
    config = d / "apache.conf"
    config.write_text(f"""
{basics(d, place.port, loaded)}
DocumentRoot {place.files}
<Directory {place.files}>
Require all granted
</Directory>
XSendFile On
XSendFilePath {place.files}
{chr(10).join(f'ProxyPass /{how}/ "unix:{place.application}|fcgi://localhost/{how}/"' for how in ("x", "loop", "empty"))}
""")
    return [apache_server.PROGRAM, "-DFOREGROUND", "-f", config]


def kasoku(place):
    config = place.directory / "kasoku.toml"
    rules = "\n".join(
        f'[[site.rule]]\npath = "/{how}/*"\norigin = "fastcgi://unix:{place.application}"\npass = true\n'
        for how in ("x", "accel", "loop", "empty", "made")
    )
    config.write_text(f"""
listen = ["127.0.0.1:{place.port}"]
workers = 1
user = "www-data"

[access-log]
path = "{place.directory}/access.log"

[[site]]
origin = "file://{place.files}"

[site.sendfile]
roots = ["{place.files}"]
internal = {{ "/protected/" = "{place.files}/" }}

[[site.rule]]
path = "/page/"
origin = "fastcgi://unix:{place.application}"

{rules}
[[site.rule]]
path = "/file/*"
origin = "file://{place.files}"
url-prefix = "/file"
pass = true
""")
    return [native.kasoku(), "serve", "--config", config]


SERVERS = {"nginx": nginx, "apache": apache, "kasoku": kasoku}


APPLICATION = [HERE / "app" / "download.fcgi"]


def application_socket(path):
    """The listening socket that all processes of the application share."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(256)
    path.chmod(0o777)
    return listener
