"""Simulates a visitor who writes in the wiki without a browser, with the requests of MediaWiki's forms and of its interface for
programs."""

import html
import json
import re

from site_under_test import ADMIN, PASSWORD
from visitor import Visitor
from wiki import address


class Writer(Visitor):
    """A visitor who is logged in as the administrator, unless `has_account` is false."""

    def __init__(self, site, has_account=True):
        super().__init__(site)
        if has_account:
            self.log_in()

    def log_in(self):
        form = self.get(address("Special:UserLogin")).text
        fields = {"wpName": ADMIN, "wpPassword": PASSWORD, "wploginattempt": "Log in", "wpEditToken": "+\\", "title": "Special:UserLogin",
                  "authAction": "login", "force": "", "wpLoginToken": field(form, "wpLoginToken")}
        self.logged_in = self.post(address("Special:UserLogin"), fields)
        if self.cookie("mediawikiUserID") is None:
            raise AssertionError(f"the writer could not log in: {self.logged_in.status} {self.logged_in.text[:300]}")

    def edit(self, title, text, button="wpSave"):
        """Edits a page by the form; returns the answer."""
        form = self.get(address(title, "&action=edit")).text
        names = ["wpEditToken", "wpStarttime", "wpEdittime", "editRevId", "parentRevId", "wpUnicodeCheck", "model", "format"]
        fields = {name: field(form, name) for name in names}
        fields |= {"oldid": "0", "wpUltimateParam": "1", "wpSummary": "", "wpTextbox1": text, button: "Go"}
        answer = self.post(address(title, "&action=submit"), {name: value for name, value in fields.items() if value is not None})
        return self._done(answer, 302 if button == "wpSave" else 200)

    def move(self, title, to):
        return self._send(address("Special:MovePage", "&action=submit"), 200, wpNewTitleNs="0", wpNewTitleMain=to, wpReason="", wpOldTitle=title, wpMove="Move")

    def delete(self, title):
        return self._send(address(title, "&action=delete"), 200, wpReason="", wpDeleteReasonList="other", wpConfirmB="Delete")

    def undelete(self, title):
        return self._send(address("Special:Undelete", "&action=submit"), 200, target=title, wpComment="", restore="Restore")

    def protect(self, title):
        return self._send(address(title, "&action=protect"), 302, **{
            "mwProtect-level-edit": "sysop", "mwProtect-level-move": "sysop", "wpProtectExpirySelection-edit": "infinite",
            "wpProtectExpirySelection-move": "infinite", "wpProtectReasonSelection": "other", "mwProtect-reason": ""})

    def by_program(self, action, **values):
        """Writes by api.php, as visual editors, telephones and robots do; returns the parsed answer."""
        answer = self._done(self.post("/api.php", {"action": action, "format": "json", "token": self.token(), **values}), 200)
        said = json.loads(answer.text)
        if "error" in said:
            raise AssertionError(f"{action}: {said['error']}")
        return said

    def token(self):
        return json.loads(self.get("/api.php?action=query&meta=tokens&format=json").text)["query"]["tokens"]["csrftoken"]

    def _send(self, where, status, **fields):
        token = field(self.get(where).text, "wpEditToken") or self.token()
        return self._done(self.post(where, {"wpEditToken": token, **fields}), status)

    @staticmethod
    def _done(answer, status):
        if answer.status != status:
            words = re.sub(r"<[^>]+>|\s+", " ", answer.text)
            raise AssertionError(f"it was not done: {answer.status} {answer.fields.get('location')} {words[:600]}")
        return answer


def field(page, name):
    """The value of a form's field; None if there is no such field."""
    for tag in re.findall(r"<input[^>]*>", page):
        if re.search(rf"name=['\"]{name}['\"]", tag):
            value = re.search(r"value=['\"]([^'\"]*)['\"]", tag)
            return html.unescape(value[1]) if value else ""
    return None
