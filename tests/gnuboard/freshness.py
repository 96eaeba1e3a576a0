"""Measures how soon a write shows: to its author, and to another visitor whose page was a hit until then.

Each kind of write is a function that makes the write, and returns its author and what pages should then show. Prints a table of seconds.
"""

import itertools
import time

from administrator import Administrator
from guest import Guest
from scenarios import true
from seen import PATIENCE_SECONDS, no_longer, seconds, shows, tell
from site_under_test import GUEST_PASSWORD, LONG_BOARD, MEMBER_PASSWORD, SECRETS_BOARD

# Numbers that make each text unique.
NUMBERS = itertools.count(1)
BOARD, OTHER_BOARD = "free", LONG_BOARD


class Writes:
    """The kinds of writes, a method for each. Each returns the author, and what pages should then show."""

    def __init__(self, site):
        self._site = site
        self._warmed = set()

    def a_guests_post(self):
        text, guest = self._text(), self._guest()
        number = guest.write(BOARD, text, "내용", password=GUEST_PASSWORD)
        return guest, [shows(listed(), text), shows("/", text), shows(post(number), text, is_new=True), shows("/bbs/group.php?gr_id=community", text)]

    def a_members_post(self):
        text, member = self._text(), self._member()
        number = member.write(BOARD, text, "내용")
        return member, [shows(listed(), text), shows("/", text), shows(post(number), text, is_new=True)]

    def an_answer_to_a_post(self):
        text, member = self._text(), self._member()
        number = member.write(BOARD, self._text(), "내용")
        self._warm(listed())
        member.look(f"/bbs/write.php?w=r&bo_table={BOARD}&wr_id={number}")
        member._send_post((), wr_subject=text, wr_content="답변")
        return member, [shows(listed(), text)]

    def a_guests_comment(self):
        text, guest = self._text(), self._guest()
        self._warm(f"/{BOARD}/2", f"{post(2)}&page=1")
        guest.comment(BOARD, 2, text, password=GUEST_PASSWORD)
        return guest, [shows(post(2), text), shows(f"/{BOARD}/2", text), shows(f"{post(2)}&page=1", text)]

    def a_members_comment(self):
        text, member = self._text(), self._member()
        member.comment(BOARD, 3, text)
        return member, [shows(post(3), text)]

    def a_guest_edits(self):
        guest, before, after = self._guest(), self._text(), self._text()
        number = guest.write(BOARD, before, "내용", password=GUEST_PASSWORD)
        self._warm(listed(), post(number), "/")
        guest.edit(BOARD, number, after, "새 내용", password=GUEST_PASSWORD)
        return guest, [shows(listed(), after), no_longer(listed(), before), shows(post(number), after), no_longer("/", before)]

    def a_member_edits(self):
        member, before, after = self._member(), self._text(), self._text()
        number = member.write(BOARD, before, "내용")
        self._warm(listed(), post(number), "/")
        member.edit(BOARD, number, after, "새 내용")
        return member, [shows(listed(), after), shows(post(number), after), shows("/", after)]

    def a_post_becomes_secret(self):
        member, text = self._member(), self._text()
        number = member.write(SECRETS_BOARD, "공개", text)
        self._warm(listed(SECRETS_BOARD), post(number, SECRETS_BOARD), f"/{SECRETS_BOARD}/{number}", f"{post(number, SECRETS_BOARD)}&page=1")
        member.look(f"/bbs/write.php?w=u&bo_table={SECRETS_BOARD}&wr_id={number}")
        member._send_post((), wr_subject="비밀", wr_content=text, secret="secret")
        return None, [no_longer(post(number, SECRETS_BOARD), text), no_longer(f"{post(number, SECRETS_BOARD)}&page=1", text),
                      no_longer(f"/{SECRETS_BOARD}/{number}", text), shows(listed(SECRETS_BOARD), "비밀")]

    def a_guest_deletes(self):
        guest, text = self._guest(), self._text()
        number = guest.write(BOARD, text, text, password=GUEST_PASSWORD)
        self._warm(listed(), post(number), "/", f"/{BOARD}/{number}")
        guest.delete(BOARD, number, password=GUEST_PASSWORD)
        return guest, [no_longer(listed(), text), no_longer(post(number), text), no_longer(f"/{BOARD}/{number}", text), no_longer("/", text)]

    def a_member_deletes_by_a_link(self):
        member, text = self._member(), self._text()
        number = member.write(BOARD, text, text)
        self._warm(listed(), post(number), "/", f"{post(number)}&page=1")
        member.delete(BOARD, number)
        return member, [no_longer(listed(), text), no_longer(post(number), text), no_longer(f"{post(number)}&page=1", text), no_longer("/", text)]

    def a_comment_is_deleted(self):
        guest, text = self._guest(), self._text()
        number = guest.comment(BOARD, 4, text, password=GUEST_PASSWORD)
        self._warm(post(4), f"/{BOARD}/4")
        guest.delete_comment(BOARD, 4, number, password=GUEST_PASSWORD)
        return guest, [no_longer(post(4), text), no_longer(f"/{BOARD}/4", text)]

    def a_comment_is_deleted_where_addresses_have_titles(self):
        self._site.set(cf_bbs_rewrite=2)
        self._later = lambda: self._site.set(cf_bbs_rewrite=0)
        return self.a_comment_is_deleted()

    def several_are_deleted_from_the_list(self):
        guest, administrator, text = self._guest(), self._administrator(), self._text()
        numbers = [guest.write(BOARD, f"{text} {number}", text, password=GUEST_PASSWORD) for number in range(2)]
        self._warm(listed(), *map(post, numbers))
        administrator.delete_posts(BOARD, *numbers)
        return administrator, [no_longer(listed(), text), *(no_longer(post(number), text) for number in numbers)]

    def a_post_is_moved(self):
        guest, administrator, text = self._guest(), self._administrator(), self._text()
        number = guest.write(BOARD, text, text, password=GUEST_PASSWORD)
        self._warm(listed(), listed(OTHER_BOARD), post(number))
        administrator.move(BOARD, number, OTHER_BOARD)
        return administrator, [no_longer(listed(), text), shows(listed(OTHER_BOARD), text), no_longer(post(number), text)]

    def a_vote(self):
        self._site.sql(f"UPDATE g5_board SET bo_use_good = 1 WHERE bo_table = '{BOARD}'")
        self._site.kasoku("purge", "--all")
        member = self._member()
        page = member.read(BOARD, 5)
        self._warm(post(5))
        member.scripted("POST", page.link("/bbs/good.php?"), {"js": "on"})
        return member, [shows(post(5), "추천</span><strong>1</strong>")]

    def a_board_is_for_members(self):
        administrator = self._administrator()
        self._warm(post(8))
        administrator.save(f"/adm/board_form.php?w=u&bo_table={BOARD}", "fboardform", bo_read_level="2")
        self._later = lambda: self._administrator().save(f"/adm/board_form.php?w=u&bo_table={BOARD}", "fboardform", bo_read_level="1")
        return None, [no_longer(post(8), '<article id="bo_v"')]

    def a_menu(self):
        administrator, text = self._administrator(), self._text()
        values = {"code[]": "10", "me_name[]": text, "me_link[]": "/bbs/faq.php", "me_target[]": "self", "me_order[]": "0", "me_use[]": "1",
                  "me_mobile_use[]": "1"}
        administrator.save("/adm/menu_list.php", "fmenulist", **values)
        return administrator, [shows("/", text), shows(post(7), text), shows(listed(), text)]

    def the_sites_title(self):
        administrator, text = self._administrator(), self._text()
        administrator.save("/adm/config_form.php", "fconfigform", action="/adm/config_form_update.php", cf_title=text)
        return administrator, [shows("/", text), shows(listed(), text)]

    def a_notice(self):
        administrator, text = self._administrator(), self._text()
        administrator.save("/adm/newwinform.php", "frmnewwin", nw_subject=text, nw_content=text, nw_begin_time="2020-01-01 00:00:00",
                           nw_end_time="2099-01-01 00:00:00", nw_device="both", nw_division="both", nw_content_html="2")
        return administrator, [shows("/", text)]

    def a_notice_is_deleted(self):
        administrator, text = self._administrator(), self._text()
        administrator.save("/adm/newwinform.php", "frmnewwin", nw_subject=text, nw_content=text, nw_begin_time="2020-01-01 00:00:00",
                           nw_end_time="2099-01-01 00:00:00", nw_device="both", nw_division="both", nw_content_html="2")
        self._warm("/")
        number = self._site.sql(f"SELECT nw_id FROM g5_new_win WHERE nw_subject = '{text}'")[0][0]
        administrator.delete_by("/adm/newwinlist.php", f"newwinformupdate.php?w=d&nw_id={number}")
        return administrator, [no_longer("/", text)]

    def the_name_of_an_item(self):
        administrator = self._administrator()
        item = self._site.content["items"][0]
        self._warm(f"/shop/item.php?it_id={item}")
        name = f"등대 {self._text()}"
        administrator.save(f"/adm/shop_admin/itemform.php?w=u&it_id={item}", "fitemform", it_name=name)
        return administrator, [shows(f"/shop/item.php?it_id={item}", name), shows("/shop/list.php?ca_id=10", name)]

    # -- pieces

    def _text(self):
        return f"글월{next(NUMBERS)}호Q"

    def _guest(self):
        return Guest(self._site, address="127.0.0.31")

    def _member(self):
        member = Guest(self._site, address="127.0.0.32")
        member.log_in("member1", MEMBER_PASSWORD)
        return member

    def _administrator(self):
        return Administrator(self._site, address="127.0.0.33")

    def _warm(self, *paths):
        """Requests these pages until they are hits; else the write would prove nothing."""
        for path in paths:
            # Kasoku may drop the page once more within a second after an earlier write.
            until = time.monotonic() + PATIENCE_SECONDS
            while not (page := stranger(self._site).look(path, typed=True)).answer.is_hit:
                if time.monotonic() > until:
                    raise AssertionError(f"{path} is not kept: {page.answer.decision}")
        self._warmed.update(paths)


