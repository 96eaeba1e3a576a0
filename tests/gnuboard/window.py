"""Simulates a browser's window: it sends the requests that Chromium sends for a page of gnuboard, and has a browser's cache and cookies.

The requests of each page are taken from an access log of nginx with Chromium in front of it. Most pages request only files. A page with a
captcha, as each post has for guests, starts one by a POST, makes its sound by another, and shows it by a GET. With `with_files` the window
also loads style sheets, scripts and pictures, but not the files that style sheets name. The captcha's digits are read from the session's
file on this machine. """

import gzip
import json
import time
import urllib.parse

from browser_cache import BrowserCache
from page import Page, here
from visitor import Visitor

DESKTOP = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
PHONE = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
HOPS_MAX = 10
REDIRECTS = {301, 302, 303, 307, 308}

# Chromium's fields in addition to User-Agent and Referer, as far as a server could use them.
EACH = {"Accept-Encoding": "gzip", "Accept-Language": "ko-KR,ko;q=0.9,en-US;q=0.8", "Sec-Fetch-Site": "same-origin"}
NAVIGATION = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
              "Upgrade-Insecure-Requests": "1", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
SCRIPTED = {"Accept": "*/*", "X-Requested-With": "XMLHttpRequest", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
IMAGE = {"Accept": "image/avif,image/webp,image/apng,image/*,*/*;q=0.8", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
SOUND = {"Accept": "*/*", "Accept-Encoding": "identity", "Range": "bytes=0-", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "audio"}
FILES = {
    "style": {"Accept": "text/css,*/*;q=0.1", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "style"},
    "script": {"Accept": "*/*", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    "image": IMAGE,
}
FORM = "application/x-www-form-urlencoded"
BOUNDARY = "----WebKitFormBoundaryfQAUT0tS4LwySxlK"


class Refused(AssertionError):
    """gnuboard refuses a form or a link; contains the text of its dialogue."""


class Window(Visitor):
    """One browser. `page` is the page that it shows, which is the Referer of links from there.

    `look` shows any answer, and collects the texts of dialogues in `alerts`. `submit` and `follow` raise Refused at a dialogue.
    """

    def __init__(self, site, address="127.0.0.9", cookies=(), user_agent=DESKTOP, port=None, cache=None, with_files=False):
        super().__init__(site, cookies, user_agent, address, port)
        self.address = address
        self.cache = BrowserCache() if cache is None else cache
        self.page = None
        self.alerts = []
        self._with_files = with_files
        # The cookies that outlive the session.
        self._lasting = set()

    def look(self, path, typed=False, reload=False):
        """Goes to a page by a link, or by its `typed` URL; follows redirects and scripts, and sends the requests of the page."""
        fields = dict(NAVIGATION)
        if typed or self.page is None:
            fields["Sec-Fetch-Site"] = "none"
        else:
            fields["Referer"] = self._url(self.page.path)
        if reload:
            fields["Cache-Control"] = "max-age=0"
        return self._show("GET", path, fields)

    def follow(self, part):
        """Follows the page's first link that contains `part`."""
        link = self.page.link(part)
        if link is None:
            raise AssertionError(f"{self.page.path} has no link to {part}: {self.alerts[-1:] or self.page.text[:500]}")
        return self._not_refused(lambda: self.look(link))

    def submit(self, form, files=(), **values):
        """Sends a form of the page with these values; returns the page that follows. `files` are pairs of a name and bytes."""
        pairs = form.filled(**values)
        fields = {**NAVIGATION, "Referer": self._url(self.page.path), "Origin": self._url(""), "Cache-Control": "max-age=0"}
        if form.is_multipart:
            fields["Content-Type"] = f"multipart/form-data; boundary={BOUNDARY}"
            given = [*files, *[("", b"")] * (len(form.files) - len(files))]
            body = multipart(pairs, zip(form.files, given))
        else:
            fields["Content-Type"] = FORM
            body = urllib.parse.urlencode(pairs)
        return self._not_refused(lambda: self._show("POST", form.path, fields, body))

    def scripted(self, method, path, form=None):
        """Sends a request as a script of the page; returns the answer."""
        fields = {**SCRIPTED, "Referer": self._url(self.page.path)}
        body = None
        if method == "POST":
            fields["Origin"] = self._url("")
            body = ""
        if form is not None:
            fields["Content-Type"] = f"{FORM}; charset=UTF-8"
            body = urllib.parse.urlencode(form)
        answer = self.ask(method, path, fields, body)
        if answer.status != 200:
            raise AssertionError(f"{path}: {answer.status} {answer.text[:300]}")
        return answer

    def solve_captcha(self):
        """The digits of the page's captcha, which its script checks before the form is sent."""
        digits = self._site.captcha(self.session)
        if "1" not in self.scripted("POST", "/plugin/kcaptcha/kcaptcha_result.php", {"captcha_key": digits}).text:
            raise AssertionError(f"the captcha {digits} is not accepted")
        return digits

    def close_browser(self):
        """Closes all windows: the browser drops session cookies, and keeps the others and its cache."""
        self._cookies = {key: value for key, value in self._cookies.items() if key in self._lasting}
        self.page = None
        self.close()

    @property
    def session(self):
        return self.cookie("PHPSESSID")

    def ask(self, method, path, fields=(), body=None):
        """Sends a request as any visitor, but through the browser's cache."""
        fields = {**EACH, **dict(fields)}
        if method != "GET":
            answer = decoded(super().ask(method, path, fields, body))
            self.cache.invalidate(method, path, answer)
            return answer
        request = {name.lower(): value for name, value in fields.items()} | {"cookie": self._sent_to(path), "user-agent": self.user_agent}
        asked = time.time()
        found = self.cache.find(path, request, asked)
        if found.answer is not None:
            return found.answer
        answer = decoded(super().ask(method, path, {**fields, **found.conditions}))
        return self.cache.take(path, request, answer, asked, time.time())

    def _show(self, method, path, fields, body=None):
        """Sends requests until a page is shown: follows redirects, dialogues and scripts."""
        fragment = ""
        for _ in range(HOPS_MAX):
            answer = self.ask(method, path, fields, body)
            if answer.status in REDIRECTS and "location" in answer.fields:
                leads_to = answer.fields["location"]
                fields = {name: value for name, value in fields.items() if name not in ("Content-Type", "Origin")}
            else:
                self.page = Page(path, answer, fragment)
                leads_to = self.page.leads_to
                if self.page.alert:
                    self.alerts.append(self.page.alert)
                if leads_to is None or here(path, leads_to) is None:
                    self._make_the_requests_of_the_page()
                    return self.page
                fields = {**NAVIGATION, "Referer": self._url(path)}
            method, body = "GET", None
            path, fragment = here(path, leads_to), urllib.parse.urlsplit(leads_to).fragment
        raise AssertionError(f"{path}: more than {HOPS_MAX} redirects")

    def _make_the_requests_of_the_page(self):
        referer = {"Referer": self._url(self.page.path)}
        if self._with_files:
            for path, kind in [*self.page.files(), ("/favicon.ico", "image")]:
                self.ask("GET", path, {**FILES[kind], **referer})
        if self.page.has_captcha:
            self.scripted("POST", "/plugin/kcaptcha/kcaptcha_session.php")
            sound = self.scripted("POST", "/plugin/kcaptcha/kcaptcha_mp3.php").text.strip("\ufeff \n")
            if self.page.plays_captcha and sound:
                self.ask("GET", here("/", f"{sound}?t={milliseconds()}"), {**SOUND, **referer})
            self.ask("GET", f"/plugin/kcaptcha/kcaptcha_image.php?t={milliseconds()}", {**IMAGE, **referer})

    def _not_refused(self, act):
        before = len(self.alerts)
        page = act()
        if len(self.alerts) > before:
            raise Refused(self.alerts[-1])
        return page

    def _url(self, path):
        return f"{self._site.url}{path}"

    def _take(self, line):
        super()._take(line)
        pair, *attributes = line.split(";")
        stated = {name.strip().lower(): value for name, _, value in (attribute.partition("=") for attribute in attributes)}
        key = (pair.partition("=")[0].strip(), stated.get("path", "/"))
        (self._lasting.add if {"expires", "max-age"} & stated.keys() else self._lasting.discard)(key)


def decoded(answer):
    if answer.fields.get("content-encoding") == "gzip" and answer.bytes:
        answer.bytes = gzip.decompress(answer.bytes)
        answer.text = answer.bytes.decode("utf-8", "replace")
    return answer


def json_of(answer):
    return json.loads(answer.text.lstrip("\ufeff"))


def milliseconds():
    """The time that scripts add to a URL so that no cache answers."""
    return int(time.time() * 1000)


def multipart(pairs, files):
    parts = [f'form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in pairs]
    for name, (source, content) in files:
        parts.append(f'form-data; name="{name}"; filename="{source}"\r\nContent-Type: application/octet-stream\r\n\r\n'.encode() + content)
    start = f"--{BOUNDARY}\r\nContent-Disposition: ".encode()
    return b"".join(start + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()
