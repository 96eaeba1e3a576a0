"""Simulates a visitor of gnuboard who reads, writes, comments, logs in and out, votes, downloads and shops, with a browser's requests.

Each guest has its own address (127.0.0.0/8), cookie jar and browser cache. A guest who logs in is a member until the log-out. A refusal by
a dialogue raises Refused with its text. gnuboard makes a visitor wait 30 seconds between two posts; `site.set(cf_delay_sec=-1)` ends that.
"""

import re
from types import SimpleNamespace

from page import Page
from window import NAVIGATION, PHONE, Refused, Window, json_of, milliseconds

__all__ = ["PHONE", "Guest", "Refused"]


class Guest(Window):
    # -- boards

    def read(self, board, number):
        return self.look(f"/bbs/board.php?bo_table={board}&wr_id={number}")

    def write(self, board, subject, content, name="손님", password="", is_secret=False, files=()):
        """Writes a post; returns its number. `files` are pairs of a name and bytes."""
        self.look(f"/bbs/write.php?bo_table={board}")
        return self._send_post(files, wr_subject=subject, wr_content=content, **self._signature(name, password), **secret(is_secret, "secret"))

    def edit(self, board, number, subject, content, password=""):
        """Replaces a post, a guest's by its password, a member's without one; returns its number."""
        if password:
            self._give_password("u", board, number, password)
        else:
            self.look(f"/bbs/write.php?w=u&bo_table={board}&wr_id={number}")
        return self._send_post((), wr_subject=subject, wr_content=content)

    def delete(self, board, number, password=""):
        """Deletes a post; returns the list that follows."""
        if password:
            return self._give_password("d", board, number, password)
        self.read(board, number)
        return self.follow("/bbs/delete.php?")

    def comment(self, board, number, content, name="손님", password="", is_secret=False):
        """Comments on a post; returns the number of the comment."""
        form = self.read(board, number).form("fviewcomment")
        fields = {"wr_content": content, **self._signature(name, password), **secret(is_secret, "wr_secret")}
        self.scripted("POST", "/bbs/ajax.filter.php", {"subject": "", "content": content})
        if self.page.has_captcha:
            fields["captcha_key"] = self.solve_captcha()
        fields["token"] = json_of(self.scripted("GET", f"/bbs/ajax.comment_token.php?_={milliseconds()}"))["token"]
        page = self.submit(form, **fields)
        return number_in(r"c_(\d+)", page.fragment, page)

    def delete_comment(self, board, number, comment, password=""):
        """Deletes a comment on a post; returns the post."""
        if password:
            form = self.look(f"/bbs/password.php?w=x&bo_table={board}&comment_id={comment}").form("fboardpassword")
            return self.submit(form, wr_password=password)
        self.read(board, number)
        return self.follow(f"/bbs/delete_comment.php?bo_table={board}&comment_id={comment}&")

    def open_secret(self, board, number, password):
        """Reads a secret post by its password, which the session then remembers."""
        return self.submit(self.read(board, number).form("fboardpassword"), wr_password=password)

    def download(self, board, number, place=0):
        """Reads a post and fetches one of its attachments."""
        page = self.read(board, number)
        link = page.link(f"/bbs/download.php?bo_table={board}&wr_id={number}&no={place}&")
        if link is None:
            raise AssertionError(f"{page.path} has no attachment {place}: {page.text[:500]}")
        answer = self.ask("GET", link, {**NAVIGATION, "Referer": self._url(page.path)})
        if words := Page(link, answer).alert:
            raise Refused(words)
        return answer

    def vote(self, choice=1):
        """Votes in the poll of the front page; returns the result, which a browser shows in a second window."""
        return self.submit(self.look("/").form("fpoll"), gb_poll=str(choice))

    # -- members

    def log_in(self, member, password, stays=False):
        """Logs in; returns the page that follows. With `stays`, gnuboard logs the browser in again when its session is gone."""
        form = self.look("/bbs/login.php").form("flogin")
        page = self.submit(form, mb_id=member, mb_password=password, **({"auto_login": "on"} if stays else {}))
        if "/bbs/logout.php" not in page.text:
            raise AssertionError(f"{member} is not logged in: {page.answer.decision} {page.text[:500]}")
        return page

    def log_out(self):
        return self.look("/bbs/logout.php")

    # -- the shop

    def put_into_cart(self, item, option="", quantity=1):
        """Puts an item into the cart by the form of its page; returns the cart."""
        page = self.look(f"/shop/item.php?it_id={item}")
        form = page.form("fitem")
        # The page's script adds these fields when an option is chosen, or at once for an item without options.
        form.fields = [(name, value) for name, value in form.fields if not name.startswith(("io_", "ct_qty"))]
        label = re.search(r'<label for="it_option_1"[^>]*>([^<]*)<', page.text)
        name = re.search(r'id="sit_title">([^<]*?) *<', page.text)[1]
        chosen = {"io_type": "0", "io_id": option, "io_value": f"{label[1]}:{option}" if option else name, "ct_qty": str(quantity)}
        return self.submit(form, sw_direct="0", **{f"{field}[{item}][]": value for field, value in chosen.items()})

    def put_into_cart_from_list(self, category, item):
        """Puts an item into the cart by the button in a list, with three requests of a script; returns the piece of HTML with the cart."""
        self.look(f"/shop/list.php?ca_id={category}")
        offered = json_of(self.scripted("POST", "/shop/ajax.action.php", {"action": "get_item_option", "it_id": item}))
        piece = SimpleNamespace(text=offered["html"], status=200, fields={})
        form = Page(self.page.path, piece).form("fcart")
        said = json_of(self.scripted("POST", "/shop/ajax.action.php", form.filled(**{f"io_value[{item}][]": dict(form.fields)["it_name[]"]})))
        if said["error"]:
            raise Refused(said["error"])
        return self.scripted("GET", f"/shop/ajax.action.php?action=refresh_cart&_={milliseconds()}")

    def cart(self):
        return self.look("/shop/cart.php")

    # -- pieces

    def _send_post(self, files, **fields):
        form = self.page.form("fwrite")
        token = json_of(self.scripted("POST", "/bbs/write_token.php", {"bo_table": dict(form.fields)["bo_table"]}))["token"]
        self.scripted("POST", "/bbs/ajax.filter.php", {"subject": fields["wr_subject"], "content": fields["wr_content"]})
        if self.page.has_captcha:
            fields["captcha_key"] = self.solve_captcha()
        page = self.submit(form, files, token=token, **fields)
        return number_in(r"[?&]wr_id=(\d+)|/\w+/(\d+)$", page.path, page)

    def _give_password(self, what, board, number, password):
        form = self.look(f"/bbs/password.php?w={what}&bo_table={board}&wr_id={number}").form("fboardpassword")
        return self.submit(form, wr_password=password)

    def _signature(self, name, password):
        """The fields of a guest's name and password. A member's form has no captcha, and the name comes from the session."""
        return {"wr_name": name, "wr_password": password} if self.page.has_captcha else {}


def secret(is_secret, field):
    return {field: "secret"} if is_secret else {}


def number_in(pattern, text, page):
    found = re.search(pattern, text)
    if found is None:
        raise AssertionError(f"{page.path}#{page.fragment} has no number: {page.text[:500]!r}")
    return int(next(filter(None, found.groups())))
