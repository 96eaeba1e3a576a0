"""Tests pages in other skins than the installed one: the leak guard, a crowd, and how soon a write shows."""

import contextlib

import freshness
import guard
import relief
from guest import PHONE
from scenarios import equal
from servers import counted

# The site's theme, and the skin of boards for desktops and for telephones: those that gnuboard5 ships.
SKINS = {"the theme's own skin": ("basic", "theme/basic"), "pictures": ("basic", "gallery"), "no theme": ("", "basic")}
WRITES = ("a_guests_post", "a_guests_comment", "a_member_edits", "a_member_deletes_by_a_link", "several_are_deleted_from_the_list")


@contextlib.contextmanager
def wearing(site, theme, skin):
    """A site whose boards have that theme and skin."""
    before = site.sql("SELECT bo_table, bo_skin, bo_mobile_skin FROM g5_board")
    (before_theme,) = site.sql("SELECT cf_theme FROM g5_config")[0]
    site.sql(f"UPDATE g5_board SET bo_skin = '{skin}', bo_mobile_skin = '{skin}'")
    site.set(cf_theme=theme)
    site.kasoku("purge", "--all")
    try:
        yield
    finally:
        for board, desktop, mobile in before:
            site.sql(f"UPDATE g5_board SET bo_skin = '{desktop}', bo_mobile_skin = '{mobile}' WHERE bo_table = '{board}'")
        site.set(cf_theme=before_theme)
        site.kasoku("purge", "--all")


def in_a_skin(name):
    """A scenario: all of this holds in that skin."""

    def scenario(site):
        with wearing(site, *SKINS[name]):
            blocked = counted(site, "guard_blocked")
            guard.look_at(site)
            guard.look_at(site, PHONE)
            guard.look_at_news(site)
            relief.most_of_what_a_crowd_reads_does_not_reach_php(site)
            for write in WRITES:
                found = freshness.measure(site, freshness.Writes(site), write)
                freshness.tell([(write.replace("_", " "), found)])
            equal(counted(site, "guard_blocked"), blocked, "patterns that were found to differ")

    scenario.__name__ = f"in another skin: {name}"
    return scenario


SCENARIOS = [in_a_skin(name) for name in SKINS]
