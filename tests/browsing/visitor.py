"""Simulates a visitor without a browser: one connection, a cookie jar, and the answer to each request.

The jar supports what the applications here use: a cookie's path, and its removal by a date in the past or by Max-Age=0.
"""

import email.utils
import http.client
import time
import urllib.parse


# How long the leak guard may take for a page.
COMPARED_SECONDS_MAX = 15


class Answer:
    """The answer to one request."""

    def __init__(self, response, body):
        self.status = response.status
        self.fields = {}
        for name, value in response.getheaders():
            name = name.lower()
            # Lines of the same field form one list, except for Set-Cookie.
            self.fields[name] = f"{self.fields[name]}, {value}" if name in self.fields and name != "set-cookie" else value
        self.set_cookies = response.headers.get_all("Set-Cookie") or []
        self.bytes = body
        self.text = body.decode("utf-8", "replace")

    @property
    def is_hit(self):
        return "; hit" in self.decision

    @property
    def decision(self):
        """Kasoku's `Cache-Status`."""
        return self.fields.get("cache-status", "")


class Visitor:
    """Sends requests with the cookies of the site and the test, from `address` (127.0.0.0/8) to `port`, by default Kasoku's."""

    def __init__(self, site, cookies=(), user_agent="Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0", address=None, port=None):
        self._site = site
        self._port = port or site.port
        self._source = (address, 0) if address else None
        self._connection = None
        self._cookies = {}
        self.user_agent = user_agent
        for name, value in dict(cookies).items():
            self._cookies[(name, "/")] = value

    def get(self, path, **fields):
        return self.ask("GET", path, fields=fields)

    def post(self, path, form, **fields):
        body = urllib.parse.urlencode(form)
        return self.ask("POST", path, {"Content-Type": "application/x-www-form-urlencoded", **fields}, body)

    def ask(self, method, path, fields=(), body=None):
        """Sends a request; does not follow redirects."""
        fields = {"Host": f"127.0.0.1:{self._site.port}", "User-Agent": self.user_agent, **dict(fields)}
        if cookies := self._sent_to(path):
            fields["Cookie"] = cookies
        # An idle connection, or one from before a reload, may have been closed. A request that may be repeated is sent once more on a new
        # one.
        for is_last in (False, True) if method in ("GET", "HEAD") else (True,):
            if is_last:
                self.close()
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60, source_address=self._source)
            try:
                self._connection.request(method, path, body, fields)
                response = self._connection.getresponse()
                # A 304 ends with its head, whatever framing it states; http.client would wait for the chunks.
                answer = Answer(response, b"" if response.status == 304 else response.read())
                response.close()
                break
            except (http.client.RemoteDisconnected, ConnectionError):
                if is_last:
                    raise
        for line in answer.set_cookies:
            self._take(line)
        self.came(method, path, answer)
        if "leak-guard-pending" in answer.decision:
            self._until_compared(path, fields)
        return answer

    def _until_compared(self, path, fields):
        """Waits until the leak guard has compared the page, which this visitor was the first to ask for: then the next visitor may get a hit."""
        fields = {name: value for name, value in fields.items() if name in ("Host", "User-Agent")}
        end = time.monotonic() + COMPARED_SECONDS_MAX
        while time.monotonic() < end:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            connection.request("GET", path, headers=fields)
            response = connection.getresponse()
            answer = Answer(response, response.read())
            connection.close()
            if "leak-guard-pending" not in answer.decision and "collapsed" not in answer.decision:
                return
            time.sleep(0.2)

    def came(self, method, path, answer):
        """Is called for each answer from the network."""

    def cookie(self, prefix):
        """The value of the first cookie whose name begins with `prefix`."""
        return next((value for (name, _), value in self._cookies.items() if name.startswith(prefix)), None)

    def forget(self, prefix=""):
        self._cookies = {key: value for key, value in self._cookies.items() if not key[0].startswith(prefix)}

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _sent_to(self, path):
        path = path.partition("?")[0]
        return "; ".join(f"{name}={value}" for (name, where), value in self._cookies.items() if path.startswith(where.rstrip("/") + "/") or path == where)

    def _take(self, line):
        pair, *attributes = line.split(";")
        name, _, value = pair.strip().partition("=")
        stated = dict(a.strip().lower().partition("=")[::2] for a in attributes)
        key = (name, stated.get("path", "/"))
        expires = email.utils.parsedate_to_datetime(stated["expires"].upper()).timestamp() if stated.get("expires") else None
        if stated.get("max-age") == "0" or (expires is not None and expires < time.time()):
            self._cookies.pop(key, None)
        else:
            self._cookies[key] = value


def get(site, path):
    """Requests the path as a new visitor."""
    visitor = Visitor(site)
    try:
        return visitor.get(path)
    finally:
        visitor.close()
