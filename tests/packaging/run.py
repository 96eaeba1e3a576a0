#!/usr/bin/env python3
"""Tests the installation by `make install` and as a Debian package.

The package is installed, started by systemd, reloaded, upgraded under load without a lost request, removed, and purged without traces.

    python3 tests/packaging/run.py [--program target/release/kasoku]

The package part runs in a sandbox (sandbox.py). If there can be none, the test says so, and only systemd-analyze checks the unit.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "packaging"))
from sandbox import Sandbox, why_not  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
VERSIONS = ("0.1.0-1", "0.1.0-2")
WAIT_SECONDS_MAX = 30
# Files that other programs write when a package is installed and removed, and files of the sandbox itself.
NOT_OURS = re.compile(r"/(var/lib/dpkg|var/log/(dpkg|alternatives|apt)|var/cache|var/lib/(systemd|apt)|var/log/journal|var/backups|var/lib/man-db|tmp|root|"
                      r"etc/systemd/system/(sandbox\.target|systemd-.*)$|etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|etc/\.pwd\.lock$|etc/machine-id$)")
# The exposure level of systemd-analyze, from 0 (best) to 10.
EXPOSURE_MAX = 2.5
CGI = """#!/bin/sh
printf 'Content-Type: text/plain\\n\\n'
umask
grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status
"""


class Checks:
    """Counts the checks that passed."""

    def __init__(self):
        self.passed = 0

    def shows(self, what, holds, seen=""):
        if not holds:
            print(f"packaging: {self.passed} passed, 1 failed")
            sys.exit(f"not so: {what}\n{seen}")
        self.passed += 1


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--program", type=pathlib.Path, default=TARGET / "release" / "kasoku")
    program = arguments.parse_args().program.resolve()
    checks = Checks()
    installs_below_a_directory_and_leaves_nothing(checks, program)
    packages = {version: package(program, version) for version in VERSIONS}
    if shutil.which("lintian"):
        said = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", packages[VERSIONS[0]]], capture_output=True, text=True, check=False)
        checks.shows("lintian has nothing to say", said.returncode == 0, said.stdout + said.stderr)
    else:
        print("lintian is not there: not asked")
    reason = why_not()
    if reason:
        print(f"no package is installed, {reason}")
        with tempfile.TemporaryDirectory() as directory:
            is_a_good_unit(checks, directory, program)
    else:
        is_a_service_after_make_install(checks, program)
        lives_and_dies_as_a_package(checks, packages)
    for path in packages.values():
        path.unlink()
    print(f"packaging: {checks.passed} passed, 0 failed")


def package(program, version):
    environment = {**os.environ, "DEB_VERSION": version, "PROGRAM": str(program)}
    said = subprocess.run([ROOT / "scripts" / "build-deb"], env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout
    return (ROOT / said.strip()).resolve()


def installs_below_a_directory_and_leaves_nothing(checks, program):
    with tempfile.TemporaryDirectory() as directory:
        stage = pathlib.Path(directory)

        def make(target):
            environment = {**os.environ, "PROGRAM": str(program), "DESTDIR": directory, "PREFIX": "/opt/kasoku"}
            return subprocess.run([ROOT / "scripts" / "install-program", target], env=environment, check=True, capture_output=True, text=True).stdout

        def files():
            return {str(path.relative_to(stage)) for path in stage.rglob("*") if not path.is_dir()}

        make("install")
        for name in ("opt/kasoku/bin/kasoku", "opt/kasoku/share/man/man1/kasoku-serve.1", "opt/kasoku/lib/systemd/system/kasoku.service",
                     "opt/kasoku/share/bash-completion/completions/kasoku", "opt/kasoku/share/kasoku/kasoku.schema.json",
                     "opt/kasoku/share/kasoku/grafana/kasoku.json", "etc/kasoku/kasoku.toml"):
            checks.shows(f"make install brings {name}", name in files(), sorted(files()))
        unit = (stage / "opt/kasoku/lib/systemd/system/kasoku.service").read_text(encoding="utf-8")
        checks.shows("the unit starts what was installed", "ExecStart=/opt/kasoku/bin/kasoku serve" in unit, unit)
        configuration = stage / "etc/kasoku/kasoku.toml"
        configuration.write_text(configuration.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
        make("install")
        checks.shows("a configuration stays as it is", configuration.read_text(encoding="utf-8").endswith("# mine\n"))
        checks.shows("make uninstall tells of it", "it stays" in make("uninstall"))
        checks.shows("and leaves nothing else", files() == {"etc/kasoku/kasoku.toml"}, files())
        configuration.unlink()
        make("install")
        make("uninstall")
        checks.shows("make uninstall leaves nothing", not files(), files())


def is_a_good_unit(checks, directory, program):
    unit = pathlib.Path(directory) / "kasoku.service"
    text = (ROOT / "packaging" / "systemd" / "kasoku.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/usr/bin/kasoku", str(program)), encoding="utf-8")
    if shutil.which("systemd-analyze"):
        said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
        checks.shows("systemd-analyze finds nothing wrong with the unit", said.returncode == 0 and not said.stderr, said.stderr)
        said = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={int(EXPOSURE_MAX * 10)}", unit], capture_output=True, text=True,
                              check=False)
        checks.shows(f"its exposure is at most {EXPOSURE_MAX}", said.returncode == 0, said.stdout)


def is_a_service_after_make_install(checks, program):
    """Runs the commands of the README and of the installation's output, in order."""
    with Sandbox(ROOT, TARGET) as machine:

        def make(target, **how):
            return machine.run(["env", f"PROGRAM={program}", ROOT / "scripts" / "install-program", target], **how)

        said = make("install").stdout
        as_a_service = re.search(r"as a service: (.*)", said)
        checks.shows("make install says how to start the service", as_a_service is not None, said)
        machine.run(["sh", "-ec", as_a_service[1]])
        checks.shows("it serves its page from below /usr/local", "Kasoku serves" in get(machine, "/"))
        refused = make("uninstall", check=False)
        first = re.search(r"the service comes first: (.*)", refused.stderr)
        checks.shows("make uninstall leaves a service that runs alone", refused.returncode == 1 and first is not None, refused.stderr)
        checks.shows("and serves on", "Kasoku serves" in get(machine, "/"))
        machine.run(["sh", "-ec", first[1]])
        checks.shows("make uninstall says that the user stays", "userdel kasoku" in make("uninstall").stdout)
        machine.run(["userdel", "kasoku"])
        left = [path for path in machine.changed() if "kasoku" in path and not NOT_OURS.match(path)]
        checks.shows("make uninstall leaves nothing of a service", not left, left)


