"""Configures Apache httpd with mod_cache_disk: event MPM, files in memory, EnableSendfile On, the quick handler, buffered log.

There are twice as many threads as connections: with fewer, Apache closes idle connections.
"""

import re
import subprocess

from servers.place import KEEP_ALIVE_SECONDS

LABEL = "Apache"
PROGRAM = "/usr/sbin/apache2"
MODULES = "/usr/lib/apache2/modules"
LOADED = ("mpm_event", "authz_core", "proxy", "proxy_http", "cache", "cache_disk")


def version():
    said = subprocess.run([PROGRAM, "-v"], capture_output=True, text=True, check=False).stdout
    return re.search(r"Apache/([\d.]+)", said)[1]


def command(place):
    d = place.directory
    store = place.store or d / "cache"
    store.mkdir(exist_ok=True)
    store.chmod(0o777)
    config = place.write("apache.conf", f"""
{basics(d, place.port, LOADED, place.workers)}
CacheQuickHandler on
CacheRoot {store}
CacheMaxFileSize 16777216
CacheEnable disk /
ProxyPass / http://127.0.0.1:{place.origin}/ enablereuse=on keepalive=on
""")
    return [PROGRAM, "-DFOREGROUND", "-f", config]


def basics(directory, port, modules, workers=1):
    """The part of a configuration that does not depend on the content: processes and threads, connections, the log."""
    d = directory
    loaded = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules)
    return f"""
{loaded}
ServerRoot {d}
DefaultRuntimeDir {d}
ServerName bench.test
PidFile {d}/pid
User www-data
Group www-data
ErrorLog /dev/stderr
Listen 127.0.0.1:{port}
ListenBacklog 1024
StartServers {workers}
ServerLimit {workers}
ThreadLimit 128
ThreadsPerChild 128
MaxRequestWorkers {128 * workers}
MinSpareThreads 1
MaxSpareThreads {128 * workers}
MaxConnectionsPerChild 0
KeepAlive On
KeepAliveTimeout {KEEP_ALIVE_SECONDS}
MaxKeepAliveRequests 0
EnableSendfile On
BufferedLogs On
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\"" combined
CustomLog {d}/access.log combined
"""
