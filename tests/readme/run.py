#!/usr/bin/env python3
"""Runs the commands of README.md and of the first part of docs/operations.md as they are written, in a sandbox.

    python3 tests/readme/run.py [--without-install PROGRAM]

The sandbox is that of tests/packaging/sandbox.py. These are the rules:

- A block of TOML is a whole configuration, which `kasoku check` must accept. The first of README.md is written to kasoku.toml; those of
  operations.md replace it, and take effect by `kasoku reload`.
- A block whose first word is a command (COMMANDS) is run by bash line by line, each line with exit status 0; other blocks are output. An
  installation runs in a copy of the source, all other commands in an empty directory. Installations are alternatives: each is removed
  before the next.
- `kasoku serve` runs until the next one; it must listen and must not end.
- `sudo` is left out if it is not installed. Ports are as written, since all ports of the sandbox are free.
- There is an application on ports 8000 and 8001 whose pages are fresh for a minute.
- Commands in NOT_RUN are not run, for the reason given there.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "packaging"))
from sandbox import Sandbox, why_not  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COMMANDS = {"kasoku", "curl", "cargo", "make", "sudo"}
NOT_RUN = {
    "make run": "it is a part of `make test` by itself",
    "make test": "this is a part of it",
}
# The part of each page to run: from its beginning to this heading.
PARTS = {"README.md": "## Downloads", "docs/operations.md": "## Several origins"}
DIRECTORY = "/srv/readme"
PID_FILE = "/run/readme.pid"
START_SECONDS_MAX = 30

UNINSTALL = "export PATH=/root/.cargo/bin:$PATH; cd {root}; cargo uninstall kasoku; make uninstall && ! command -v kasoku"

APPLICATION = """
import http.server, sys
class Application(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Cache-Control", "max-age=60")
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\\n")
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Application).serve_forever()
"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--without-install", metavar="PROGRAM", type=pathlib.Path, help="use this program, and run no installation")
    program = arguments.parse_args().without_install
    reason = why_not()
    if reason:
        print(f"the README's commands are not run, {reason}")
        print("readme: 0 passed, 0 failed")
        return
    with Sandbox(ROOT, TARGET) as machine:
        page = Page(machine, installs=program is None)
        try:
            if program:
                machine.run(["install", "-m", "755", program.resolve(), "/usr/local/bin/kasoku"])
            for name, end in PARTS.items():
                page.read(name, end)
        except AssertionError as error:
            print(f"readme: {page.passed} passed, 1 failed")
            sys.exit(f"{page.at}\n{error}")
        finally:
            page.stop()
    print(f"readme: {page.passed} passed, 0 failed")


class Page:
    def __init__(self, machine, installs):
        self.machine, self.installs = machine, installs
        self.passed, self.at, self.served_from = 0, "", None
        self.server, self.applications = None, []
        machine.run(["mkdir", "-p", DIRECTORY])
        self.applications = [machine.start([sys.executable, "-c", APPLICATION, port]) for port in ("8000", "8001")]
        # `./target` must be the build directory, even if that is elsewhere on this machine.
        if TARGET.resolve() != (ROOT / "target").resolve():
            machine.run(["mkdir", "-p", ROOT / "target"])
            machine.run(["mount", "--bind", TARGET, ROOT / "target"])

    def stop(self):
        self.end_server()
        for child in self.applications:
            child.terminate()
            child.wait()

    def read(self, name, end):
        """Runs a page's blocks up to a heading."""
        if name != "README.md":
            self.serve(f"kasoku serve --config {self.served_from}")
        text = (ROOT / name).read_text(encoding="utf-8")
        beginning, found, _ = text.partition(f"\n{end}")
        assert found, f"{name} has no {end}"
        for block in re.finditer(r"^```(\w*)\n(.*?)^```$", beginning, re.MULTILINE | re.DOTALL):
            language, lines = block[1], block[2]
            self.at = f"{name}:{beginning[:block.start()].count(chr(10)) + 1}"
            if language == "toml":
                self.check(lines, reloads=name != "README.md")
            elif not language and lines.split()[0] in COMMANDS:
                for line in lines.splitlines():
                    self.run(line)

    def check(self, configuration, reloads):
        is_served = reloads or self.served_from is None
        path = f"{DIRECTORY}/{'kasoku' if is_served else 'other'}.toml"
        self.served_from = self.served_from or path
        self.machine.run(["tee", path], input=configuration)
        for command in [["check", path]] + [["reload"]] * reloads:
            self.machine.run(["bash", "-c", 'export PATH=/root/.cargo/bin:$PATH; exec kasoku "$@"', "kasoku", *command])
        self.passed += 1

    def run(self, line):
        command = line.split("#")[0].strip()
        if not command or command in NOT_RUN:
            return
        is_installation = re.match(r"(cargo|make|sudo)\b", command) is not None
        if is_installation and not self.installs:
            return
        if is_installation:
            self.machine.run(["bash", "-c", UNINSTALL.format(root=ROOT)])
        if re.match(r"kasoku serve\b", command):
            self.serve(line)
        else:
            where = ROOT if is_installation else DIRECTORY
            sudo = "" if shutil.which("sudo") else "sudo() { \"$@\"; }; "
            environment = f"export PATH=/root/.cargo/bin:$PATH CARGO_NET_OFFLINE=true; {sudo}"
            self.machine.run(["bash", "-c", f"cd {where} && {environment} {line}"])
            if is_installation:
                self.machine.run(["bash", "-c", "export PATH=/root/.cargo/bin:$PATH; hash -r; kasoku --version"])
        self.passed += 1

    def serve(self, line):
        """Starts a program; ends the one before it."""
        self.end_server()
        self.server = self.machine.start(["bash", "-c", f"echo $$ >{PID_FILE}; export PATH=/root/.cargo/bin:$PATH; cd {DIRECTORY} && exec {line.split('#')[0]}"],
                                         stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS_MAX
        ask = ["curl", "--silent", "--fail", "--output", "/dev/null", "-H", "Host: example.org", "http://127.0.0.1:8080/"]
        while self.machine.run(ask, check=False).returncode != 0:
            assert self.server.poll() is None, f"{line}: it ended with {self.server.returncode}"
            assert time.monotonic() < deadline, f"{line}: it does not serve"
            time.sleep(0.05)
        assert self.server.poll() is None, f"{line}: another one serves"

    def end_server(self):
        if self.server:
            self.machine.run(["sh", "-c", f"kill $(cat {PID_FILE})"], check=False)
            self.server.wait()
            self.server = None


if __name__ == "__main__":
    main()
