#!/usr/bin/env python3
"""Tests docs/https.md and docs/http-applications.md: a TLS server in front of Kasoku, and applications that are HTTP servers behind it.

nginx and HAProxy run with the lines of the pages, Kasoku with the page's file, and the applications (Express, Flask, Django, Sinatra) with
the pages' lines in them. `Pages` replaces the pages' ports and files, since those may be in use. Prints `https: N passed, M failed`. """

import contextlib
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "browsing"))

from scenarios import Tally, equal, true  # noqa: E402
from servers import PROGRAM, ROOT, can_connect, end, free_port, run, until  # noqa: E402

HOST = "example.org"
VISITOR = "127.0.0.77"
PATIENCE_SECONDS = 20
EVENT = "data: one"


class Pages:
    """The code blocks of the two pages, with the ports and files of this run."""

    def __init__(self, directory):
        self.https, self.http, self.kasoku, self.application = (free_port() for _ in range(4))
        self._files = {"/etc/ssl/example.org.combined.pem": directory / "both.pem", "/etc/ssl/example.org.pem": directory / "certificate.pem",
                       "/etc/ssl/example.org.key": directory / "key.pem"}

    def block(self, page, language, part):
        """The first block of that language that contains `part`."""
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        found = [code for code in re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M) if part in code]
        if not found:
            raise AssertionError(f"docs/{page} has no {language} with {part!r}")
        code = found[0]
        for file, own in self._files.items():
            code = code.replace(file, str(own))
        for port, own in ((r"\b8080\b", self.kasoku), (r"\b8000\b", self.application), (r"\b443\b", self.https), (r"\b80\b", self.http)):
            code = re.sub(port, str(own), code)
        return code


class Chain(contextlib.ExitStack):
    """A context with a TLS server, Kasoku and an application."""

    def __init__(self, front, application):
        super().__init__()
        self._front, self._application = front, application

    def __enter__(self):
        super().__enter__()
        try:
            self.directory = Path(tempfile.mkdtemp(prefix="kasoku-https-"))
            self.callback(shutil.rmtree, self.directory, ignore_errors=True)
            self.pages = Pages(self.directory)
            self._certificate()
            self._application(self)
            config = self.directory / "kasoku.toml"
            config.write_text(self.pages.block("https.md", "toml", "trusted-proxies"))
            self.start("kasoku", [PROGRAM, "serve", "--config", config], self.pages.kasoku)
            self._front(self)
        except BaseException:
            self.close()
            raise
        return self

    def start(self, name, words, port, **more):
        log = self.directory / f"{name}.log"
        with open(log, "ab") as out:
            child = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, **more)
        self.callback(end, child)
        until(f"{name} serves", lambda: can_connect(port), child, log)

    def said(self):
        return "\n".join(f"{log.name}:\n{log.read_text(errors='replace')[-1500:]}" for log in sorted(self.directory.glob("*.log")))

    def ask(self, path, *fields, is_https=True):
        """Sends one request; returns the head and body of the answer."""
        return self._read(path, fields, is_https, lambda _: False)

    def begun(self, path, text):
        """The body of an answer as far as it has arrived once it contains `text`."""
        return self._read(path, (), True, lambda came: text.encode() in came)[1]

    def _read(self, path, fields, is_https, is_enough):
        port = self.pages.https if is_https else self.pages.http
        plain = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS, source_address=(VISITOR, 0))
        with plain:
            connection = plain
            if is_https:
                context = ssl.create_default_context(cafile=self.directory / "certificate.pem")
                connection = context.wrap_socket(plain, server_hostname=HOST)
            lines = [f"GET {path} HTTP/1.1", f"Host: {HOST}", *fields, "Connection: close", "", ""]
            connection.sendall("\r\n".join(lines).encode())
            came = b""
            while not is_enough(came) and (data := connection.recv(65536)):
                came += data
        head, _, body = came.decode(errors="replace").partition("\r\n\r\n")
        return head, body

    def _certificate(self):
        files = [self.directory / name for name in ("certificate.pem", "key.pem")]
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={HOST}",
             "-addext", f"subjectAltName=DNS:{HOST}", "-out", files[0], "-keyout", files[1]])
        (self.directory / "both.pem").write_text("".join(file.read_text() for file in files))


