"""The configurations of the downloads bench: the board behind three servers, each with a php-fpm of two processes, and two download
scripts."""

from dataclasses import dataclass
from pathlib import Path

import native
from servers import apache as apache_server
from servers.apache import basics

BOARD = Path(__file__).resolve().parent / "board"
SIZES = {"1 MB": 1 << 20, "10 MB": 10 << 20}
PHP_PROCESSES = 2
PHP_FPM = next(iter(sorted(Path("/usr/sbin").glob("php-fpm*"), reverse=True)), Path("/usr/sbin/php-fpm"))


@dataclass
class Place:
    """Where a server and its php-fpm run."""

    port: int
    directory: Path
    data: Path  # the board's posts and files
    php: Path  # php-fpm's socket

    @property
    def php_log(self):
        """php-fpm's log, with a line for each request: microseconds until the process was free again, and the script."""
        return self.directory / "php-access.log"


@dataclass
class Row:
    """A row of the comparison: a server and a script."""

    label: str
    server: str
    script: str
    reads: bool


ROWS = {
    "kasoku-reads": Row("Kasoku, PHP reads", "kasoku", "download.php", True),
    "kasoku-names": Row("Kasoku, X-Sendfile", "kasoku", "download-sendfile.php", False),
    "nginx-reads": Row("nginx, PHP reads", "nginx", "download.php", True),
    "nginx-names": Row("nginx, X-Accel-Redirect", "nginx", "download-accel.php", False),
    "apache-reads": Row("Apache, PHP reads", "apache", "download.php", True),
    "apache-names": Row("Apache, X-Sendfile", "apache", "download-sendfile.php", False),
}


def name_of(size):
    return f"f{SIZES[size]}.bin"


def limit(port, data, size):
    return [native.native(), "file", port, data / "file" / name_of(size)]


def php_fpm(place):
    """php-fpm with two permanent processes and OPcache, as in Debian; without an output buffer, which boards discard before they send a
    file."""
    d = place.directory
    (d / "sessions").mkdir()
    (d / "sessions").chmod(0o777)
    config = d / "php-fpm.conf"
    config.write_text(f"""
[global]
error_log = /dev/stderr
daemonize = no
[board]
user = www-data
group = www-data
listen = {place.php}
listen.mode = 0666
pm = static
pm.max_children = {PHP_PROCESSES}
access.log = {place.php_log}
access.format = "%{{micro}}d %r"
env[BOARD_DATA] = {place.data}
php_value[session.save_path] = {d}/sessions
""")
    settings = ("zend_extension=opcache.so", "opcache.enable=1")
    return [PHP_FPM, "-F", "-R", "-n", "-y", config, *(word for setting in settings for word in ("-d", setting))]


def nginx(place):
    d = place.directory
    config = d / "nginx.conf"
    config.write_text(f"""
daemon off; user www-data; pid {d}/pid; error_log {d}/error.log;
worker_processes 1; worker_rlimit_nofile 65536;
events {{ worker_connections 4096; }}
http {{
  access_log {d}/access.log combined buffer=64k flush=1s;
  sendfile on; default_type application/octet-stream;
  keepalive_timeout 300s; keepalive_requests 1000000000;
  open_file_cache max=1000 inactive=1h; open_file_cache_valid 60s; open_file_cache_min_uses 1;
  client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
  server {{
    listen 127.0.0.1:{place.port} reuseport backlog=1024;
    root {BOARD};
    location /protected/ {{ internal; alias {place.data}/file/; }}
    location ~ \\.php$ {{
      fastcgi_pass unix:{place.php};
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
    }}
  }}
}}
""")
    return ["/usr/sbin/nginx", "-p", d, "-e", d / "error.log", "-c", config]


def apache(place):
    config = place.directory / "apache.conf"
    config.write_text(f"""
{basics(place.directory, place.port, ["mpm_event", "authz_core", "env", "proxy", "proxy_fcgi", "xsendfile"])}
DocumentRoot {BOARD}
<Directory {BOARD}>
Require all granted
</Directory>
<FilesMatch "\\.php$">
SetHandler "proxy:unix:{place.php}|fcgi://localhost"
</FilesMatch>
# The length that PHP says reaches the visitor, as with the other two.
SetEnv ap_trust_cgilike_cl 1
XSendFile On
XSendFilePath {place.data}/file
""")
    return [apache_server.PROGRAM, "-DFOREGROUND", "-f", config]


def kasoku(place):
    config = place.directory / "kasoku.toml"
    config.write_text(f"""
listen = ["127.0.0.1:{place.port}"]
workers = 1
user = "www-data"

[access-log]
path = "{place.directory}/access.log"

[[site]]
origin = "fastcgi://unix:{place.php}"
root = "{BOARD}"

[site.sendfile]
roots = ["{place.data}/file"]
unescape = false
""")
    return [native.kasoku(), "serve", "--config", config]


SERVERS = {"kasoku": kasoku, "nginx": nginx, "apache": apache}
