"""Requests by which a stranger may try to look like a member or an administrator of Rhymix."""

import strangers
from strangers import Pretence

FORGED = {"PHPSESSID": "0123456789abcdef0123456789", "rx_login_status": "0123456789abcdef", "rx_autologin": "x"}
JSON = {"X-Requested-With": "XMLHttpRequest", "Accept": "application/json"}
ACTS = [
    "procBoardInsertComment", "procBoardInsertDocument", "procBoardDeleteDocument", "procBoardRevertDocument", "procBoardDeleteComment", "procBoardVoteDocument",
    "procDocumentVoteUp", "procDocumentVoteUpCancel", "procDocumentVoteDown", "procDocumentVoteDownCancel", "procDocumentManageCheckedDocument",
    "procDocumentInsertCategory", "procDocumentDeleteCategory", "procDocumentMoveCategory", "procCommentVoteUp", "procCommentVoteDown",
    "procPageAdminInsertContent", "procPollVote", "procBoardDeleteTrackback", "procTrackbackDelete", "procMemberLogin", "dispBoardContent",
]


def pretences(site):
    post = str(site.content["posts"]["board"][0])
    form = {"mid": "board", "document_srl": post, "comment_srl": "1", "target_srl": post, "module": "board"}
    origin = {"Origin": site.url, "Referer": f"{site.url}/board/{post}"}
    forms = [Pretence("POST", "/index.php", {"act": act, **form}, **origin) for act in ACTS]
    scripts = [Pretence("POST", "/index.php", {"act": act, **form}, **origin, **JSON, **{"X-AJAX-Target": act}) for act in ACTS]
    twice = [
        Pretence("POST", "/index.php", f"act=procBoardDeleteDocument&mid=board&document_srl={post}&act=dispBoardContent", **origin, **JSON),
        Pretence("POST", "/index.php?act=procBoardDeleteDocument", {"act": "dispBoardContent", "mid": "board"}, **origin, **JSON),
        Pretence("POST", "/index.php", "act=procDocumentVoteUp&act=", **origin, **JSON),
        Pretence("POST", "/index.php", "act=procPollVote&+act=dispBoardContent&mid=board", **origin, **JSON),
        Pretence("POST", "/index.php", {"act": "procPollVote", "title": '"error":0', "mid": "board"}, **origin),
    ]
    others = [
        Pretence("POST", "/", {"module": "admin", "act": "procAdminRecompileCacheFile"}, **origin, **JSON),
        Pretence("POST", "/index.php", '{"module": "board", "act": "getBoardContent"}', "application/json", **origin, **JSON),
        Pretence("POST", "/index.php", "<methodCall><params><act>procBoardDeleteDocument</act></params></methodCall>", "text/xml", **origin),
    ]
    return forms + scripts + twice + others


def pages(site):
    first, second = site.content["posts"]["board"][:2]
    return ["/board", f"/board/{first}", f"/board/{second}", "/qna"]


SCENARIOS = strangers.scenarios(pretences, pages, FORGED)
