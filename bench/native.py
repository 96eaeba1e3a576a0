"""Finds the programs of the bench: its own C program, which this builds, and the release build of Kasoku."""

import os
import subprocess
from functools import cache
from pathlib import Path

from processes import BenchError

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OUTPUT = TARGET / "bench"


@cache
def native():
    """The C program of bench/native, rebuilt if its sources are newer."""
    sources = sorted((BENCH / "native").glob("*.c"))
    program = OUTPUT / "native"
    newest = max(path.stat().st_mtime for path in (BENCH / "native").iterdir())
    if not program.exists() or program.stat().st_mtime < newest:
        OUTPUT.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", program, *sources], check=True)
    return program


@cache
def kasoku():
    """The release program: $KASOKU, or the one that `make build` built."""
    program = Path(os.environ.get("KASOKU", TARGET / "release" / "kasoku"))
    if not program.exists():
        raise BenchError(f"{program} is not there; run `make build` first")
    return program
