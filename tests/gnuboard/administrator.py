"""Simulates the site's administrator, who uses the pages under /adm: settings, menus, notices, the shop.

On these pages a script fetches a token when a form is sent or an entry is deleted; `save` and `delete_by` do the same.
"""

import re

from guest import Guest, Refused
from site_under_test import ADMIN, ADMIN_PASSWORD
from window import json_of


class Administrator(Guest):
    def __init__(self, site, **more):
        super().__init__(site, **more)
        self.log_in(ADMIN, ADMIN_PASSWORD)

    def save(self, path, form, action=None, **values):
        """Sends a form of an administration page with these values; returns the next page. `action` is the URL to which the page's script
        sends it."""
        form = self.look(path).form(form)
        form.path = action or form.path
        return self.submit(form, token=self._token(), **values)

    def delete_by(self, path, part):
        """Follows the page's first link that contains `part`, which deletes an entry."""
        link = self.look(path).link(part)
        return self.look(f"{link}&token={self._token()}")

    def delete_posts(self, board, *numbers):
        """Deletes posts by their checkboxes in the list; returns the next list."""
        return self.submit(self._list_with(board, numbers), btn_submit="선택삭제")

    def move(self, board, number, to):
        """Moves a post to another board, in a window that then closes."""
        form = self._list_with(board, [number])
        form.path = "/bbs/move.php"
        form = self.submit(form, btn_submit="선택이동", sw="move").form("fboardmoveall")
        form.fields.append(("chk_bo_table[]", to))
        # The answer is a dialogue that reports success.
        try:
            self.submit(form)
        except Refused as said:
            if "이동 하였습니다" not in str(said):
                raise

    def _list_with(self, board, numbers):
        """The form of the board's list, with these posts checked."""
        form = self.look(f"/bbs/board.php?bo_table={board}").form("fboardlist")
        form.fields += [("chk_wr_id[]", str(number)) for number in numbers]
        return form

    def _token(self):
        key = re.search(r'g5_admin_csrf_token_key = "(\w*)"', self.page.text)
        return json_of(self.scripted("POST", "/adm/ajax.token.php", {"admin_csrf_token_key": key[1]}))["token"]

