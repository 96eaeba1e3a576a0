"""The site's administrator, who also does what the pages under /adm do: settings, menus, notices, the shop.

A script of each of these pages fetches a token as soon as a form is sent or something is deleted, which is what `save` and `delete_by` do.
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
        """Sends a form of a page of the administration with these values; the page that follows. `action` is where its script sends it."""
        form = self.look(path).form(form)
        form.path = action or form.path
        return self.submit(form, token=self._token(), **values)

    def delete_by(self, path, part):
        """Follows the first link of a page that has this in it, which deletes something."""
        link = self.look(path).link(part)
        return self.look(f"{link}&token={self._token()}")

    def delete_posts(self, board, *numbers):
        """By their checkboxes in the list; the list that follows."""
        return self.submit(self._list_with(board, numbers), btn_submit="선택삭제")

    def move(self, board, number, to):
        """Moves a post to another board, in a window that then closes."""
        form = self._list_with(board, [number])
        form.path = "/bbs/move.php"
        form = self.submit(form, btn_submit="선택이동", sw="move").form("fboardmoveall")
        form.fields.append(("chk_bo_table[]", to))
        # The answer is a dialogue that tells of success.
        try:
            self.submit(form)
        except Refused as said:
            if "이동 하였습니다" not in str(said):
                raise

    def _list_with(self, board, numbers):
        """The form of the list with these posts checked."""
        form = self.look(f"/bbs/board.php?bo_table={board}").form("fboardlist")
        form.fields += [("chk_wr_id[]", str(number)) for number in numbers]
        return form

    def _token(self):
        key = re.search(r'g5_admin_csrf_token_key = "(\w*)"', self.page.text)
        return json_of(self.scripted("POST", "/adm/ajax.token.php", {"admin_csrf_token_key": key[1]}))["token"]

