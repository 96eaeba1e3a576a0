"""Simulates visitors of Rhymix who read, write and log in, with the requests of Rhymix' own scripts: the token of the page that was shown last
goes with each of them."""

import json
import re

from cached_visitor import CachedVisitor
from install import MEMBER_PASSWORD

TOKEN = re.compile(r'<meta name="csrf-token" content="(\w*)"')
# What only pages of members have, the log-out or a script. The names of members stand below their posts as well.
MEMBERS_MARK = re.compile(r"dispMemberLogout|/ncenterlite\.js")
COMMENT = re.compile(r'id="comment_(\d+)"')
GUEST_PASSWORD = "seagull"
DESKTOP = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
PHONE = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36"


class Person(CachedVisitor):
    """A visitor, a guest until `log_in`, with a browser's cache."""

    def __init__(self, site, **more):
        super().__init__(site, **{"user_agent": DESKTOP, **more})
        self.token = ""
        self.is_member = False

    def came(self, method, path, answer):
        if found := TOKEN.search(answer.text):
            self.token = found[1]

    def log_in(self, name):
        self.look("/board")
        form = {"act": "procMemberLogin", "module": "member", "user_id": name, "password": MEMBER_PASSWORD, "success_return_url": "/board"}
        answer = self.post("/index.php", form | self._token(), **self._origin())
        # With a session Rhymix redirects by a page.
        if answer.status != 302 and 'http-equiv="refresh"' not in answer.text:
            raise AssertionError(f"{name} could not log in: {answer.status} {answer.text[:300]}")
        self.is_member = True

    def log_out(self):
        self.get("/index.php?act=dispMemberLogout")
        self.is_member = False

    def write(self, board, title, text="<p>Text.</p>", post=None, is_secret=False):
        """Writes a post, or writes one anew; returns its number."""
        self.look(f"/{board}")
        more = {"document_srl": str(post)} if post else {}
        return self._act(board, "procBoardInsertDocument", title=title, content=text, comment_status="ALLOW", status="SECRET" if is_secret else "PUBLIC",
                         use_html="Y", **more, **self._signature())["document_srl"]

    def comment(self, board, post, text):
        """Comments on a post; returns the number of the comment."""
        self.look(f"/{board}/{post}")
        return self._act(board, "procBoardInsertComment", document_srl=post, content=f"<p>{text}</p>", use_html="Y", **self._signature())["comment_srl"]

    def delete(self, board, post):
        self.look(f"/{board}/{post}")
        self.give_password(board, document_srl=post)
        self._act(board, "procBoardDeleteDocument", document_srl=post)

    def delete_comment(self, board, post, comment):
        self.look(f"/{board}/{post}")
        self.give_password(board, comment_srl=comment)
        self._act(board, "procBoardDeleteComment", document_srl=post, comment_srl=comment)

    def give_password(self, board, **what):
        """Gives the password of a guest's post or comment, which the session then remembers."""
        if not self.is_member:
            self._act(board, "procBoardVerificationPassword", password=GUEST_PASSWORD, **what)

    def _act(self, board, act, **fields):
        form = {"act": act, "module": "board", "mid": board, "_rx_ajax_compat": "JSON", **{name: str(value) for name, value in fields.items()}}
        fields = {"Accept": "application/json", "X-Requested-With": "XMLHttpRequest", "X-CSRF-Token": self.token, **self._origin()}
        answer = self.post("/index.php", form, **fields)
        said = json.loads(answer.text) if answer.text.startswith("{") else {"error": answer.text[:300]}
        if answer.status != 200 or said["error"] != 0:
            raise AssertionError(f"{act}: {answer.status} {said}")
        return said

    def _signature(self):
        return {} if self.is_member else {"nick_name": "Gull", "password": GUEST_PASSWORD}

    def _token(self):
        return {"_rx_csrf_token": self.token} if self.token else {}

    def _origin(self):
        return {"Origin": self._site.url}
