"""Configures Varnish with malloc storage and the built-in VCL.

Its log is the ring in shared memory that it always writes. No varnishncsa reads it here, so its figures do not include the cost of
formatting and writing lines. There is one pool of threads, all started at the beginning: with a thread for each connection, a connection
keeps its thread. """

from servers.place import KEEP_ALIVE_SECONDS, version_of

LABEL = "Varnish"
PROGRAM = "/usr/sbin/varnishd"


def version():
    return version_of(PROGRAM, "-V")


def command(place):
    vcl = place.write("bench.vcl", f'vcl 4.1; backend default {{ .host = "127.0.0.1"; .port = "{place.origin}"; }}\n')
    words = [PROGRAM, "-F", "-j", "none", "-n", place.directory / "work", "-f", vcl]
    words += ["-a", f"127.0.0.1:{place.port}", "-s", f"malloc,{place.memory_mib}M"]
    parameters = {
        "thread_pools": place.workers,
        "thread_pool_min": 200 // place.workers,
        "thread_pool_max": 1000,
        "http_gzip_support": "off",  # no response here is compressed, so Varnish need not check
        "timeout_idle": KEEP_ALIVE_SECONDS,
    }
    for name, value in parameters.items():
        words += ["-p", f"{name}={value}"]
    return words
