"""Requests by which a stranger may try to look like a member or an administrator of gnuboard5."""

import strangers
from strangers import Pretence

PAGES = ["/", "/bbs/board.php?bo_table=free", "/bbs/board.php?bo_table=free&wr_id=2", "/shop/"]
FORGED = {"PHPSESSID": "0123456789abcdef0123456789", "ck_mb_id": "YWRtaW4="}
POST = {"bo_table": "free", "wr_id": "2"}

PRETENCES = [
    Pretence("GET", "/bbs/delete.php?bo_table=free"),
    Pretence("GET", "/bbs/delete.php?bo_table=free&wr_id=2&token=x"),
    Pretence("POST", "/bbs/delete.php", POST),
    Pretence("GET", "/bbs/delete_comment.php?bo_table=free&comment_id=3&token=x"),
    Pretence("GET", "/bbs/good.php?bo_table=free&wr_id=2&good=good"),
    Pretence("POST", "/bbs/good.php?bo_table=free&wr_id=2&good=good", {"js": "on"}),
    Pretence("POST", "/bbs/write_update.php", {}),
    Pretence("POST", "/bbs/write_update.php", {"bo_table": "free"}),
    Pretence("POST", "/bbs/write_update.php", {**POST, "w": "u", "wr_subject": "x", "wr_content": "y"}),
    Pretence("POST", "/bbs/write_update.php?bo_table=free", "x", "text/plain"),
    Pretence("POST", "/bbs/write_update.php", '{"bo_table": "free"}', "application/json"),
    Pretence("POST", "/bbs/write_comment_update.php", POST),
    Pretence("POST", "/bbs/write_comment_update.php", {**POST, "w": "c", "wr_content": "x"}),
    Pretence("POST", "/bbs/board_list_update.php", {"bo_table": "free", "btn_submit": "선택삭제", "chk_wr_id[]": "2"}),
    Pretence("POST", "/bbs/move_update.php", {"bo_table": "free", "sw": "move", "wr_id_list": "2", "chk_bo_table[]": "qa"}),
    Pretence("POST", "/bbs/new_delete.php", {"chk_bn_id[]": "0", "bo_table[0]": "free", "wr_id[0]": "2"}),
    Pretence("POST", "/bbs/scrap_popin_update.php", {**POST, "wr_content": "x"}),
    Pretence("GET", "/shop/itemuseformupdate.php"),
    Pretence("POST", "/shop/itemuseformupdate.php", {"it_id": "1", "w": "d", "is_id": "1"}),
    Pretence("GET", "/shop/itemuseformupdate.php?it_id=1&w=d&is_id=1&hash=x"),
    Pretence("GET", "/shop/itemqaformupdate.php?w=d&iq_id=1&it_id=1&hash=x"),
    Pretence("POST", "/shop/itemqaformupdate.php", {"it_id": "1"}),
    Pretence("POST", "/shop/orderformupdate.php", {}),
    Pretence("POST", "/shop/orderformupdate.php", {"od_id": "1", "od_settle_case": "무통장"}),
    Pretence("POST", "/adm/board_form_update.php", {"bo_table": "free", "w": "u"}),
    Pretence("POST", "/adm/config_form_update.php", {"token": "x"}),
    Pretence("GET", "/adm/?token=x"),
    Pretence("GET", "/adm?token=x"),
    Pretence("GET", "/adm/member_delete.php?mb_id=x&token=x"),
    Pretence("GET", "/adm/none.php?w=d"),
    Pretence("GET", "/adm/board_list.php?w=d"),
    Pretence("POST", "/adm/", {}),
    Pretence("POST", "/adm/theme_update.php", {"theme": "basic"}),
    Pretence("POST", "/adm/shop_admin/itemcopyupdate.php", {"it_id": "1", "new_it_id": "2"}),
    Pretence("GET", "/adm/shop_admin/itemcopyupdate.php?it_id=1&new_it_id=2"),
    Pretence("POST", "/adm/shop_admin/itemexcelupdate.php", {}),
    Pretence("GET", "/adm/shop_admin/itemeventwindel.php?ev_id=1&it_id=1"),
    Pretence("POST", "/bbs/login_check.php", {"mb_id": "x", "mb_password": "y"}),
    Pretence("POST", "/bbs/password_check.php", {**POST, "w": "s", "wr_password": "x"}),
    Pretence("POST", "/bbs/register_form_update.php", {"w": "", "mb_id": "x"}),
]


SCENARIOS = strangers.scenarios(lambda _: PRETENCES, lambda _: PAGES, FORGED)
