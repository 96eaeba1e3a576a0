"""Simulates forty visitors of WordPress, each with secrets that no other visitor may see, and chooses their steps.

There are six kinds of visitors: readers, readers with analytics cookies, members who log in and out, commenters, visitors who know a post's
password, and newcomers who never have a cookie. Steps are drawn from the seed alone, so a seed is a list of requests; how they interleave
depends on the threads.

A member's page shows the member's name, address, draft, and nonces, which are the member's secrets. So are the name, address and words of a
comment that waits for moderation, and the values of the cookies that WordPress has set.
"""

import hashlib
import html
import json
import re
import threading
import urllib.parse

from visitor import Visitor

MEMBERS, COMMENTERS, HOLDERS, READERS, MEASURED, NEWCOMERS = 10, 5, 4, 7, 8, 6

PASSWORD = "tern and gannet"
POST_PASSWORD = "seagull"
BEHIND_THE_PASSWORD = "The spare key hangs behind the chart."
PROTECTED = "/notice-9/"
POSTS = [f"/notice-{number}/" for number in range(1, 9)]
PAGES = ["/", *POSTS, PROTECTED, "/sample-page/", "/?s=notice", "/?s=lantern", "/feed/", "/comments/feed/", "/category/uncategorized/", "/author/harbour-office/",
         "/page/2/", "/no-such-page/", "/notice-1/?replytocom=1", "/notice-2/?utm_source=letter", "/notice-3/feed/"]

# Marks of a page that was made for a logged-in visitor; no other page has them.
LOGGED_IN = re.compile(r'id="wpadminbar"|<body[^>]* logged-in|_wpnonce=|action=logout|wp-admin/profile\.php')
NONCES = re.compile(r'_wpnonce=(\w{10})|(?:nonce|Nonce)["\']?\s*[:=]\s*["\'](\w{10})["\']|createNonceMiddleware\( "(\w{10})"')

SETUP = """
if (!get_user_by('login', 'office')) {
    $office = wp_insert_user(['user_login' => 'office', 'user_nicename' => 'harbour-office', 'display_name' => 'Harbour office', 'user_pass' => $values['password'],
        'role' => 'author', 'user_email' => 'office@harbour.example']);
    foreach (range(1, 9) as $n)
        wp_insert_post(['post_title' => "Notice $n", 'post_name' => "notice-$n", 'post_status' => 'publish', 'post_author' => $office,
            'post_content' => $n == 9 ? $values['hidden'] : "Notice of the lantern, number $n.", 'post_password' => $n == 9 ? $values['post_password'] : '']);
}
$drafts = [];
foreach ($values['members'] as $m) {
    $id = wp_insert_user(['user_login' => $m['login'], 'user_pass' => $values['password'], 'display_name' => $m['name'], 'user_email' => $m['address'], 'role' => 'author']);
    $drafts[$m['login']] = wp_insert_post(['post_title' => $m['draft'], 'post_content' => 'Not yet.', 'post_status' => 'draft', 'post_author' => $id]);
}
echo json_encode($drafts);
"""


