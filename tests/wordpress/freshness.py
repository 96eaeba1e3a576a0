"""Measures how soon a write in WordPress shows, to its author and to another visitor; and tests which requests drop no page."""

import re

from editor import Editor
from scenarios import equal, true
from seen import measure, no_longer, shows, tell, warm
from visitor import Visitor

FRONT, FEED, CATEGORY, POST = "/", "/feed/", "/category/uncategorized/", "/hello-world/"
KINDS_MIN = 15


class Writes:
    """The kinds of writes, a method for each."""

    def __init__(self, site):
        self._site = site
        self._editor = Editor(site)
        self._count = 0
        self._moderated = None

    def kinds(self):
        return [getattr(self, name) for name in vars(type(self)) if not name.startswith("_") and name != "kinds"]

    def a_new_post(self):
        self._warm(FRONT, FEED, CATEGORY)
        text = self._text()
        _, path = self._editor.publish(text, "New.")
        return self._editor, [shows(FRONT, text), shows(CATEGORY, text), shows(path, text), shows(FEED, text)]

    def a_new_page_is_in_the_menu(self):
        self._warm(FRONT, POST)
        text = self._text()
        self._editor.publish(text, "New.", "pages")
        return self._editor, [shows(FRONT, text), shows(POST, text)]

    def an_edited_post(self):
        number, path, before = self._post()
        after = self._text()
        self._editor.rest(f"posts/{number}", "PUT", title=after)
        return self._editor, [shows(path, after), shows(FRONT, after), no_longer(FRONT, before), shows(FEED, after)]

    def a_quick_edit(self):
        number, path, before = self._post()
        after = self._text()
        self._editor.quick_edit(number, path.strip("/"), after)
        return self._editor, [shows(path, after), no_longer(CATEGORY, before)]

    def a_post_becomes_private(self):
        number, path, text = self._post()
        self._editor.rest(f"posts/{number}", status="private")
        return None, [no_longer(path, text), no_longer(FRONT, text), no_longer(FEED, text)]

    def posts_become_private_in_bulk(self):
        number, path, text = self._post()
        self._editor.make_private_in_bulk(number)
        return None, [no_longer(path, text), no_longer(FRONT, text)]

    def a_post_gets_a_password(self):
        number, path, text = self._post()
        self._editor.rest(f"posts/{number}", password="seagull")
        return None, [no_longer(path, body_of(text))]

    def a_post_is_a_draft_again(self):
        number, path, text = self._post()
        self._editor.rest(f"posts/{number}", status="draft")
        return None, [no_longer(path, text), no_longer(FRONT, text)]

    def a_trashed_post(self):
        number, path, text = self._post()
        self._editor.trash(number)
        return self._editor, [no_longer(path, text), no_longer(FRONT, text), no_longer(CATEGORY, text)]

    def a_restored_post(self):
        number, _, text = self._post()
        self._editor.trash(number)
        self._warm(FRONT)
        self._editor.restore(number)
        # The restored post is a draft until it is published.
        self._editor.rest(f"posts/{number}", status="publish")
        return self._editor, [shows(FRONT, text)]

    def a_deleted_post(self):
        number, path, text = self._post()
        self._editor.rest(f"posts/{number}", "DELETE", force=True)
        return self._editor, [no_longer(path, text), no_longer(FRONT, text), no_longer(FEED, text)]

    def a_comment(self):
        self._moderation(False)
        number, path, _ = self._post()
        self._warm("/comments/feed/")
        text = self._text()
        author = self._comment(number, text)
        return author, [shows(path, text), shows("/comments/feed/", text)]

    def a_comment_that_waited(self):
        number, path, _ = self._post()
        text, comment = self._waits(number)
        self._warm(path)
        self._editor.approve_by_script(comment)
        return self._editor, [shows(path, text)]

    def a_comment_that_waited_by_a_link(self):
        number, path, _ = self._post()
        text, comment = self._waits(number)
        self._warm(path)
        self._editor.approve_by_link(comment)
        return self._editor, [shows(path, text)]

    def a_trashed_comment(self):
        self._moderation(False)
        number, path, _ = self._post()
        text = self._text()
        self._comment(number, text)
        self._warm(path)
        self._editor.trash_comment(self._number_of(text))
        return self._editor, [no_longer(path, text)]

    def an_editors_answer(self):
        self._moderation(False)
        number, path, _ = self._post()
        text, answer = self._text(), self._text()
        self._comment(number, text)
        self._warm(path)
        self._editor.reply(number, self._number_of(text), answer)
        return self._editor, [shows(path, answer)]

    def a_menu(self):
        self._warm(FRONT, POST)
        text = self._text()
        link = f'<!-- wp:navigation-link {{"label":"{text}","url":"/sample-page/","kind":"custom"}} /-->'
        self._editor.rest("navigation", title="Main", content=link, status="publish")
        return self._editor, [shows(FRONT, text), shows(POST, text)]

    def a_category(self):
        self._warm(POST, CATEGORY)
        text = self._text()
        self._editor.rename_category(1, text, "uncategorized")
        return self._editor, [shows(POST, text), shows(CATEGORY, text)]

    def the_sites_title(self):
        self._warm(FRONT, POST, FEED)
        text = self._text()
        self._editor.name_the_site(text)
        return self._editor, [shows(FRONT, text), shows(POST, text), shows(FEED, text)]

    # -- pieces

    def _text(self):
        self._count += 1
        return f"Lighthouse {self._count} Q"

    def _post(self):
        """Publishes a post, and requests it, the front page, the feed and its category until they are hits; its number, path and title."""
        text = self._text()
        number, path = self._editor.publish(text, body_of(text))
        self._warm(path, FRONT, FEED, CATEGORY)
        return number, path, text

    def _comment(self, post, words):
        visitor = stranger(self._site)
        form = {"comment": words, "author": "Auberon", "email": "auberon@flint.example", "comment_post_ID": post, "comment_parent": "0"}
        sent = visitor.post("/wp-comments-post.php", form)
        equal(sent.status, 302, f"the comment ({sent.text[-300:]})")
        return visitor

    def _waits(self, post):
        self._moderation(True)
        text = self._text()
        self._comment(post, text)
        return text, self._number_of(text)

    def _number_of(self, words):
        return int(self._site.php("echo $GLOBALS['wpdb']->get_var($GLOBALS['wpdb']->prepare('SELECT comment_ID FROM wp_comments WHERE comment_content = %s',"
                                  " $values['words']));", words=words))

    def _moderation(self, wanted):
        if wanted != self._moderated:
            moderate(self._site, wanted, newcomers=False)
            self._moderated = wanted

    def _warm(self, *paths):
        warm(lambda: stranger(self._site), *paths)