def nginx(chain):
    own = chain.directory / "nginx.conf"
    own.write_text(f"daemon off; pid {chain.directory}/nginx.pid; error_log {chain.directory}/nginx-error.log;\n"
                   f"events {{}}\nhttp {{ access_log off; client_body_temp_path {chain.directory}/body; proxy_temp_path {chain.directory}/proxy;\n"
                   f"{chain.pages.block('https.md', 'nginx', 'ssl_certificate')}\n}}\n")
    chain.start("nginx", ["nginx", "-p", chain.directory, "-c", own], chain.pages.https)


def haproxy(chain):
    own = chain.directory / "haproxy.cfg"
    own.write_text(chain.pages.block("https.md", "haproxy", "bind :"))
    chain.start("haproxy", ["haproxy", "-db", "-f", own], chain.pages.https)


def express(chain):
    folder = HERE / "apps" / "express"
    code = (folder / "app.js").read_text().replace("// lines of the page", chain.pages.block("http-applications.md", "js", "trust proxy")
                                                    + chain.pages.block("http-applications.md", "js", "app.get"))
    own = folder / "node_modules" / ".kasoku" / f"app-{chain.pages.application}.js"
    own.parent.mkdir(exist_ok=True)
    own.write_text(code)
    chain.callback(own.unlink)
    chain.start("express", ["node", own, chain.pages.application], chain.pages.application)


def flask(chain):
    python(chain, "flask", chain.pages.block("http-applications.md", "python", "ProxyFix"))


def django(chain):
    python(chain, "django", chain.pages.block("http-applications.md", "python", "SECURE_PROXY_SSL_HEADER"),
           chain.pages.block("http-applications.md", "python", "cache_control"))


def python(chain, name, *lines):
    code = (HERE / "apps" / f"{name}_app.py").read_text()
    for number, text in enumerate(lines, 1):
        code = code.replace(f"# lines {number} of the page\n", text)
    (chain.directory / "app.py").write_text(code)
    words = ["/usr/bin/python3", "-m", "gunicorn", "--threads", "4", "--bind", f"127.0.0.1:{chain.pages.application}", "app:app"]
    chain.start(name, words, chain.pages.application, cwd=chain.directory)


def sinatra(chain):
    shutil.copy(HERE / "apps" / "config.ru", chain.directory)
    chain.start("sinatra", ["puma", "--environment", "production", "--bind", f"tcp://127.0.0.1:{chain.pages.application}", "config.ru"],
                chain.pages.application, cwd=chain.directory)


def the_application_sees_the_visitor_and_https(chain):
    for forged in ([], ["X-Forwarded-For: 192.0.2.9", "X-Forwarded-Proto: http", "X-Real-IP: 192.0.2.9"]):
        head, body = chain.ask("/who", *forged)
        true(" 200 " in head.splitlines()[0], head)
        equal(json.loads(body[body.index("{"):body.rindex("}") + 1]), {"address": VISITOR, "scheme": "https"}, f"what it sees with {forged}")


def its_page_is_a_hit(chain):
    heads = [chain.ask("/", *fields)[0] for fields in ([], [], ["Cookie: _ga=1"])]
    true("fwd=uri-miss" in heads[0], heads[0])
    for head in heads[1:]:
        true("; hit;" in head, head)


def http_leads_to_https(chain):
    head, _ = chain.ask("/who?a=b", is_https=False)
    true(" 301 " in head.splitlines()[0] and f"location: https://{HOST}/who?a=b" in head.lower(), head)


def events_come_while_the_stream_goes_on(chain):
    """The application sends one event, and then waits longer than this test."""
    for _ in range(2):
        true(EVENT in chain.begun("/events", EVENT), "no event came")


CHAINS = [
    (nginx, express, [the_application_sees_the_visitor_and_https, its_page_is_a_hit, http_leads_to_https, events_come_while_the_stream_goes_on]),
    (haproxy, express, [the_application_sees_the_visitor_and_https, its_page_is_a_hit, http_leads_to_https, events_come_while_the_stream_goes_on]),
    (nginx, flask, [the_application_sees_the_visitor_and_https]),
    (nginx, django, [the_application_sees_the_visitor_and_https, its_page_is_a_hit]),
    (nginx, sinatra, [the_application_sees_the_visitor_and_https]),
]


def main():
    tally, status = Tally("https"), 0
    for number, (front, application, scenarios) in enumerate(CHAINS):
        print(f"-- {front.__name__}, {application.__name__}")
        with Chain(front, application) as chain:
            tally.run(scenarios, chain)
            status = tally.end(chain) if number + 1 == len(CHAINS) else 0
    return status


if __name__ == "__main__":
    sys.exit(main())
