"""Simulates an author who writes by the forms of mt.cgi, without a browser; and a program that writes by the Data API."""

import html
import json
import re

from visitor import Visitor

ADMINISTRATION = "/mt/mt.cgi"
COMMENTS = "/mt/mt-comments.cgi"
DATA_API = "/mt/mt-data-api.cgi/v3"
# `MT::Entry::RELEASE` and `HOLD`.
PUBLISHED, DRAFT = "2", "1"


class Author(Visitor):
    """An author who is logged in."""

    def __init__(self, site, **more):
        super().__init__(site, **more)
        self._installed = site.installed
        self._blog = str(site.blog)
        self.log_in()

    def log_in(self):
        """Logs in by the form, which leads to the dashboard."""
        answer = self.post(ADMINISTRATION, {"username": self._installed.author, "password": self._installed.password})
        if self.cookie("mt_user") is None:
            raise AssertionError(f"the author could not log in: {answer.status} {said(answer)}")
        self.logged_in = answer
        # The answer to the log-in has a form of its own in version 6 and later.
        self._token = token(answer) or token(self.get(f"{ADMINISTRATION}?__mode=view&_type=entry&blog_id={self._blog}"))

    def elsewhere(self, address):
        """The same author at another address: version 3.35 lets each search once in 20 seconds."""
        same = Visitor(self._site, address=address)
        same._cookies = dict(self._cookies)
        return same

    def publish(self, title, text, tags="", number=None, status=PUBLISHED):
        """Saves an entry by the form; returns its number."""
        answer = self._send("save_entry", title, text, tags, number, status)
        self.page_after = answer.fields.get("location", "")
        return number or self._number_in(answer, f"{title} was not saved")

    def follow(self):
        """Follows the pages that lead on after an entry was saved: version 3.35 publishes its files there."""
        step = self.page_after.removeprefix(self._site.url)
        while "build&" in step:
            leads_on = re.search(r"window\.location='([^']*__mode=rebuild&[^']*)'", self.get(step).text)
            step = leads_on[1] if leads_on else ""

    def preview(self, title, text):
        """Looks at an entry that is not saved."""
        return self._send("preview_entry", title, text, "", None, DRAFT)

    def _send(self, mode, title, text, tags, number, status):
        # The form has the author's number, and with an entry's number the state in which the author saw it.
        form = self.get(f"{ADMINISTRATION}?__mode=view&_type=entry&blog_id={self._blog}" + (f"&id={number}" if number else ""))
        fields = hidden_fields(form.text, "entry_form")
        fields |= {"__mode": mode, "status": status, "title": title, "text": text, "text_more": "", "tags": tags, "convert_breaks": "0",
                   "authored_on_date": "2026-01-02", "authored_on_time": "12:00:00"}
        return self.post(ADMINISTRATION, fields)

    def delete(self, number):
        answer = self.post(ADMINISTRATION, {"__mode": "delete", "_type": "entry", "blog_id": self._blog, "magic_token": self._token, "id": number})
        if answer.status >= 400 or "An error occurred" in answer.text:
            raise AssertionError(f"{number} was not deleted: {answer.status} {said(answer)}")
        self.deleted = answer

    @staticmethod
    def _number_in(answer, otherwise):
        found = re.search(r"[?&;](?:entry_)?id=(\d+)", answer.fields.get("location", ""))
        if found is None:
            raise AssertionError(f"{otherwise}: {answer.status} {answer.fields} {said(answer)}")
        return found[1]


class Commenter(Visitor):
    """A visitor who is logged in to write comments, which version 6 and older know. `session` is what pages must not give to others."""

    def __init__(self, site):
        super().__init__(site)
        form = {"__mode": "do_login", "username": site.installed.author, "password": site.installed.password, "blog_id": site.blog, "static": site.url + "/"}
        answer = self.post(COMMENTS, form)
        self.session = self.cookie("mt_commenter")
        if self.session is None:
            raise AssertionError(f"the commenter could not log in: {answer.status} {said(answer)}")


class ApiProgram(Visitor):
    """A program that writes by the Data API (since version 6), with a token in a field of its own."""

    def __init__(self, site):
        super().__init__(site)
        self._blog = site.blog
        answer = self.post(f"{DATA_API}/authentication", {"username": site.installed.author, "password": site.installed.password, "clientId": "test"})
        self._fields = {"X-MT-Authorization": f"MTAuth accessToken={json.loads(answer.text)['accessToken']}"}

    def publish(self, title, text, tags=()):
        entry = json.dumps({"title": title, "body": text, "status": "Publish", "tags": list(tags)})
        answer = self.post(f"{DATA_API}/sites/{self._blog}/entries", {"entry": entry, "publish": "0"}, **self._fields)
        if answer.status != 200:
            raise AssertionError(f"{title} was not saved: {answer.status} {answer.text[:300]}")
        return json.loads(answer.text)["id"]


def hidden_fields(page, form):
    """The hidden fields of a form, by name."""
    found = re.search(rf'(?s)<form[^>]* name="{form}".*?</form>', page)
    inputs = re.findall(r'<input[^>]*type="hidden"[^>]*>', found[0]) if found else []
    return {name: html.unescape(value) for name, value in (re.search(r'name="([^"]*)".*?value="([^"]*)"', one).groups() for one in inputs if "value=" in one)}


def token(page):
    found = re.search(r'name="magic_token"\s+value="(\w+)"', page.text)
    return found and found[1]


def said(answer):
    """What a page says, without its tags."""
    text = re.sub(r"(?s)<(script|style).*?</\1>", " ", answer.text)
    return re.sub(r"<[^>]+>|\s+", " ", text)[:500]
