"""Controls a headless Chromium by the WebDriver protocol (W3C Recommendation), with the few commands that the scenarios need."""

import base64
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time

PATIENCE_SECONDS = 60
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class BrowserError(Exception):
    """An error that the driver reports."""


class Browser:
    """A context with one browser. Its profile is temporary, or in the directory `profile`, which then remains."""

    def __init__(self, profile=None):
        self._is_kept = profile is not None
        self._profile = profile or tempfile.mkdtemp(prefix="kasoku-browser-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._driver = None
        self._session = None

    def __enter__(self):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._driver = subprocess.Popen(["chromedriver", f"--port={self._port}"], **quiet)
        try:
            self._until("the driver to listen", self._is_ready)
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000",
                         f"--user-data-dir={self._profile}", "--no-first-run", "--disable-extensions",
                         # A click on an element that is still sliding in would miss it.
                         "--force-prefers-reduced-motion"]
            wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}}
            self._session = self._call("POST", "/session", wanted)["sessionId"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._session:
            try:
                self._of_session("DELETE", "")
            except (OSError, http.client.HTTPException, BrowserError):
                pass
        self._driver.terminate()
        self._driver.wait()
        if not self._is_kept:
            shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, url):
        self._of_session("POST", "/url", {"url": url})

    def back(self):
        self._of_session("POST", "/back", {})

    def dialogue(self):
        """Closes the open dialogue and returns its text; None if there is none."""
        try:
            words = self._of_session("GET", "/alert/text")
            self._of_session("POST", "/alert/accept", {})
            return words
        except BrowserError as error:
            if "no such alert" not in str(error):
                raise
            return None

    def url(self):
        return self._of_session("GET", "/url")

    def source(self):
        return self._of_session("GET", "/source")

    def run(self, script, *arguments):
        """Runs a function with this body in the page; returns its result."""
        return self._of_session("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def fill(self, selector, text):
        """Clears a field and types the text into it."""
        element = self._find(selector)
        self._of_session("POST", f"/element/{element}/clear", {})
        self._of_session("POST", f"/element/{element}/value", {"text": text})

    def type(self, selector, text):
        self._of_session("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def click(self, selector):
        """Clicks an element as soon as that is possible: while it slides in or is redrawn, it can't be clicked."""
        def clicked():
            try:
                self._of_session("POST", f"/element/{self._find(selector)}/click", {})
                return True
            except BrowserError as error:
                if not str(error).startswith(("element not interactable", "element click intercepted", "stale element")):
                    raise
                return False

        self._until(f"{selector} to be clickable", clicked)

    def text(self, selector):
        return self._of_session("GET", f"/element/{self._find(selector)}/text")

    def wait_for(self, what, script, *arguments):
        """Waits until a function with this body returns a true value in the page."""
        return self._until(what, lambda: self.run(script, *arguments))

    def cookies(self):
        """The cookies that the browser would send to the page's site."""
        return self._of_session("GET", "/cookie")

    def forget_cookies(self):
        self._of_session("DELETE", "/cookie")

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._of_session("GET", "/screenshot")))

    def _find(self, selector):
        def found():
            try:
                return self._of_session("POST", "/element", {"using": "css selector", "value": selector})[_ELEMENT]
            except BrowserError as error:
                if "no such element" not in str(error):
                    raise
                return None

        return self._until(f"{selector} to be there", found)

    def _is_ready(self):
        try:
            return self._call("GET", "/status")["ready"]
        except OSError:
            return False

    def _until(self, what, attempt):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := attempt()):
            if time.monotonic() > deadline:
                raise BrowserError(f"waited in vain for {what}")
            time.sleep(0.1)
        return found

    def _of_session(self, method, path, body=None):
        return self._call(method, f"/session/{self._session}{path}", body)

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=2 * PATIENCE_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise BrowserError(f"{value['error']}: {value.get('message', '').splitlines()[0]}")
        return value
