"""The visitors of a crowd: those of tests/gnuboard, with addresses of their round, who also load the files beside a page."""

from crowd import Counted

FAVICON = "/favicon.ico"
# As in crowd.py.
ADDRESSES = "127.0.1."
FIRST_ROUND = 20


class Visitor(Counted):
    """A visitor whose browser requests the icon once and remembers that it is missing. gnuboard5 as installed has neither an icon nor the
    picture /data/common/logo_img."""

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self._icon = None

    def ask(self, method, path, fields=(), body=None):
        if path != FAVICON:
            return super().ask(method, path, fields, body)
        if self._icon is None:
            self._icon = super().ask(method, path, fields, body)
        return self._icon

    def came(self, method, path, answer):
        # All URLs below /data/ are files, which the server in front of PHP answers.
        if not path.startswith("/data/"):
            super().came(method, path, answer)


def made_for(number, with_files):
    """Makes the visitors of a round. Each round has other addresses, since gnuboard5 counts an address once a day."""

    def make(site, sums, address, **more):
        address = address.replace(ADDRESSES, f"127.0.{FIRST_ROUND + number}.")
        return Visitor(site, sums, address=address, with_files=with_files, **more)

    return make
