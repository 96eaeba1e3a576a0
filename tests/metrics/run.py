#!/usr/bin/env python3
"""Tests /metrics with Prometheus, and the dashboard of packaging/grafana with the queries that Grafana would send.

This starts an origin, a memcached, the program in front of them with an admin token, and Prometheus with the example of docs/operations.md. It requests
pages of all kinds, so that each figure of the dashboard changes. promtool must accept the text, the program must export each metric and
label of the dashboard, and Prometheus must evaluate each of its expressions without an error and to a value.

The program is that of KASOKU_TEST_PROGRAM, else the release program. Prints `metrics: N passed, M failed`, and exits with 1 if a check
failed. """

import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "browsing"))

from servers import PATIENCE_SECONDS, PROGRAM, ROOT, free_port  # noqa: E402

DASHBOARD = ROOT / "packaging" / "grafana" / "kasoku.json"
# Values that Grafana would substitute for its variables.
VARIABLES = {"$__rate_interval": "20s", "$instance": ".*", "$site": ".*"}
# Labels that Prometheus adds.
LABELS_OF_PROMETHEUS = {"instance", "job"}
# PromQL's own words.
WORDS = {"sum", "by", "rate", "topk", "histogram_quantile", "count", "or", "vector", "time", "max", "min"}


class Application(http.server.BaseHTTPRequestHandler):
    """An origin with pages that may be stored and pages that may not, with one that fails and one that is cut."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        kind = self.path.split("/")[1]
        body = b"x" * (60_000 if kind == "large" else 500)
        self.send_response(500 if kind == "broken" else 200)
        self.send_header("Content-Length", str(len(body) + (kind == "cut")))
        self.send_header("Content-Type", "text/html")
        self.send_header("Cache-Control", "private" if kind == "own" else "max-age=60")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = kind == "cut"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *arguments):
        pass


class Collector(http.server.BaseHTTPRequestHandler):
    """A collector that keeps the bytes of spans; crates/traces/tests/spans.rs tests their content."""

    taken = []

    def do_POST(self):
        self.taken.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def eventually(what, attempt):
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            found = attempt()
        except OSError:
            found = None
        if found:
            return found
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: it never happened")
        time.sleep(0.1)


def ask(port, path, headers=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    except (http.client.HTTPException, ConnectionResetError) as error:
        return 0, str(error)
    finally:
        connection.close()


class Memcached:
    """Debian's memcached, on a Unix socket."""

    def __init__(self, directory):
        self.socket = directory / "memcached.sock"
        arguments = ["-s", self.socket, "-U", "0", "-m", "64", "-t", "1"]
        if os.geteuid() == 0:
            arguments += ["-u", "root"]
        self.process = subprocess.Popen(["memcached", *arguments], stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


class Kasoku:
    """The program, with an admin token, a shared tier, and little memory, so that it evicts responses."""

    def __init__(self, directory, origin_port, collector_port, memcached):
        self.port, self.admin = free_port(), free_port()
        self.token_file = directory / "admin.token"
        config = directory / "kasoku.toml"
        config.write_text(
            f'listen = "127.0.0.1:{self.port}"\n'
            f'admin = "127.0.0.1:{self.admin}"\n'
            f'admin-token-file = "{self.token_file}"\n'
            'control-socket = "off"\nmemory.size = "1MiB"\n'
            f'shared.memcached = ["unix:{memcached.socket}"]\n'
            f'traces.otlp = "http://127.0.0.1:{collector_port}"\ntraces.sample-one-in = 2\n'
            f'[[site]]\nhosts = ["one.example"]\norigin = "http://127.0.0.1:{origin_port}"\n'
            f'[[site]]\nhosts = ["two.example"]\norigin = ["http://127.0.0.1:{free_port()}"]\n'
        )
        with (directory / "kasoku.log").open("ab") as log:
            self.process = subprocess.Popen([PROGRAM, "serve", "--config", config], stderr=log)
        eventually("the program serves", lambda: ask(self.admin, "/healthz")[0] == 200)
        up = f'kasoku_shared_server_up{{server="unix:{memcached.socket}"}} 1'
        eventually("the shared tier is used", lambda: up in self.metrics())

    def metrics(self):
        token = self.token_file.read_text().strip()
        status, text = ask(self.admin, "/metrics", {"Authorization": f"Bearer {token}"})
        assert status == 200, text
        return text

    def visit(self, number):
        """Sends each kind of request once, and some more of the usual ones."""
        one, two = {"Host": "one.example"}, {"Host": "two.example"}
        for path in ("/page", "/page", "/own/page", "/broken", "/cut", f"/large/{number}", f"/new/{number}"):
            ask(self.port, path, one)
        ask(self.port, "/own/form", one, "POST")
        ask(self.port, "/page", {**one, "Accept-Encoding": "gzip"})
        ask(self.port, "/", two)
        ask(self.port, "/", {"Host": "unknown.example"})

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


class Prometheus:
    """Debian's Prometheus with the example of docs/operations.md; only the address, the token's file and the interval are the test's
    own."""

    def __init__(self, directory, kasoku):
        page = (ROOT / "docs" / "operations.md").read_text()
        (example,) = re.findall(r"```yaml\n(# prometheus\.yml\n.*?)```", page, re.S)
        assert "127.0.0.1:8081" in example and "credentials_file: /etc/prometheus/kasoku.token" in example, example
        example = example.replace("127.0.0.1:8081", f"127.0.0.1:{kasoku.admin}")
        example = example.replace("/etc/prometheus/kasoku.token", str(kasoku.token_file))
        self.config = directory / "prometheus.yml"
        self.config.write_text(f"global: {{scrape_interval: 1s}}\n{example}")
        self.port = free_port()
        arguments = [f"--config.file={self.config}", f"--storage.tsdb.path={directory / 'tsdb'}"]
        arguments.append(f"--web.listen-address=127.0.0.1:{self.port}")
        with (directory / "prometheus.log").open("ab") as log:
            self.process = subprocess.Popen(["prometheus", *arguments], stderr=log, stdout=log)
        eventually("Prometheus is ready", lambda: ask(self.port, "/-/ready")[0] == 200)

    def query(self, expression):
        _, text = ask(self.port, "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        answer = json.loads(text)
        if answer["status"] != "success":
            raise ValueError(answer["error"])
        return answer["data"]["result"]

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


def exported(text):
    """The names of all exported metrics, with the names of their labels."""
    labels = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, given = re.match(r"([a-z_]+)(?:\{(.*)\})? ", line).groups()
            labels.setdefault(name, set()).update(re.findall(r'([a-z_]+)="', given or ""))
    return labels


def expressions(dashboard):
    """Each panel's title, expression and legend."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"], target["legendFormat"]


def unknown(expression, legend, known):
    """Names and labels that the program does not export."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    bare = re.sub(r"\[[^\]]*\]", "", bare)
    named = {label for group in re.findall(r"by \(([^)]*)\)", bare) for label in group.split(", ")}
    named |= set(re.findall(r"{{([a-z_]+)}}", legend))
    selected = {label for group in re.findall(r"\{([^}]*)\}", bare) for label in re.findall(r"([a-z_]+)[=!]", group)}
    rest = re.sub(r"by \([^)]*\)|\{[^}]*\}", "", bare)
    names = set(re.findall(r"[a-z_]{2,}", rest)) - WORDS
    wrong = {name for name in names if name not in known}
    labels = LABELS_OF_PROMETHEUS.union(*(known[name] for name in names - wrong))
    return wrong | ((named | selected) - labels)


def filled_in(expression):
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression, expression
    return expression


def check(results, what, failure):
    results.append(not failure)
    if failure:
        print(f"FAILED: {what}: {failure}")


def promtool(arguments, text=None):
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    return None if done.returncode == 0 else done.stdout + done.stderr


def run(directory, results):
    origin, collector = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), one) for one in (Application, Collector))
    for server in (origin, collector):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    memcached = Memcached(directory)
    kasoku = prometheus = None
    try:
        kasoku = Kasoku(directory, origin.server_address[1], collector.server_address[1], memcached)
        prometheus = Prometheus(directory, kasoku)
        scraped = lambda: prometheus.query("kasoku_build_info")
        eventually("a scrape with the token", scraped)
        check(results, "the example of docs/operations.md", promtool(["check", "config", str(prometheus.config)]))
        dashboard = json.loads(DASHBOARD.read_text())
        # A rate needs two different scrapes.
        for number in range(30):
            kasoku.visit(number)
        first = float(prometheus.query("kasoku_requests_total")[0]["value"][1])
        moved = lambda: float(prometheus.query("kasoku_requests_total")[0]["value"][1]) > max(first, 300)
        eventually("a scrape of all that", lambda: kasoku.visit(1000 + int(time.monotonic())) or moved())
        # Memory has no room for all of them.
        for number in range(30):
            ask(kasoku.port, f"/large/{number}", {"Host": "one.example"})
        eventually("a hit of the shared tier", lambda: prometheus.query("kasoku_shared_hits_total > 0"))
        evaluate(results, dashboard, kasoku, prometheus)
        spans = b"".join(body for path, body in Collector.taken if path == "/v1/traces")
        told = [word for word in (b"service.name", b"kasoku.result", b"one.example") if word not in spans]
        check(results, "spans at the collector", told and f"{told} is not in {len(spans)} bytes")
        check(results, "spans counted", not prometheus.query("kasoku_spans_total > 0") and "none")
    finally:
        if prometheus:
            prometheus.stop()
        if kasoku:
            kasoku.stop()
        memcached.stop()
        origin.shutdown()


