"""The limit: the bench's own loop of epoll, read and send with a fixed response, which is no cache; see native/serve.c."""

from native import native
from servers.place import version_of

LABEL = "the limit"
LOG = "none"


def version():
    return f"gcc {version_of('gcc', '--version')} -O2"


def command(place):
    return [native(), "limit", place.port, place.body_bytes]