class Person:
    """One visitor: what it may see and must see, and its steps."""

    def __init__(self, site, crew, kind, number, visitor=Visitor):
        self.kind = kind
        self.name = f"{kind}-{number}"
        self.is_logged_in = self.has_password = False
        # A visitor sends one request at a time, as one browser.
        self.lock = threading.Lock()
        word = f"{kind[:3]}{crew}q{number:02}x"
        self.login = f"{word}login"
        self.display, self.address, self.draft_title = f"Zq{word} Display", f"{word}@secret.example", f"Draft {word}draft"
        self.words = f"Words of {word}words"
        self.draft = None
        self._comments = 0
        self.referer = f"http://elsewhere.example/{word}referer"
        cookies = {"_ga": f"GA1.1.{word}ga", "_fbp": f"fb.1.{word}fbp"} if kind == "measured" else {}
        self.visitor = visitor(site, cookies, f"Mozilla/5.0 ({word}agent)")
        self.secrets = {f"{word}agent", self.referer, *cookies.values()}
        # The URL of a picture contains the hash of its owner's address.
        whose = {self.address, hashlib.md5(self.address.encode()).hexdigest(), self.display}
        self.secrets |= {"member": {self.login, self.draft_title} | whose, "commenter": {self.words} | whose}.get(kind, set())

    def next(self, random):
        """The visitor's next step: its name and path."""
        read = ("read", random.choice(PAGES))
        if self.kind == "member":
            return random.choices([read, ("log in or out", None), ("administration", None), ("draft", None), ("interface", None)], [70, 10, 6, 8, 6])[0]
        if self.kind == "commenter":
            return random.choices([read, ("comment", random.choice(POSTS)), ("clear cookies", None)], [90, 4, 6])[0]
        if self.kind == "holder":
            return random.choices([read, ("read", PROTECTED), ("give the password", None), ("clear cookies", None)], [60, 20, 14, 6])[0]
        if self.kind == "newcomer":
            return random.choices([("clear cookies", None), read, ("head", random.choice(PAGES))], [10, 80, 10])[0]
        return read

    def do(self, step, where):
        """Takes the step; yields the path and the answer of each request, while the visitor is in the state of the request."""
        ask = self.visitor
        if step == "read":
            yield where, ask.get(where, Referer=self.referer)
        elif step == "head":
            yield where, ask.ask("HEAD", where)
        elif step == "clear cookies":
            ask.forget()
            self.has_password = False
            yield "/", ask.get("/")
        elif step == "comment":
            yield from self._comment(where)
        elif step == "give the password":
            yield from self._give_the_password()
        elif step == "log in or out":
            yield from self._log_out() if self.is_logged_in else self._log_in()
        elif not self.is_logged_in:
            yield "/", ask.get("/")
        elif step == "administration":
            yield "/wp-admin/profile.php", ask.get("/wp-admin/profile.php")
        elif step == "draft":
            yield f"/?p={self.draft}&preview=true", ask.get(f"/?p={self.draft}&preview=true")
        else:
            yield "/wp-admin/admin-ajax.php", ask.get("/wp-admin/admin-ajax.php?action=rest-nonce")

    def learns(self, answer):
        """Records the answer's secrets: the values of cookies, and nonces if the visitor is logged in."""
        for line in answer.set_cookies:
            name, _, value = line.partition(";")[0].partition("=")
            # The values of these two are the same for all visitors, or a time.
            if len(value) >= 8 and not name.startswith(("wordpress_test_cookie", "wp-settings-")):
                self.secrets.add(urllib.parse.unquote(value))
        if self.is_logged_in:
            self.secrets |= {next(filter(None, found)) for found in NONCES.findall(answer.text)}
            if re.fullmatch(r"\w{10}", answer.text):
                self.secrets.add(answer.text)

    def _give_the_password(self):
        answer = self.visitor.post("/wp-login.php?action=postpass", {"post_password": POST_PASSWORD, "Submit": "Enter"}, Referer=PROTECTED)
        self.has_password = self.visitor.cookie("wp-postpass_") is not None
        yield "/wp-login.php", answer
        yield PROTECTED, self.visitor.get(PROTECTED)

    def _log_in(self):
        # The form sets a cookie, which stays after a log-out.
        yield "/wp-login.php", self.visitor.get("/wp-login.php")
        answer = self.visitor.post("/wp-login.php", {"log": self.login, "pwd": PASSWORD, "wp-submit": "Log In", "testcookie": "1"})
        self.is_logged_in = self.visitor.cookie("wordpress_logged_in_") is not None
        if not self.is_logged_in:
            raise AssertionError(f"it could not log in: {answer.status} {answer.text[:500]}")
        yield "/wp-login.php", answer
        yield "/", self.visitor.get("/")

    def _log_out(self):
        page = self.visitor.get("/")
        yield "/", page
        link = re.search(r"wp-login\.php\?action=logout&(?:#038;|amp;)?_wpnonce=\w+", page.text)
        if link is None:
            raise AssertionError(f"the front page has no link to log out: {page.decision}")
        answer = self.visitor.get("/" + html.unescape(link[0]))
        self.is_logged_in = self.visitor.cookie("wordpress_logged_in_") is not None
        if self.is_logged_in:
            raise AssertionError(f"it could not log out: {answer.status} {answer.text[:500]}")
        yield "/", self.visitor.get("/")

    def _comment(self, where):
        page = self.visitor.get(where)
        yield where, page
        number = re.search(r"postid-(\d+)", page.text)
        # WordPress would refuse a repeated comment.
        self._comments += 1
        form = {"comment": f"{self.words}, {self._comments}", "author": self.display, "email": self.address, "comment_post_ID": number[1], "comment_parent": "0",
                "wp-comment-cookies-consent": "yes"}
        answer = self.visitor.post("/wp-comments-post.php", form)
        if answer.status != 302:
            raise AssertionError(f"it could not comment: {answer.status} {answer.text[:500]}")
        yield "/wp-comments-post.php", answer
        led_to = urllib.parse.urlsplit(answer.fields["location"])
        for path in (f"{led_to.path}?{led_to.query}", where):
            shown = self.visitor.get(path)
            if self.words not in shown.text:
                raise AssertionError(f"it does not see its own comment at {path}: {shown.decision}")
            yield path, shown


def populate(site, crew, visitor=Visitor):
    """Makes the posts, once, and the members; returns the visitors in their first states. Each crew, named by a letter, has different
    names."""
    kinds = [("member", MEMBERS), ("commenter", COMMENTERS), ("holder", HOLDERS), ("reader", READERS), ("measured", MEASURED), ("newcomer", NEWCOMERS)]
    people = [Person(site, crew, kind, number, visitor) for kind, count in kinds for number in range(count)]
    members = [{"login": p.login, "name": p.display, "address": p.address, "draft": p.draft_title} for p in people if p.kind == "member"]
    drafts = json.loads(site.php(SETUP, members=members, password=PASSWORD, post_password=POST_PASSWORD, hidden=BEHIND_THE_PASSWORD))
    for person in people:
        person.draft = drafts.get(person.login)
    return people