def evaluate(results, dashboard, kasoku, prometheus):
    text = kasoku.metrics()
    check(results, "promtool check metrics", promtool(["check", "metrics"], text))
    known = exported(text)
    for title, expression, legend in expressions(dashboard):
        wrong = unknown(expression, legend, known)
        check(results, f"{title}: {expression}", wrong and f"not exported: {', '.join(sorted(wrong))}")
        try:
            values = [float(one["value"][1]) for one in prometheus.query(filled_in(expression))]
            failure = not values and "empty" or any(value != value for value in values) and f"no number: {values}"
        except ValueError as error:
            failure = str(error)
        check(results, f"{title}: {expression}", failure)
    for variable in dashboard["templating"]["list"][1:]:
        selector, label = re.fullmatch(r"label_values\((.*), ([a-z]+)\)", variable["query"]["query"]).groups()
        found = {one["metric"].get(label) for one in prometheus.query(filled_in(selector))}
        check(results, f"variable {variable['name']}", not found - {None} and "no values")
    ids = [panel["id"] for panel in dashboard["panels"]]
    check(results, "ids of panels", len(ids) != len(set(ids)) and "one is there twice")
    check(results, "evictions", not prometheus.query("kasoku_evictions_total > 0") and "none, in a memory of 1 MiB")
    page = (ROOT / "docs" / "shared.md").read_text()
    named = {f"kasoku_{name}" for name in re.findall(r"`kasoku_(shared_[a-z_]+)`", page)}
    shared = {name for name in known if name.startswith("kasoku_shared_")}
    check(results, "the numbers of docs/shared.md", named ^ shared and str(named ^ shared))
    servers = [one["metric"].get("server") for one in prometheus.query("kasoku_shared_server_up == 1")]
    check(results, "the server of the shared tier", len(servers) != 1 and str(servers))
    for name in ("stored", "hits", "server_gets", "server_hits", "server_sets", "server_reply_seconds"):
        check(results, f"shared {name}", not prometheus.query(f"kasoku_shared_{name}_total > 0") and "none")
    own = prometheus.query('sum by (class) (kasoku_responses_total{site="two.example",result="error"}) > 0')
    classes = [one["metric"]["class"] for one in own]
    check(results, "an origin that is away", classes != ["5xx"] and str(classes))


def main():
    results = []
    with tempfile.TemporaryDirectory(prefix="kasoku-metrics-") as directory:
        try:
            run(Path(directory), results)
        except (RuntimeError, AssertionError) as error:
            check(results, "the test itself", str(error))
    print(f"metrics: {results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if all(results) and results else 1)


if __name__ == "__main__":
    main()
