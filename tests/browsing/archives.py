"""Finds the archives of programs that Debian does not have. They are not part of the project.

KASOKU_TEST_APPS names their directory, by default /var/cache/kasoku-test-apps. Each archive is one that `git archive` makes of a tag, named
PROGRAM-VERSION.tar.xz, with everything in a directory PROGRAM-VERSION.
"""

import os
from pathlib import Path

DIRECTORY = Path(os.environ.get("KASOKU_TEST_APPS", "/var/cache/kasoku-test-apps"))


def archive(name):
    """The path of the archive PROGRAM-VERSION, or None: then the tests that need it are skipped."""
    path = DIRECTORY / f"{name}.tar.xz"
    return path if path.is_file() else None


def unpack(name, directory):
    """The command that unpacks the archive into a directory that exists."""
    return ["tar", "--extract", "--no-same-owner", "--strip-components=1", f"--directory={directory}", f"--file={archive(name)}"]