def listed(board=BOARD):
    return f"/bbs/board.php?bo_table={board}"


def post(number, board=BOARD):
    return f"{listed(board)}&wr_id={number}"


def stranger(site):
    return Guest(site, address="127.0.0.34")


def is_seen(name):
    """A scenario: this kind of write shows to its author at once, and soon to all other visitors."""

    def scenario(site):
        tell([(name.replace("_", " "), measure(site, Writes(site), name))])

    scenario.__name__ = f"seen: {name}"
    return scenario


def measure(site, writes, name):
    """The seconds until the write shows to all visitors."""
    writes._later = None
    writes._warm("/", listed(), *(post(number) for number in range(1, 8)), "/bbs/group.php?gr_id=community", "/shop/list.php?ca_id=10")
    author, expected = getattr(writes, name)()
    author_looks = author and (lambda path: author.look(path, typed=True).answer)
    cold = [one.path for one in expected if not one.is_new and one.path not in writes._warmed]
    true(not cold, f"no visitor has had these pages before, so they show nothing: {cold}")
    found = seconds(expected, author_looks, lambda path: stranger(site).look(path, typed=True).answer)
    if writes._later:
        writes._later()
    return found


KINDS = [name for name in vars(Writes) if not name.startswith("_")]


def another_spelling_of_a_boards_name_is_not_kept(site):
    """gnuboard removes all characters but letters, digits and underscores from a board's name."""
    for name in ("fr-ee", "free-", "free."):
        for _ in range(2):
            answer = stranger(site).look(post(2, name), typed=True).answer
        true('<article id="bo_v"' in answer.text and not answer.is_hit, f"{name} is the same board, and passes: {answer.decision}")


def a_directory_of_the_administration_has_changed_nothing(site):
    """The server redirects such a URL to the one with the slash, which changes nothing."""
    for _ in range(2):
        answer = stranger(site).look(listed(), typed=True).answer
    true(answer.is_hit, answer.decision)
    stranger(site).ask("GET", "/adm/shop_admin?token=1")
    stranger(site).ask("POST", "/adm/shop_admin?w=d")
    answer = stranger(site).look(listed(), typed=True).answer
    true(answer.is_hit, answer.decision)


SCENARIOS = [*(is_seen(name) for name in KINDS), another_spelling_of_a_boards_name_is_not_kept, a_directory_of_the_administration_has_changed_nothing]
