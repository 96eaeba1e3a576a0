"""Tests purges of plugins for Varnish: changes past Kasoku, as by wp-cron, wp-cli and mail, must show to guests at once.

No such plugin is installed. A must-use plugin sends the requests of each (method, target, Host, fields; docs/applications.md names the
sources), through WordPress's own HTTP interface or, as W3 Total Cache does, through a socket. WordPress's own events (`edit_post`) trigger
them. This also tests the uploads of Debian's package, which are outside of the program's directory.
"""

import http.client
from pathlib import Path

from scenarios import equal, holds, true

HOST = "harbour.example"
PLUGINS = ["proxy-cache-purge", "w3-total-cache", "wp-rocket"]

# Each plugin has its own list of a post's pages; here all have this one.
MUST_USE = r"""<?php
function harbour_purge($plugin, $url, $is_all) {
    $place = getenv('HARBOUR_KASOKU');
    $parts = parse_url($url);
    if ($plugin === 'w3-total-cache') {
        $target = ($parts['path'] ?? '/') . ($is_all ? '.*' : '');
        $socket = fsockopen('127.0.0.1', (int) substr($place, 10), $errno, $error, 10);
        fputs($socket, "PURGE $target HTTP/1.1\r\nHost: {$parts['host']}\r\nUser-Agent: W3 Total Cache\r\nConnection: close\r\n\r\n");
        $said = stream_get_contents($socket);
        $status = (int) substr($said, 9, 3);
    } else {
        // WP Rocket purges a page with all below it, the front page alone.
        $is_regex = $is_all || ($plugin === 'wp-rocket' && ($parts['path'] ?? '/') !== '/');
        $said = wp_remote_request("http://$place" . ($parts['path'] ?? '/') . ($is_regex ? '.*' : ''), ['method' => 'PURGE', 'redirection' => 0,
            'headers' => ['host' => $parts['host'], 'X-Purge-Method' => $is_regex ? 'regex' : 'default']]);
        $status = is_wp_error($said) ? $said->get_error_message() : wp_remote_retrieve_response_code($said);
    }
    file_put_contents(getenv('HARBOUR_LOG'), "$plugin $url $status\n", FILE_APPEND);
}
add_action('edit_post', function ($post) {
    $plugin = getenv('HARBOUR_PLUGIN');
    if (!$plugin) return;
    $urls = [get_permalink($post), get_option('home') . '/', get_feed_link(), get_feed_link('comments_rss2'), get_category_link(1)];
    foreach ($urls as $url) harbour_purge($plugin, $url, false);
});
add_action('switch_theme', function () {
    if (getenv('HARBOUR_PLUGIN')) harbour_purge(getenv('HARBOUR_PLUGIN'), get_option('home') . '/', true);
});
"""

RULES = """
[[site]]
hosts = ["{host}"]
origin = "fastcgi://unix:{socket}"
root = "{root}"
application = "wordpress"
ttl = "1h"
grace = "1h"
# These scenarios show which plugin purges which pages. They compare no pages; the scenarios before this do.
guard = false

# As docs/applications.md has it for Debian's package: what WordPress writes lies outside of it.
[[site.rule]]
path = "/wp-content/*.php"
root = "{content}"
symlinks = "anywhere"
pass = true

[[site.rule]]
path = "/wp-content/*"
origin = "file://{content}"
symlinks = "anywhere"
"""


