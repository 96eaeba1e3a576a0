"""Runs a sandbox for a test: this machine's files under an overlay in memory, a separate network, and systemd as its init.

Installations and servers of a test do not affect this machine, every port is free, and `changed()` lists the files that differ at the end.
A sandbox needs root and Linux's namespaces; `why_not()` says what is missing. """

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

BOOT_SECONDS_MAX = 60

# Units that would affect the sandbox or take time: they clean /tmp at the start, or handle hardware, which it does not have.
MASKED = ("systemd-tmpfiles-setup.service", "systemd-tmpfiles-setup-dev.service", "systemd-tmpfiles-clean.timer", "systemd-udevd.service",
          "systemd-udev-trigger.service", "systemd-journal-flush.service", "systemd-update-utmp.service", "systemd-random-seed.service",
          "systemd-modules-load.service")

# $1 is an empty directory. /proc/sys and /sys belong to this machine, so they are read-only.
BOOT = r"""
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
root=$1/root
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
    mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/systemd"
    mount -t cgroup -o none,name=systemd systemd "$root/sys/fs/cgroup/systemd"
fi
shift
# Directories of other file systems that the test wants to see.
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
    shift
done
shift
for unit in "$@"; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
printf '[Unit]\nDescription=A sandbox\nDefaultDependencies=no\n' >"$root/etc/systemd/system/sandbox.target"
exec chroot "$root" env -i container=sandbox PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=sandbox.target --log-target=null --show-status=false
"""


def why_not():
    """The reason why there can be no sandbox here, or None."""
    if os.geteuid() != 0:
        return "it needs root"
    for tool in ("unshare", "nsenter", "systemctl", "dpkg-deb"):
        if not shutil.which(tool):
            return f"there is no {tool}"
    probe = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "true"]
    if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return "this machine gives no namespaces"
    return None


class Sandbox:
    """A context with a sandbox; all its processes end with it, and it leaves no files."""

    def __init__(self, *visible):
        """`visible` are directories of this machine that a test needs; those on other file systems than / are bind-mounted."""
        root = os.stat("/").st_dev
        self._visible = [str(path) for path in visible if os.stat(path).st_dev != root]
        self._init = None

    def __enter__(self):
        self._directory = pathlib.Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
        namespaces = ["--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--propagation", "private"]
        command = ["unshare", *namespaces, "--fork", "--kill-child", "sh", "-c", BOOT, "sh", self._directory, *self._visible, "--", *MASKED]
        self._unshare = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            self._init = self._wait_for_init()
            self._wait_for_systemd()
            self.run(["ip", "link", "set", "lo", "up"])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._init:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._init, signal.SIGKILL)
        self._unshare.kill()
        self._unshare.wait()
        self._directory.rmdir()

    def _wait_for_init(self):
        """Waits until the sandbox's process 1 is systemd; returns its process id on this machine."""
        deadline = time.monotonic() + BOOT_SECONDS_MAX
        children = pathlib.Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children")
        while time.monotonic() < deadline and self._unshare.poll() is None:
            for child in children.read_text(encoding="ascii").split():
                with contextlib.suppress(OSError):
                    if pathlib.Path(f"/proc/{child}/comm").read_text(encoding="utf-8").strip() == "systemd":
                        return int(child)
            time.sleep(0.02)
        raise SystemExit("the sandbox does not start")

    def _wait_for_systemd(self):
        deadline = time.monotonic() + BOOT_SECONDS_MAX
        while time.monotonic() < deadline:
            state = self.run(["systemctl", "is-system-running"], check=False).stdout.strip()
            if state in ("running", "degraded"):
                return
            time.sleep(0.05)
        raise SystemExit("systemd does not start in the sandbox")

    def command(self, command):
        """The command line that runs the command in the sandbox."""
        return ["nsenter", "--target", str(self._init), "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--root", "--wd", "--", *map(str, command)]

    def run(self, command, check=True, **more):
        """Runs a command to its end, with its output as text; the error after a failure contains the output."""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(self.command(command), env=environment, text=True, capture_output=True, check=False, **more)
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start(self, command, **more):
        """Starts a command. It must end with its input, or ends with the sandbox: ending the returned process ends only nsenter."""
        return subprocess.Popen(self.command(command), text=True, **more)

    def changed(self):
        """The absolute paths of files that differ from this machine's, including removed ones."""
        found = subprocess.run(["nsenter", "--target", str(self._init), "--mount", "find", f"{self._directory}/upper", "!", "-type", "d"], text=True,
                               capture_output=True, check=True).stdout
        return sorted(line.removeprefix(f"{self._directory}/upper") for line in found.splitlines())


if __name__ == "__main__":
    # Runs a command or a shell in a sandbox: python3 tests/packaging/sandbox.py COMMAND…
    with Sandbox() as sandbox:
        sys.exit(subprocess.call(sandbox.command(sys.argv[1:] or ["bash"])))
