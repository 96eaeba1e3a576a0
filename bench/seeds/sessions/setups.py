"""The set-ups in front of the board: nginx, Varnish in front of nginx, Kasoku; and the limit."""

from dataclasses import dataclass
from pathlib import Path

import native
from servers import nginx as nginx_server
from servers import varnish as varnish_server
from servers.place import KEEP_ALIVE_SECONDS, LOG_BUFFER_BYTES

HERE = Path(__file__).resolve().parent
POLICY = HERE / "board.toml"
# More than the clients of any load.
BACKLOG = 4096


@dataclass
class Place:
    """Where a server runs."""

    port: int
    directory: Path


@dataclass
class Setup:
    """A set-up of the comparison."""

    label: str
    is_lazy: bool = False  # the patched pages
    has_varnish: bool = False
    caches: bool = False  # PHP gets a request for a page once a minute


SETUPS = {
    "limit": Setup("the limit"),
    "nginx": Setup("nginx"),
    "varnish": Setup("Varnish, nginx", has_varnish=True),
    "varnish-lazy": Setup("Varnish, nginx, board patched", is_lazy=True, has_varnish=True, caches=True),
    "kasoku": Setup("Kasoku", caches=True),
}
# The set-ups whose turns take milliseconds, and those that request each page from PHP.
FAST = [name for name, setup in SETUPS.items() if setup.caches or name == "limit"]
SLOW = [name for name in SETUPS if name not in FAST]


def limit(place, body_bytes):
    return [native.native(), "limit", place.port, body_bytes]


def nginx(place, root, php):
    """nginx with the usual configuration for a PHP program."""
    d = place.directory
    config = d / "nginx.conf"
    config.write_text(f"""
daemon off; user www-data; pid {d}/pid; error_log {d}/error.log;
worker_processes 1; worker_rlimit_nofile 65536;
events {{ worker_connections 8192; }}
http {{
  include /etc/nginx/mime.types;
  access_log {d}/access.log combined buffer={LOG_BUFFER_BYTES} flush=1s;
  keepalive_timeout {KEEP_ALIVE_SECONDS}s; keepalive_requests 1000000000;
  open_file_cache max=1000 inactive=1h; open_file_cache_valid 60s; open_file_cache_min_uses 1;
  client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
  server {{
    listen 127.0.0.1:{place.port} reuseport backlog={BACKLOG};
    root {root}; index index.php;
    location ~ \\.php$ {{
      fastcgi_pass unix:{php};
      fastcgi_buffers 16 16k; fastcgi_buffer_size 16k;
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
    }}
  }}
}}
""")
    return [nginx_server.PROGRAM, "-p", d, "-e", d / "error.log", "-c", config]


def varnish(place, backend):
    """Varnish with a typical VCL for such boards: board.vcl."""
    d = place.directory
    vcl = d / "board.vcl"
    vcl.write_text((HERE / "board.vcl").read_text(encoding="utf-8").replace("BACKEND_PORT", str(backend)))
    words = [varnish_server.PROGRAM, "-F", "-j", "none", "-n", d / "work", "-f", vcl]
    words += ["-a", f"127.0.0.1:{place.port}", "-s", "malloc,256M"]
    parameters = {
        "thread_pools": 1,
        "thread_pool_min": 600,  # a thread for each client
        "thread_pool_max": 1000,
        "listen_depth": BACKLOG,
        "http_gzip_support": "off",  # no response here is compressed, so Varnish need not check
        "timeout_idle": KEEP_ALIVE_SECONDS,
    }
    for name, value in parameters.items():
        words += ["-p", f"{name}={value}"]
    return words


def kasoku(place, root, php, policy=None):
    """Kasoku with the policy of board.toml, or another site."""
    site = policy or POLICY.read_text(encoding="utf-8")
    site = site.replace("/run/php/board.sock", str(php)).replace("/var/www/board", str(root))
    config = place.directory / "kasoku.toml"
    config.write_text(f"""
listen = ["127.0.0.1:{place.port}"]
workers = 1
user = "www-data"

[access-log]
path = "{place.directory}/access.log"

{site}
""")
    return [native.kasoku(), "serve", "--config", config]
