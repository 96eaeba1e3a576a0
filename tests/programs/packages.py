"""Installs what a program under test needs: Debian packages, and packages from PyPI in a virtual environment below target/.

Nothing is installed twice. No service of an installed package starts, since the tests start their own servers.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from servers import ROOT

ENVIRONMENTS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "programs"
POLICY = Path("/usr/sbin/policy-rc.d")
# An installation compiles nothing, but Redmine's runs its migrations.
INSTALL_SECONDS_MAX = 900


class NotInstallable(Exception):
    """The program can't be installed here; the text says why."""


def install(debian, pypi):
    missing = [name for name in debian if not is_installed(name)]
    if missing:
        install_from_debian(missing)
    if pypi and not python(pypi).exists():
        words([sys.executable, "-m", "venv", directory(pypi)])
        words([directory(pypi) / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *pypi])


def directory(pypi):
    return ENVIRONMENTS / "-".join(pypi).replace("==", "-")


def python(pypi):
    """The interpreter that finds these packages from PyPI."""
    return directory(pypi) / "bin" / "python"


def is_installed(name):
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", name], capture_output=True, text=True)
    return asked.stdout == "install ok installed"


def install_from_debian(names):
    if os.geteuid() != 0:
        raise NotInstallable(f"please install {' '.join(names)}")
    with no_services():
        words(["apt-get", "update", "-q"])
        words(["apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "-q", "-y", "--no-install-recommends", *names],
              env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


@contextlib.contextmanager
def no_services():
    """A context in which installed services do not start."""
    is_ours = not POLICY.exists()
    if is_ours:
        POLICY.write_text("#!/bin/sh\nexit 101\n")
        POLICY.chmod(0o755)
    try:
        yield
    finally:
        if is_ours:
            POLICY.unlink()


def words(command, **more):
    try:
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstallable(str(error)) from error
    if done.returncode != 0:
        raise NotInstallable(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-500:]}")
