"""Makes a repository of git with a history for programs that show one: branches, a tag, names and texts that are not ASCII."""

import os
import subprocess
import time

AUTHORS = [("Ann Pier", "ann@harbour.example"), ("Jörg Kai", "joerg@harbour.example"), ("灯台 守", "todai@harbour.example")]


def make(directory, name, commits=60):
    """A bare repository `name`.git below the directory; returns its path. Its newest commits are of today, so their age changes."""
    path = directory / f"{name}.git"
    git(None, "init", "--quiet", "--bare", "--initial-branch=main", path)
    lines, first = [], int(time.time()) - commits * 86400
    for number in range(commits):
        lines += commit(number, first + number * 86400 + 3600, commits)
    lines += [f"tag v1.0\nfrom :{commits}\ntagger Ann Pier <ann@harbour.example> {first} +0100\n{data('the first release')}"]
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input="".join(lines).encode(), check=True)
    (path / "description").write_text(f"The {name} of Example Bay\n")
    (path / "git-daemon-export-ok").touch()
    git(path, "config", "gitweb.owner", "Ann Pier")
    git(path, "config", "http.receivepack", "true")
    git(path, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(path, "update-server-info")
    return path


def commit(number, when, commits):
    author, address = AUTHORS[number % len(AUTHORS)]
    branch = "main" if number % 9 or number in (0, commits - 1) else f"jetty-{number}"
    parent = f"from :{number}\n" if number else ""
    page = "\n".join(f"Berth {berth}: boat {(berth * 7 + number) % 40}, paid until day {number + berth}" for berth in range(40))
    return [f"commit refs/heads/{branch}\nmark :{number + 1}\nauthor {author} <{address}> {when} +0100\ncommitter {author} <{address}> {when} +0100\n",
            data(f"berths: day {number}\n\nThe pier was swept, and <b>{author}</b> & crew paid their fees."), parent,
            f"M 100644 inline berths.txt\n{data(page)}", f"M 100644 inline docs/Übersicht-{number % 5}.md\n{data(f'# 港 {number}' + chr(10) + page[:400])}",
            f"M 100644 inline README.md\n{data('# Harbour' + chr(10) + 'Boats, piers and fees. Day ' + str(number))}",
            f"M 100644 inline src/pier.c\n{data('int pier(void) {' + chr(10) + f'    return {number};' + chr(10) + '}' + chr(10))}"]


def data(text):
    return f"data {len(text.encode())}\n{text}\n"


def git(path, *words, **more):
    """Runs git; returns what it prints."""
    place = ["-C", path] if path else []
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(["git", *place, *words], capture_output=True, text=True, timeout=60, env={**environment, **more.pop("env", {})}, **more)
    if done.returncode != 0:
        raise AssertionError(f"git {' '.join(map(str, words))}: {done.stderr}{done.stdout}")
    return done.stdout.strip()


def cloned(url, into):
    """Clones a repository; returns its newest commit."""
    git(None, "clone", "--quiet", url, into)
    return git(into, "rev-parse", "HEAD")


def pushes(url, clone, text):
    """Commits this text in a clone and pushes it; returns the new commit."""
    (clone / "log.txt").write_text(text)
    git(clone, "add", "log.txt")
    git(clone, "-c", "user.name=Ann Pier", "-c", "user.email=ann@harbour.example", "commit", "--quiet", "-m", text)
    git(clone, "push", "--quiet", url, "HEAD:main")
    return git(clone, "rev-parse", "HEAD")
