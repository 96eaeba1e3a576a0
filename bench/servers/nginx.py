"""Configures nginx with proxy_cache: files in memory, their descriptors kept open (open_file_cache), buffered log.

Small files cost nginx less without sendfile, large files much less with sendfile, so each size has the cheaper way here. `tcp_nopush` would
make sendfile cheaper for small files as well, but on loopback it makes responses of 100 KiB wait some 40 ms for a delayed acknowledgement.
So it stays off.
"""

from servers.place import KEEP_ALIVE_SECONDS, LOG_BUFFER_BYTES, version_of

LABEL = "nginx"
PROGRAM = "/usr/sbin/nginx"
# The body sizes, as the second part of the path, for which sendfile is on.
LARGE = (102400, 10485760)


def version():
    return version_of(PROGRAM, "-v")


def command(place):
    d = place.directory
    store, store_mib = (place.store, place.store_mib) if place.store else (d / "cache", place.memory_mib)
    # With more files than it may keep open, nginx is faster if it keeps none.
    kept_open = "open_file_cache max=60000 inactive=1h; open_file_cache_valid 1h; open_file_cache_min_uses 1;" if place.keeps_open else ""
    proxied = """
      proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache all;"""
    large = "\n".join(f"    location /o/{size}/ {{{proxied} sendfile on;\n    }}" for size in LARGE)
    config = place.write("nginx.conf", f"""
daemon off; user root; pid {d}/pid; error_log {d}/error.log;
worker_processes {place.workers}; worker_rlimit_nofile 65536;
events {{ worker_connections 4096; }}
http {{
  access_log {d}/access.log combined buffer={LOG_BUFFER_BYTES} flush=1s;
  keepalive_timeout {KEEP_ALIVE_SECONDS}s; keepalive_requests 1000000000;
  {kept_open}
  proxy_cache_path {store} levels=1:2 keys_zone=all:128m max_size={store_mib}m inactive=1d use_temp_path=off;
  client_body_temp_path {d}/body; proxy_temp_path {d}/temp; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
  upstream origin {{ server 127.0.0.1:{place.origin}; keepalive 128; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{place.port} reuseport backlog=1024;
    location / {{{proxied}
    }}
{large}
  }}
}}
""")
    return [PROGRAM, "-p", d, "-e", d / "error.log", "-c", config]