def lives_and_dies_as_a_package(checks, packages):
    with Sandbox(ROOT, TARGET) as machine:
        first, second = (packages[version] for version in VERSIONS)
        machine.run(["dpkg", "-i", first])
        checks.shows("it has a user", machine.run(["id", "-u", "kasoku"]).stdout.strip().isdigit())
        checks.shows("it is not started", machine.run(["systemctl", "is-active", "kasoku"], check=False).stdout.strip() == "inactive")
        checks.shows("its manual is found", "kasoku-purge(1)" in machine.run(["man", "kasoku-purge"]).stdout)
        machine.run(["kasoku", "check", "/etc/kasoku/kasoku.toml"])
        said = machine.run(["systemd-analyze", "verify", "/lib/systemd/system/kasoku.service"])
        checks.shows("systemd-analyze finds nothing wrong with the unit", not said.stderr, said.stderr)
        machine.run(["systemd-analyze", "security", "--offline=true", f"--threshold={int(EXPOSURE_MAX * 10)}", "/lib/systemd/system/kasoku.service"])

        machine.run(["systemctl", "start", "kasoku"])
        checks.shows("it serves its page", "Kasoku serves" in get(machine, "/"))
        checks.shows("its socket is for its user", machine.run(["stat", "-c", "%U %a", "/run/kasoku/control.sock"]).stdout == "kasoku 600\n")
        for command in ("purge --all", "top --once", "doctor", "explain http://127.0.0.1:8080/", "reload"):
            machine.run(["kasoku", *command.split()])
        refused = machine.run(["runuser", "-u", "nobody", "--", "kasoku", "purge", "--all"], check=False)
        checks.shows("others may not", refused.returncode == 1 and "is for root" in refused.stderr, refused.stderr)
        reloads(checks, machine)
        upgrades_under_load(checks, machine, second)

        machine.run(["dpkg", "--remove", "kasoku"])
        checks.shows("a removed service is stopped", "kasoku" not in machine.run(["ps", "-e", "-o", "comm"]).stdout.split())
        checks.shows("a removed package leaves its configuration", machine.run(["cat", "/etc/kasoku/kasoku.toml"]).stdout.endswith("umask = \"0002\"\n"))
        machine.run(["dpkg", "--purge", "kasoku"])
        checks.shows("a purged one leaves no user", machine.run(["id", "kasoku"], check=False).returncode == 1)
        machine.run(["rm", "-r", "/srv/cgi"])
        left = [path for path in machine.changed() if not NOT_OURS.match(path)]
        checks.shows("a purged one leaves no file", not left, left)
        checks.shows("nor what it has made", machine.run(["sh", "-c", "ls -d /run/kasoku /var/l*/kasoku /etc/kasoku"], check=False).stdout == "")


