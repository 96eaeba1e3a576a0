"""Runs the configuration of docs/applications.md as it is printed there, with the directories of this installation."""

import re
from pathlib import Path

from scenarios import equal, holds, true
from searches import is_shared
from servers import ROOT, WEB_USER
from visitor import Visitor

PAGE = ROOT / "docs" / "applications.md"
# The kinds of files that have rules there.
KINDS = ("html", "css", "js", "xml", "jpg", "png")


def configuration(site):
    """The lines, without the one for the user, whom the test sets for all configurations."""
    lines = PAGE.read_text().partition("\n## Movable Type")[2].partition("```toml\n")[2].partition("```")[0]
    holds(lines, f'user = "{WEB_USER}"', "the documented configuration")
    for documented, own in (("/srv/mt", site.installed.programs), ("/var/www/blog", site.root), ("blog.example", "127.0.0.1")):
        holds(lines, documented, "the documented configuration")
        lines = lines.replace(documented, str(own))
    return re.sub(r'(?m)^user .*\n', "", lines)


def the_documented_configuration_serves_files_searches_and_programs(site, **_):
    site.serve(configuration(site))
    for name in ("pier.jpg", "pier.png"):
        (site.root / name).write_bytes(b"\xff\xd8 a picture")
    served = ["/", "/mt-static/mt.js"] + ["/" + str(found.relative_to(site.root)) for kind in KINDS if (found := first(site.root, kind))]
    true(len(served) >= 6, f"files of most kinds: {served}")
    for path in served:
        answer = Visitor(site).get(path)
        print(f"        {path}: {answer.status} {answer.fields.get('content-type')} {len(answer.bytes)} bytes", flush=True)
        file = site.installed.programs / path[1:] if path.startswith("/mt-static") else site.root / (path[1:] or "index.html")
        equal((answer.status, answer.bytes == file.read_bytes()), (200, True), path)
    is_shared(site, site.search("evening"))
    for path in ("/mt/mt.cgi", "/mt/mt-comments.cgi" if site.installed.has_commenters else "/mt/mt.cgi?__mode=start_recover"):
        for _ in range(2):
            answer = Visitor(site).get(path)
            equal((answer.status, "detail=pass-rule" in answer.decision), (200, True), f"{path} ({answer.decision})")
    refused = Visitor(site).get("/mt/mt-config.cgi")
    equal((refused.status, "Database" in refused.text), (403, False), f"/mt/mt-config.cgi ({refused.decision})")


def first(root, kind):
    """A file of this kind that Movable Type has published, or None."""
    return min((path for path in Path(root).rglob(f"*.{kind}")), default=None)


SCENARIOS = [the_documented_configuration_serves_files_searches_and_programs]
