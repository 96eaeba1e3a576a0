"""What is asked of a program, and what should come."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Page:
    """A URL, and whether it should be a hit from the second request on. `why` says why not."""

    path: str
    is_shared: bool
    why: str = ""
    # Fields that each visitor sends in addition to those of the browser.
    fields: dict = field(default_factory=dict)


def hit(path, **fields):
    """A page that all visitors should share at the second request."""
    return Page(path, True, fields=fields)


def never(path, why, **fields):
    """A page that no two visitors may share, and why."""
    return Page(path, False, why, fields)