def body_of(title):
    """The text of a post, which contains neither its title nor its URL."""
    return title.upper().replace(" ", "_")


def stranger(site):
    return Visitor(site)


def moderate(site, wanted=True, newcomers=True):
    """Sets whether all comments wait for approval, and whether those of newcomers do; as installed, only the latter."""
    site.php("update_option('comment_moderation', $values['all']); update_option('comment_previously_approved', $values['new']);",
             all=str(int(wanted)), new=str(int(newcomers)))


def what_is_written_is_seen_at_once(site, **_):
    """A write shows to its author with the next request, and to all other visitors soon."""
    try:
        rows = measure(Writes(site).kinds(), lambda: stranger(site))
    finally:
        moderate(site, wanted=False)
    tell(rows)
    true(len(rows) >= KINDS_MIN, f"kinds of writes: {len(rows)}")


def what_changes_no_page_drops_none(site, **_):
    """Requests of an open editor, log-ins, comments that wait, and forms of visitors drop no page."""
    # The draft is made without Kasoku, since Kasoku would drop pages once more within a second after a save.
    draft = site.post("A draft", "Half.", status="draft")
    editor = Editor(site)
    warm(lambda: stranger(site), FRONT)
    visitor = stranger(site)
    comment = {"comment": f"Waits {draft}", "author": "Auberon", "email": "auberon@flint.example", "comment_post_ID": "1", "comment_parent": "0"}
    requests = {
        "a heartbeat": editor.heartbeat,
        "a draft that is saved by itself": lambda: editor.rest(f"posts/{draft}/autosaves", title="A draft", content="Half a sen"),
        "a log-in": lambda: Editor(site),
        "a comment that waits": lambda: equal(visitor.post("/wp-comments-post.php", comment).status, 302, "the comment"),
        "a comment that is refused": lambda: equal(visitor.post("/wp-comments-post.php", comment).status, 409, "the comment"),
        "a plugin's request": lambda: visitor.post("/wp-admin/admin-ajax.php", {"action": "count_visit"}),
        "a form of the administration": lambda: visitor.post("/wp-admin/options.php", {"action": "update"}),
        "an anonymous post": lambda: visitor.post("/wp-json/wp/v2/posts", {"title": "x"}),
        "a guessed password": lambda: visitor.ask("POST", "/xmlrpc.php", {"Content-Type": "text/xml"}, "<methodCall><methodName>demo.sayHello</methodName></methodCall>"),
    }
    for what, request in requests.items():
        request()
        answer = stranger(site).get(FRONT)
        true(answer.is_hit, f"the front page after {what} ({answer.decision})")
    equal(re.findall(r"Waits \d+", stranger(site).get(POST).text), [], "comments that wait")


SCENARIOS = [what_changes_no_page_drops_none, what_is_written_is_seen_at_once]
