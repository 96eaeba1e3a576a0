"""Requests by which a stranger may try to look like a writer or an administrator of the wiki."""

import strangers
from strangers import Pretence
from wiki import address

FORGED = {"wikiUserID": "1", "wikiUserName": "Admin", "wiki_session": "0123456789abcdef0123456789abcdef", "wikidb_session": "x", "wikidbUserID": "1"}
PAGE = "/index.php?title=Main_Page"

# Not `purge`: the wiki does that for anybody, and its redirection drops the one page.
FORM_ACTIONS = ["submit", "delete", "rollback", "protect", "unprotect", "revert", "mcrundo", "mcrrestore", "watch", "edit"]
API_ACTIONS = [
    "edit", "move", "delete", "undelete", "protect", "rollback", "upload", "import", "revisiondelete", "tag", "filerevert", "mergehistory", "setpagelanguage",
    "changecontentmodel", "query", "parse", "purge", "help",
]
PRETENCES = [
    *(Pretence("POST", f"{PAGE}&action={action}", {}) for action in FORM_ACTIONS),
    Pretence("POST", f"{PAGE}&action=submit", {"wpTextbox1": "x", "wpEditToken": "+\\"}),
    Pretence("POST", f"{PAGE}&action=delete", {"wpEditToken": "+\\", "wpConfirmB": "1"}),
    *(Pretence("POST", "/api.php", {"action": action, "title": "Main_Page", "format": "json", "token": "+\\"}) for action in API_ACTIONS),
    Pretence("POST", "/api.php?action=delete&title=Main_Page", "x", "text/plain"),
    Pretence("POST", "/api.php?action=edit&format=json", '{"title": "Main_Page"}', "application/json"),
    Pretence("POST", "/api.php?action=edit", 'action=expandtemplates&prop=wikitext&format=php&text={"move":{"result":"Success"'),
    Pretence("POST", "/api.php", {"action": "move", "from": 'x{"move":{', "to": "y", "format": "php", "token": "+\\"}),
    Pretence("POST", "/api.php", {"action": "expandtemplates", "text": '{"delete":{', "prop": "wikitext", "format": "json"}),
    Pretence("POST", "/index.php?title=A%22wgUserName%22%3A%22B&action=submit", {}),
    Pretence("POST", "/index.php?title=A%22autoconfirmed%22B&action=delete", {}),
    Pretence("POST", "/rest.php/v1/page", "{}", "application/json"),
    Pretence("PUT", "/rest.php/v1/page/Main_Page", "{}", "application/json"),
    Pretence("PUT", "/rest.php/v1/page/Main_Page", '{"source": "x", "comment": "y", "token": "+"}', "application/json"),
    Pretence("POST", "/index.php?title=Special:Upload", {"wpUpload": "1"}),
    Pretence("POST", "/index.php/Special:Upload", {}),
    Pretence("POST", "/index.php?title=Special:UserLogin", {"wpName": "x", "wpPassword": "y"}),
    Pretence("POST", "/index.php?title=Special:MovePage", {"wpNewTitle": "x"}),
]


SCENARIOS = strangers.scenarios(lambda _: PRETENCES, lambda _: [address("Main_Page"), "/index.php/Main_Page"], FORGED)
