"""Simulates an editor without a browser, with the requests of WordPress's administration and its block editor."""

import html
import json
import re

from site_under_test import PASSWORD, USER
from visitor import Visitor


class Editor(Visitor):
    """An editor who is logged in from the beginning."""

    def __init__(self, site):
        super().__init__(site)
        self.get("/wp-login.php")
        self.post("/wp-login.php", {"log": USER, "pwd": PASSWORD, "wp-submit": "Log In", "testcookie": "1"})
        self._nonce = self.get("/wp-admin/admin-ajax.php?action=rest-nonce").text
        if not re.fullmatch(r"\w{10}", self._nonce):
            raise AssertionError(f"the editor could not log in: {self._nonce[:300]}")

    def rest(self, path, method="POST", **values):
        """Sends a request as the block editor does, with POST and a field that names the method; returns the parsed answer."""
        fields = {"Content-Type": "application/json", "X-WP-Nonce": self._nonce, "X-HTTP-Method-Override": method}
        answer = self.ask("POST", f"/wp-json/wp/v2/{path}", fields, json.dumps(values))
        if answer.status not in (200, 201):
            raise AssertionError(f"{method} {path}: {answer.status} {answer.text[:300]}")
        return json.loads(answer.text)

    def publish(self, title, text, kind="posts", **values):
        """Publishes a post; returns its number and path."""
        made = self.rest(kind, title=title, content=text, status="publish", **values)
        return made["id"], made["link"].removeprefix(self._site.url)

    def quick_edit(self, number, name, title):
        """Edits a post by "Quick Edit" in the list of posts."""
        nonce = self._field("/wp-admin/edit.php", "_inline_edit")
        self._by_script("inline-save", post_type="post", post_ID=number, _inline_edit=nonce, post_title=title, post_name=name, mm="11", jj="01", aa="2025",
                        hh="01", mn="01", ss="01", _status="publish", comment_status="open", post_view="list", screen="edit-post")

    def make_private_in_bulk(self, number):
        nonce = self._field("/wp-admin/edit.php", "_wpnonce")
        query = f"post_type=post&_wpnonce={nonce}&action=edit&action2=-1&bulk_edit=Update&post%5B%5D={number}&_status=private&post_author=-1"
        self._redirected(self.get(f"/wp-admin/edit.php?{query}"))

    def trash(self, number):
        self._link("/wp-admin/edit.php", rf"post\.php\?post={number}&amp;action=trash")

    def restore(self, number):
        self._link("/wp-admin/edit.php?post_status=trash&post_type=post", rf"post\.php\?post={number}&amp;action=untrash")

    def approve_by_script(self, comment):
        nonce = self._nonce_of_link(rf"comment\.php\?c={comment}&#038;action=approvecomment&")
        self._by_script("dim-comment", id=comment, dimClass="unapproved", _ajax_nonce=nonce, new="approved")

    def approve_by_link(self, comment):
        self._link("/wp-admin/edit-comments.php", rf"comment\.php\?c={comment}&#038;action=approvecomment&")

    def trash_comment(self, comment):
        self._link("/wp-admin/edit-comments.php", rf"comment\.php\?c={comment}&#038;action=trashcomment&")

    def reply(self, post, comment, words):
        nonce = self._field("/wp-admin/edit-comments.php", "_ajax_nonce-replyto-comment")
        self._by_script("replyto-comment", **{"_ajax_nonce-replyto-comment": nonce}, comment_post_ID=post, comment_ID=comment, content=words, mode="detail")

    def rename_category(self, number, name, slug):
        nonce = self._field("/wp-admin/edit-tags.php?taxonomy=category", "_inline_edit")
        self._by_script("inline-save-tax", tax_ID=number, taxonomy="category", name=name, slug=slug, _inline_edit=nonce, tax_type="tag")

    def name_the_site(self, name):
        where = "/wp-admin/options-general.php"
        url = self._site.url
        form = {"option_page": "general", "action": "update", "_wpnonce": self._field(where, "_wpnonce"), "_wp_http_referer": where, "blogname": name,
                "blogdescription": "", "siteurl": url, "home": url, "new_admin_email": "editor@example.org", "date_format": "F j, Y", "time_format": "g:i a",
                "start_of_week": "1", "timezone_string": "UTC", "default_role": "subscriber"}
        self._redirected(self.post("/wp-admin/options.php", form))

    def heartbeat(self):
        """Sends the request that each open window of the administration repeats."""
        found = re.search(r'heartbeatSettings = \{"nonce":"(\w+)"\}', self.get("/wp-admin/edit.php").text)
        self._by_script("heartbeat", _nonce=found[1], interval="60", screen_id="edit-post", has_focus="true")

    # -- pieces

    def _by_script(self, action, **values):
        answer = self.post("/wp-admin/admin-ajax.php", {"action": action, **values}, **{"X-Requested-With": "XMLHttpRequest"})
        if answer.status != 200 or answer.text in ("-1", "0"):
            raise AssertionError(f"{action}: {answer.status} {answer.text[:300]}")

    def _link(self, where, part):
        self._redirected(self.get(self._href(where, part)))

    def _href(self, where, part):
        page = self.get(where).text
        found = re.search(rf"(?:href|data-url|value)=['\"]([^'\"]*{part}[^'\"]*)['\"]", page)
        if found is None:
            raise AssertionError(f"{where} has no link {part}: {re.findall('href=.([^ ]*action=[^ ]*)', page)[:20]}")
        link = html.unescape(found[1]).removeprefix(self._site.url)
        return link if link.startswith("/") else f"/wp-admin/{link}"

    def _nonce_of_link(self, part):
        return re.search(r"_wpnonce=(\w+)", self._href("/wp-admin/edit-comments.php", part))[1]

    def _field(self, where, name):
        page = self.get(where).text
        found = re.search(rf"name=['\"]{re.escape(name)}['\"] value=['\"](\w+)['\"]", page)
        if found is None:
            raise AssertionError(f"{where} has no field {name}: {page[:200]}")
        return found[1]

    @staticmethod
    def _redirected(answer):
        where = answer.fields.get("location", "")
        if answer.status != 302 or "wp-login.php" in where:
            raise AssertionError(f"it was not done: {answer.status} {where} {answer.text[:300]}")
