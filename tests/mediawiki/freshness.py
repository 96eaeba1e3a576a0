"""Measures how soon a write in the wiki shows, to its author and to another visitor; and tests which requests drop no page."""

from scenarios import equal, lacks, true
from seen import measure, no_longer, shows, tell, warm
from visitor import Visitor
from wiki import address
from writer import Writer

KINDS_MIN = 10


class Writes:
    """The kinds of writes, a method for each."""

    def __init__(self, site):
        self._site = site
        self._writer = Writer(site)
        self._count = 0

    def kinds(self):
        return [getattr(self, name) for name in vars(type(self)) if not name.startswith("_") and name != "kinds"]

    def a_new_page(self):
        title = self._title()
        self._warm(address("Main_Page"))
        Visitor(self._site).get(address(title))
        self._writer.edit(title, "New.")
        return self._writer, [shows(address(title), "New."), shows(f"/index.php/{title}", "New.")]

    def an_edit(self):
        title = self._page()
        self._warm(address(title), address(title, "&printable=yes"), address(title, "&action=history"), self._by_number(title))
        self._writer.edit(title, "High water.")
        return self._writer, [shows(address(title), "High water."), shows(f"/index.php/{title}", "High water."), shows(address(title, "&printable=yes"), "High water."),
                              shows(address(title, "&action=history"), "&amp;undo="), shows(self._by_number(title), "High water.")]

    def an_edit_without_an_account(self):
        title = self._page()
        passer_by = Writer(self._site, has_account=False)
        passer_by.edit(title, "Ebb.")
        return passer_by, [shows(address(title), "Ebb.")]

    def an_edit_by_a_program(self):
        title = self._page()
        self._warm(address(title, "&action=history"))
        self._writer.by_program("edit", title=title, text="Flood.")
        return self._writer, [shows(address(title), "Flood."), shows(address(title, "&action=history"), "&amp;undo=")]

    def a_long_edit_by_a_program(self):
        """The form is longer than the 64 KiB that Kasoku reads of one."""
        title = self._page()
        self._writer.by_program("edit", title=title, text="Flood. " * 20_000)
        return self._writer, [shows(address(title), "Flood.")]

    def an_edit_that_is_taken_back(self):
        title = self._page()
        revision = self._writer.by_program("edit", title=title, text="Wrong.")["edit"]["newrevid"]
        self._warm(address(title))
        self._writer.by_program("edit", title=title, undo=str(revision))
        return self._writer, [no_longer(address(title), "Wrong.")]

    def a_moved_page(self):
        title, to = self._page(), self._title()
        self._warm(address(title), address(title, "&action=history"))
        self._writer.move(title, to)
        return self._writer, [shows(address(to), f"Text of {title}"), no_longer(address(title), f"Text of {title}"), no_longer(address(title, "&action=history"), 'id="pagehistory"')]

    def a_deleted_page(self):
        title = self._page()
        by_number = self._by_number(title)
        self._warm(address(title), by_number, address(title, "&printable=yes"))
        self._writer.delete(title)
        return self._writer, [no_longer(place, f"Text of {title}") for place in [address(title), by_number, address(title, "&printable=yes")]]

    def a_page_that_is_back(self):
        title = self._page()
        self._writer.delete(title)
        self._writer.undelete(title)
        return self._writer, [shows(address(title), f"Text of {title}")]

    def a_page_deleted_by_a_program(self):
        title = self._page()
        self._warm(address(title, "&printable=yes"))
        self._writer.by_program("delete", title=title, reason="Old.")
        return self._writer, [no_longer(address(title), f"Text of {title}"), no_longer(address(title, "&printable=yes"), f"Text of {title}")]

    def a_protected_page(self):
        title = self._page()
        self._warm(address(title), address(title, "&action=history"))
        self._writer.protect(title)
        return None, [shows(address(title), 'title="This page is protected'), shows(address(title, "&action=history"), "Protected")]

    def a_revision_that_is_hidden(self):
        title = self._page()
        hidden = self._writer.by_program("edit", title=title, text="Not for all.")["edit"]["newrevid"]
        self._writer.edit(title, "For all.")
        self._site.set("$wgGroupPermissions['sysop']['deleterevision'] = true;")
        old = address(title, f"&oldid={hidden}")
        self._warm(old)
        self._writer.by_program("revisiondelete", type="revision", ids=str(hidden), hide="content")
        return None, [no_longer(old, "Not for all.")]

    # -- pieces

    def _title(self):
        self._count += 1
        return f"Pier_{self._count}"

    def _page(self):
        """Makes a page and requests it until it is a hit; returns its title."""
        title = self._title()
        self._writer.edit(title, f"Text of {title}")
        self._warm(address(title))
        return title

    @staticmethod
    def _number(text):
        return text.partition('"wgArticleId":')[2].partition(",")[0]

    def _by_number(self, title):
        return f"/index.php?curid={self._number(self._writer.get(address(title)).text)}"

    def _warm(self, *paths):
        warm(lambda: Visitor(self._site), *paths)


def what_is_written_is_seen_at_once(site, **_):
    """A write shows to its author with the next request, and to all other visitors within a second."""
    rows = measure(Writes(site).kinds(), lambda: Visitor(site))
    tell(rows)
    true(len(rows) >= KINDS_MIN, f"kinds of writes: {len(rows)}")


def what_changes_no_page_drops_none(site, **_):
    """Log-ins, previews, queries of the interface for programs, and refused writes drop no page."""
    writer = Writer(site)
    history = address("Main_Page", "&action=history")
    warm(lambda: Visitor(site), history)
    visitor = Visitor(site)
    requests = {
        "a log-in": lambda: Writer(site),
        "a preview": lambda: writer.edit("Main_Page", "Half a sen", button="wpPreview"),
        "what changes": lambda: writer.edit("Main_Page", "Half a sen", button="wpDiff"),
        "a question of a program": lambda: writer.post("/api.php", {"action": "query", "titles": "Main_Page", "format": "json"}),
        "a page that is watched": lambda: writer.by_program("options", change="gender=female"),
        "a protection that is refused": lambda: visitor.post(address("Main_Page", "&action=protect"), {"mwProtect-level-edit": "sysop"}),
    }
    for what, request in requests.items():
        request()
        answer = Visitor(site).get(history)
        true(answer.is_hit, f"the history after {what} ({answer.decision})")
    lacks(Visitor(site).get(address("Main_Page")).text, "Half a sen", "the page for all")
    equal(writer.logged_in.status, 302, "a log-in, which leads to the main page")


SCENARIOS = [what_changes_no_page_drops_none, what_is_written_is_seen_at_once]
