"""Reads a page of gnuboard as a browser with JavaScript: its forms, links and files, redirects by scripts, and captchas."""

import json
import re
import urllib.parse
from dataclasses import dataclass, field
from html.parser import HTMLParser

# bbs/alert.php shows a dialogue, and then redirects or goes back; a confirmation is accepted. goto_url() redirects by a script after the
# head of the answer has been sent.
ALERT = re.compile(r'<script>\s*alert\((".*?(?<!\\)")\);\s*(?:document\.location\.replace\((".*?(?<!\\)")\))?', re.S)
CONFIRM = re.compile(r'<script>\s*var conf = (".*?(?<!\\)");\s*if \(confirm\(conf\)\) \{\s*document\.location\.replace\((".*?(?<!\\)")\)', re.S)
GOTO = re.compile(r'<script>location\.replace\((".*?(?<!\\)")\);</script>')
# The page after an automatic log-in (common.php) reloads itself.
RELOAD = re.compile(r"^\s*<script type='text/javascript'> window\.location\.reload\(\); </script>\s*$")


@dataclass
class Form:
    """A form of the page, with the fields that a browser would send."""

    name: str
    path: str
    is_multipart: bool
    fields: list = field(default_factory=list)
    # The names of its file fields, in order.
    files: list = field(default_factory=list)

    def filled(self, **values):
        """The form's fields with these values; values for missing fields come first, as scripts add them."""
        known = {name for name, _ in self.fields}
        more = [(name, value) for name, value in values.items() if name not in known]
        return more + [(name, values.get(name, value)) for name, value in self.fields]


class Page:
    """An answer, as a browser shows it at `path`, the path and query of its URL."""

    def __init__(self, path, answer, fragment=""):
        self.path, self.fragment = path, fragment
        self.answer = answer
        self.text, self.status = answer.text, answer.status
        self.alert = self.leads_to = None
        self._read = None
        if answer.fields.get("content-type", "").startswith("text/html"):
            self._follow_scripts()

    @property
    def has_captcha(self):
        """Whether the page's script requests a captcha as soon as the page is loaded."""
        return "/plugin/kcaptcha/kcaptcha.js" in self.text

    @property
    def plays_captcha(self):
        """Whether the page has an element that loads the captcha's sound, as on telephones."""
        return 'id="captcha_audio"' in self.text

    def form(self, name):
        for found in self._parsed().forms:
            if found.name == name:
                return found
        raise AssertionError(f"{self.path} has no form {name}: {self.alert or self.text[:500]!r}")

    def link(self, part):
        """The first link that contains `part`, as path and query; or None."""
        return next(iter(self.links(part)), None)

    def links(self, part=""):
        return [link for link in self._parsed().links if part in link]

    def files(self):
        """The page's style sheets, scripts and pictures, in order, each with its kind."""
        return list(dict.fromkeys(self._parsed().files))

    def _parsed(self):
        if self._read is None:
            self._read = Reader(self.path)
            self._read.feed(self.text)
        return self._read

    def _follow_scripts(self):
        if found := ALERT.search(self.text) or CONFIRM.search(self.text):
            self.alert = json.loads(found[1])
            self.leads_to = json.loads(found[2]) if found[2] else None
        elif found := GOTO.search(self.text):
            self.leads_to = json.loads(found[1])
        elif RELOAD.match(self.text):
            self.leads_to = self.path


class Reader(HTMLParser):
    """Collects forms, links and files. Conditional comments are comments, as for current browsers."""

    def __init__(self, path):
        super().__init__()
        self.forms, self.links, self.files = [], [], []
        self._path = path
        self._area = self._select = None

    def handle_starttag(self, tag, attributes):
        has = dict(attributes)
        if tag == "a" and has.get("href"):
            self._name(self.links, has["href"])
        elif tag == "link" and has.get("rel") == "stylesheet":
            self._name(self.files, has["href"], "style")
        elif tag == "script" and has.get("src"):
            self._name(self.files, has["src"], "script")
        elif tag == "img" and has.get("src"):
            self._name(self.files, has["src"], "image")
        elif tag == "form":
            action = here(self._path, has.get("action") or self._path)
            self.forms.append(Form(has.get("name", ""), action, has.get("enctype") == "multipart/form-data"))
        elif self.forms:
            self._field(tag, has)

    def handle_data(self, data):
        if self._area is not None:
            self.forms[-1].fields[self._area] = (self.forms[-1].fields[self._area][0], data.removeprefix("\n"))

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._area = None
        elif tag == "select":
            self._select = None

    def _field(self, tag, has):
        form = self.forms[-1]
        kind = has.get("type", "text")
        if tag == "option" and self._select and (self._select not in dict(form.fields) or "selected" in has):
            form.fields = [pair for pair in form.fields if pair[0] != self._select] + [(self._select, has.get("value", ""))]
        elif tag == "select":
            self._select = has.get("name")
        elif tag == "textarea" and has.get("name"):
            self._area = len(form.fields)
            form.fields.append((has["name"], ""))
        elif tag == "input" and has.get("name"):
            if kind == "file":
                form.files.append(has["name"])
            elif kind not in ("submit", "button", "image", "checkbox", "radio") or "checked" in has:
                form.fields.append((has["name"], has.get("value") or ""))

    def _name(self, found, url, *kind):
        if (path := here(self._path, url)) is not None:
            found.append((path, *kind) if kind else path)


def here(path, url):
    """A URL of the page at `path`, as path and query; None if it leads to another site, or to no page."""
    parts = urllib.parse.urlsplit(url.strip())
    if parts.scheme not in ("", "http", "https") or (parts.netloc and not parts.netloc.startswith("127.0.0.1")):
        return None
    relative = urllib.parse.urlunsplit(("", "", parts.path or ("/" if parts.netloc else ""), parts.query, ""))
    joined = urllib.parse.urlsplit(urllib.parse.urljoin(path, relative))
    path = urllib.parse.quote(joined.path or "/", safe="/%:@!$&'()*+,;=~-._")
    return path + (f"?{urllib.parse.quote(joined.query, safe='/?%:@!$&()*+,;=~-._[]|')}" if joined.query else "")