def get(site, path):
    """Requests the path as a guest; returns status, text, and whether the answer was a hit."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    connection.request("GET", path, headers={"Host": HOST, "User-Agent": "Mozilla/5.0"})
    response = connection.getresponse()
    text = response.read().decode("utf-8", "replace")
    connection.close()
    return response.status, text, "; hit" in (response.getheader("Cache-Status") or "")


def warm(site, *paths):
    """Requests the paths until all are hits."""
    for path in paths:
        get(site, path)
        status, _, is_hit = get(site, path)
        equal((status, is_hit), (200, True), path)


class Plugin:
    """WordPress with the requests of one plugin."""

    def __init__(self, site, name):
        self._site, self.name = site, name
        self._log = site.directory / "purges.log"
        self._log.write_text("")

    def php(self, code, **values):
        place = f"putenv('HARBOUR_PLUGIN={self.name}'); putenv('HARBOUR_KASOKU=127.0.0.1:{self._site.port}'); putenv('HARBOUR_LOG={self._log}');"
        return self._site.php(f"{place} {code}", **values)

    def purged(self):
        """Checks that the plugin has sent purges, and that none was refused."""
        lines = [line.split() for line in self._log.read_text().splitlines()]
        self._log.write_text("")
        true(lines, f"{self.name} has sent something")
        equal([line for line in lines if line[-1] != "200"], [], f"purges of {self.name} that were refused")


def a_published_post_is_seen_at_once(site, **_):
    for name in PLUGINS:
        plugin = Plugin(site, name)
        number = site.post(f"Draft by {name}", "Tide tables.", status="draft")
        warm(site, "/", "/feed/", "/category/uncategorized/")
        plugin.php("wp_publish_post((int) $values['post']);", post=number)
        plugin.purged()
        for path in ["/", "/feed/", "/category/uncategorized/"]:
            holds(get(site, path)[1], f"Draft by {name}", f"{path} after {name}")


def a_comment_that_waited_is_seen_at_once(site, **_):
    for name in PLUGINS:
        plugin = Plugin(site, name)
        comment = int(site.php("echo wp_insert_comment(['comment_post_ID' => 1, 'comment_content' => $values['text'], 'comment_author' => 'Auberon',"
                               " 'comment_approved' => 0]);", text=f"Seen with {name}"))
        warm(site, "/hello-world/", "/comments/feed/")
        true(f"Seen with {name}" not in get(site, "/hello-world/")[1], "a comment that waits")
        plugin.php("wp_set_comment_status((int) $values['comment'], 'approve');", comment=comment)
        plugin.purged()
        for path in ["/hello-world/", "/comments/feed/"]:
            holds(get(site, path)[1], f"Seen with {name}", f"{path} after {name}")


def a_cache_is_emptied(site, **_):
    for name in PLUGINS:
        plugin = Plugin(site, name)
        warm(site, "/", "/hello-world/", "/feed/")
        plugin.php("do_action('switch_theme', 'x');")
        plugin.purged()
        for path in ["/", "/hello-world/", "/feed/"]:
            equal(get(site, path)[2], False, f"{path} is a hit after {name}")


def uploads_of_debians_package_are_files(site, **_):
    content = content_of(site)
    (content / "photo.txt").write_text("A photo.")
    elsewhere = site.directory / "elsewhere.txt"
    elsewhere.write_text("Linked.")
    (content / "linked.txt").symlink_to(elsewhere)
    (content / "shell.php").write_text("<?php echo 'ran';")
    before = site.php_requests()
    for path, text in [("photo.txt", "A photo."), ("linked.txt", "Linked.")]:
        equal(get(site, f"/wp-content/uploads/{path}")[:2], (200, text), path)
    status, text, _ = get(site, "/wp-content/uploads/shell.php")
    equal((status, "ran" in text, "<?php" in text), (403, False, False), "a script among the uploads")
    theme = "/wp-content/themes/twentytwentythree/style.css"
    equal(get(site, theme)[:2], (200, (site.root / theme[1:]).read_text()), theme)
    equal(site.php_requests() - before, 0, "requests that PHP has seen")


def content_of(site):
    """The directory of uploads as in Debian's /var/lib/wordpress, beside links to the packaged themes."""
    directory = site.directory / "var-lib-wordpress" / "wp-content" / "uploads"
    if not directory.exists():
        directory.mkdir(parents=True)
        themes = directory.parent / "themes"
        themes.mkdir()
        for theme in (site.root / "wp-content" / "themes").iterdir():
            (themes / theme.name).symlink_to(theme)
    return directory


def serve(site):
    """Serves WordPress under a host name, as the plugins know it."""
    (site.root / "wp-content" / "mu-plugins" / "purges.php").write_text(MUST_USE)
    content = content_of(site).parent.parent
    site.php("update_option('siteurl', $values['url']); update_option('home', $values['url']);", url=f"http://{HOST}")
    site.serve(RULES.format(host=HOST, socket=site.php_socket, root=site.root, content=Path(content)))


SCENARIOS = [a_published_post_is_seen_at_once, a_comment_that_waited_is_seen_at_once, a_cache_is_emptied, uploads_of_debians_package_are_files]
