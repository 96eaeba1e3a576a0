"""Requests by which a stranger may try to look like an editor of WordPress."""

import strangers
from strangers import Pretence
from freshness import FEED, FRONT, POST

LOGGED_IN = "wordpress_logged_in_0123456789abcdef0123456789abcdef"
ADMINISTRATION = "wordpress_0123456789abcdef0123456789abcdef"
FORGED = {name: "editor-in-chief%7C1999999999%7Cx%7Cy" for name in (LOGGED_IN, ADMINISTRATION)}
JSON = "application/json"
PAGES = [FRONT, POST, FEED]

PRETENCES = [
    # The REST interface.
    Pretence("GET", "/wp-json/x?_method=Dxx&_envelope"),
    Pretence("GET", "/wp-json/wp/v2/posts?_method=POST&_envelope"),
    Pretence("GET", "/wp-json/wp/v2/posts/1?_method=DELETE&_envelope=1"),
    Pretence("POST", "/wp-json/batch/v1", '{"requests": []}', JSON),
    Pretence("POST", "/wp-json/batch/v1", '{"requests": [{"path": "/wp/v2/posts"}]}', JSON),
    Pretence("POST", "/wp-json/wp/v2/posts?_envelope", "{}", JSON),
    Pretence("POST", "/wp-json/wp/v2/posts?_method=GET", "{}", JSON),
    Pretence("POST", "/wp-json/wp/v2/posts?_method=OPTIONS", "{}", JSON),
    Pretence("POST", "/wp-json/wp/v2/posts", "{}", JSON, **{"X-HTTP-Method-Override": "GET"}),
    Pretence("PUT", "/wp-json/wp/v2/posts/1?_method=GET", "{}", JSON),
    Pretence("PATCH", "/wp-json/wp/v2/posts/1?_envelope&_method=GET", "{}", JSON),
    Pretence("DELETE", "/wp-json/wp/v2/posts/1?_method=GET"),
    Pretence("DELETE", "/wp-json/wp/v2/posts/1?_envelope"),
    Pretence("DELETE", "/wp-json/wp/v2/posts/1"),
    Pretence("POST", "/wp-json/wp/v2/comments?_envelope", '{"post": 1}', JSON),
    Pretence("POST", "/wp-json/wp/v2/users/me?_method=GET&_envelope", "{}", JSON),
    Pretence("POST", "/?rest_route=/wp/v2/posts&_method=GET", "{}", JSON),
    Pretence("POST", "/?rest_route=/wp/v2/posts&_envelope=1", "{}", JSON),
    Pretence("POST", "/?rest_route=/batch/v1", '{"requests": []}', JSON),
    Pretence("POST", "/wp-json/oembed/1.0/embed?_method=GET&url=x", "{}", JSON),
    # The scripts of the administration.
    Pretence("POST", "/wp-admin/admin-ajax.php?action=heartbeat", "x", "text/plain"),
    Pretence("POST", "/wp-admin/admin-ajax.php", {"action": "heartbeat"}),
    Pretence("POST", "/wp-admin/admin-ajax.php", {"action": "inline-save"}),
    Pretence("POST", "/wp-admin/admin-ajax.php", {"action": "delete-post", "id": "1"}),
    Pretence("POST", "/wp-admin/admin-ajax.php?action=delete-comment", {}),
    Pretence("POST", "/wp-admin/admin-footer.php", {}),
    Pretence("POST", "/wp-admin/admin-header.php", {}),
    Pretence("POST", "/wp-admin/menu.php", {}),
    Pretence("POST", "/wp-admin/menu-header.php", {}),
    Pretence("POST", "/wp-admin/admin-functions.php", {}),
    Pretence("POST", "/wp-admin/custom-background.php", {}),
    Pretence("POST", "/wp-admin/options-head.php", {}),
    Pretence("POST", "/wp-admin/edit-form-blocks.php", {}),
    Pretence("POST", "/wp-admin/post.php", {"action": "editpost", "post_ID": "1"}),
    Pretence("POST", "/wp-admin/options.php", {"action": "update"}),
    Pretence("POST", "/wp-admin/", {}),
    Pretence("POST", "/wp-admin/network/", {}),
    Pretence("POST", "/wp-admin/none.php", {}),
    Pretence("GET", "/wp-admin/hello-world?_wpnonce=1"),
    Pretence("GET", "/wp-admin/post.php?post=1&action=trash&_wpnonce=1"),
    Pretence("POST", "/wp-admin/async-upload.php", {"action": "upload-attachment"}),
    Pretence("POST", "/wp-admin/admin-post.php", {"action": "x"}),
    # Behind the name of a script, with a parameter twice, or with a name that PHP reads otherwise.
    Pretence("POST", "/wp-admin/admin-post.php/x", {}),
    Pretence("POST", "/wp-admin/admin-ajax.php/x", {"action": "heartbeat"}),
    Pretence("POST", "/wp-admin/admin-ajax.php", "action=delete-post&action=heartbeat"),
    Pretence("POST", "/wp-admin/admin-ajax.php?action=delete-post", {"action": "heartbeat"}),
    Pretence("POST", "/wp-admin/admin-ajax.php", "action=delete-post&+action=heartbeat"),
    Pretence("POST", "/wp-admin/admin-ajax.php", "action=delete-post&action%00x=heartbeat"),
    Pretence("POST", "/wp-admin/install.php/x", {}),
    # Forms of visitors, refused.
    Pretence("POST", "/wp-comments-post.php", {"comment": "", "comment_post_ID": "1"}),
    Pretence("POST", "/wp-comments-post.php", {"comment": "x", "comment_post_ID": "99999"}),
    Pretence("POST", "/wp-login.php", {"log": "x", "pwd": "y"}),
    Pretence("POST", "/wp-login.php?action=postpass", {"post_password": "x"}),
    Pretence("POST", "/xmlrpc.php", "<methodCall><methodName>wp.newPost</methodName></methodCall>", "text/xml"),
]


def pretences(site):
    """With the nonce, too, that WordPress gives to everybody, on each page that loads its scripts for the REST interface."""
    nonce = site.php("wp_set_current_user(0); echo wp_create_nonce('wp_rest');")
    fields = {"X-WP-Nonce": nonce}
    return PRETENCES + [
        Pretence("POST", "/wp-json/wp/v2/posts?_method=GET", "{}", JSON, **fields),
        Pretence("POST", "/wp-json/wp/v2/posts?_envelope", "{}", JSON, **fields),
        Pretence("POST", "/wp-json/batch/v1", '{"requests": []}', JSON, **fields),
        Pretence("DELETE", f"/wp-json/wp/v2/posts/1?_method=GET&_wpnonce={nonce}"),
    ]


SCENARIOS = strangers.scenarios(pretences, lambda _: PAGES, FORGED)
