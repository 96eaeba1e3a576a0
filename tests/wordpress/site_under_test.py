"""Installs and runs Debian's WordPress as the installer in the browser leaves it, with the permalinks that most sites have."""

import json
import os
import shutil
from pathlib import Path

from servers import WEB_USER, Servers, run

WORDPRESS = Path("/usr/share/wordpress")
USER, PASSWORD = "editor-in-chief", "correct horse battery"

CONFIG = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $name)
    define($name, 'only for this test: ' . $name);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('WP_ACCESSIBLE_HOSTS', '127.0.0.1');
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
define('WP_DEBUG', false);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""

# All visitors have the same address here, so there must be no limit of the rate of comments.
NO_FLOOD_CONTROL = "<?php add_filter('comment_flood_filter', '__return_false', 99); add_filter('wp_is_comment_flood', '__return_false', 99);"

# Installs as the installer in the browser does, and sets the permalinks that most sites have.
INSTALL = """<?php
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = '127.0.0.1:{port}';
$_SERVER['REQUEST_URI'] = '/';
require '{root}/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Harbour notes', '{user}', 'editor@example.org', true, '', '{password}');
update_option('siteurl', 'http://127.0.0.1:{port}');
update_option('home', 'http://127.0.0.1:{port}');
update_option('permalink_structure', '/%postname%/');
global $wp_rewrite;
$wp_rewrite->init();
$wp_rewrite->flush_rules(true);
// Made anew by the first request, which knows the addresses of categories.
delete_option('rewrite_rules');
echo get_option('permalink_structure');
"""


class Site(Servers):
    """A context with WordPress, its servers, and Kasoku."""

    name = "wordpress"

    def _install(self):
        # A copy without symbolic links to Debian's files, since uploads are written below it.
        shutil.copytree(WORDPRESS, self.root, symlinks=False, ignore=shutil.ignore_patterns("wp-config.php"), ignore_dangling_symlinks=True)
        (self.root / "wp-content" / "uploads").mkdir(exist_ok=True)
        shutil.chown(self.root / "wp-content" / "uploads", WEB_USER, WEB_USER)
        (self.root / "wp-config.php").write_text(CONFIG.format(socket=self.database_socket))
        (self.root / "wp-content" / "mu-plugins").mkdir()
        (self.root / "wp-content" / "mu-plugins" / "no-flood-control.php").write_text(NO_FLOOD_CONTROL)
        # A backup file of an editor, which must never be served.
        (self.root / "wp-config.php~").write_text(CONFIG.format(socket=self.database_socket))
        install = self.directory / "install.php"
        install.write_text(INSTALL.format(port=self.port, root=self.root, user=USER, password=PASSWORD))
        said = run(["php", "-d", "display_errors=1", install])
        if "/%postname%/" not in said:
            raise RuntimeError(f"WordPress could not be installed: {said}")

    def php(self, code, **values):
        """Runs a few lines of PHP with WordPress loaded, without a server, as wp-cli does; returns their output."""
        script = self.directory / "script.php"
        script.write_text(f"<?php $_SERVER['HTTP_HOST'] = '127.0.0.1:{self.port}'; $_SERVER['REQUEST_URI'] = '/';"
                          f" $values = json_decode(getenv('VALUES'), true); require '{self.root}/wp-load.php'; {code}")
        return run(["php", "-d", "display_errors=1", script], env={**os.environ, "VALUES": json.dumps(values)})

    def post(self, title, text, status="publish", password=""):
        """Writes a post without a request; returns its number."""
        insert = "echo wp_insert_post(['post_title' => $values['title'], 'post_content' => $values['text'], 'post_author' => 1,"
        insert += " 'post_status' => $values['status'], 'post_password' => $values['password']]);"
        return int(self.php(insert, title=title, text=text, status=status, password=password))