def reloads(checks, machine):
    machine.run(["mkdir", "/srv/cgi"])
    machine.run(["install", "-m", "755", "/dev/stdin", "/srv/cgi/status"], input=CGI)
    more = '\n[[site.rule]]\npath = "/cgi-bin/*"\norigin = "cgi:///srv/cgi"\n'
    write = ["tee", "-a", "/etc/kasoku/kasoku.toml"]
    machine.run(write, input=more)
    said = machine.run(["kasoku", "reload"]).stdout
    checks.shows("kasoku reload says what changed", "rule /cgi-bin/*: origin: \"file:///usr/share/kasoku/welcome\" (of the site) -> " in said, said)
    page = get(machine, "/cgi-bin/status")
    checks.shows("a program has a umask of its own", page.startswith("0022\n"), page)
    checks.shows("a program inherits no capability", re.findall(r"Cap\w+:\s+(\w+)", page) == ["0" * 16] * 4, page)
    machine.run(write, input='\n[site.rule.cgi]\numask = "0002"\n')
    main = main_process(machine)
    machine.run(["systemctl", "reload", "kasoku"])
    wait_for("systemctl reload", lambda: get(machine, "/cgi-bin/status").startswith("0002\n"))
    checks.shows("a reload keeps the process", main_process(machine) == main)


def upgrades_under_load(checks, machine, package_path):
    main = main_process(machine)
    visitors = machine.start([sys.executable, "-B", ROOT / "tests" / "packaging" / "visitors.py", "http://127.0.0.1:8080/", "4"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)

    def answered():
        visitors.stdin.write("\n")
        visitors.stdin.flush()
        return int(visitors.stdout.readline())

    wait_for("visitors", lambda: answered() > 200)
    machine.run(["dpkg", "-i", package_path])
    wait_for("another process", lambda: main_process(machine) not in (main, 0))
    wait_for("the end of the old one", lambda: machine.run(["kill", "-0", str(main)], check=False).returncode != 0)
    soon = answered() + 200
    wait_for("visitors of the new one", lambda: answered() > soon)
    visitors.stdin.close()
    outcome = json.loads(visitors.stdout.read().splitlines()[-1])
    visitors.wait()
    checks.shows("no request was lost", outcome["failed"] == 0, outcome)
    state = machine.run(["systemctl", "show", "-p", "ActiveState,NRestarts", "kasoku"]).stdout
    checks.shows("systemd goes on with the new process", "ActiveState=active" in state and "NRestarts=0" in state, state)
    executable = machine.run(["readlink", f"/proc/{main_process(machine)}/exe"]).stdout.strip()
    checks.shows("which is the new program", executable.endswith("/usr/bin/kasoku"), executable)
    machine.run(["kasoku", "purge", "--all"])
    machine.run(["kasoku", "reload"])
    print(f"upgraded under {outcome['answered']} requests")


def main_process(machine):
    return int(machine.run(["systemctl", "show", "-p", "MainPID", "--value", "kasoku"]).stdout)


def get(machine, path):
    return machine.run([sys.executable, "-c", f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080{path}').read().decode(), end='')"]).stdout


def wait_for(what, holds):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: it does not come")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
