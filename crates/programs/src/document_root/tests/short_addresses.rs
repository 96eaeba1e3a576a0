//! Tests of short addresses: an existing file comes first, then the script of the short address, then `try_files`.

use super::*;
use kasoku_options::Rewrite;

fn rewrites(lines: &[&str]) -> Vec<Rewrite> {
    lines.iter().map(|line| Rewrite::parse(line).unwrap()).collect()
}

/// A board with addresses as gnuboard5 has them.
fn board(rules: &mut OwnedRules) {
    php(rules);
    rules.gateway.rewrites = rewrites(&[
        "/{board:word} => /bbs/board.php?board={board}",
        "/{board:word}/{id:digits} => /bbs/board.php?board={board}&id={id}",
        "/{board:word}/{title}/ => /bbs/board.php?board={board}&title={title}",
    ]);
}

const FILES: [&str; 7] =
    ["index.php", "bbs/board.php", "bbs/index.php", "empty/a.txt", "about", "2024/1.txt", "2024/3/index.html"];

#[test]
fn a_short_address_counts_where_neither_a_file_nor_a_directory_is() {
    let place = Scratch::new(&FILES);
    with_rules(board, |rules| {
        place.expect(
            rules,
            &[
                ("/free", "script /bbs/board.php ?board=free"),
                ("/free?page=2", "script /bbs/board.php ?board=free&page=2"),
                ("/free/12?a=b?c", "script /bbs/board.php ?board=free&id=12&a=b?c"),
                ("/free/a%20b%26c/", "script /bbs/board.php ?board=free&title=a%20b%26c"),
                ("/free/a%5Cb/", "script /bbs/board.php ?board=free&title=a%5Cb"),
                ("//fre%65/./12", "script /bbs/board.php ?board=fre%65&id=12"),
                // Existing files and directories come first.
                ("/", "script /index.php "),
                ("/about", "file /about"),
                ("/bbs", "redirect /bbs/"),
                ("/bbs/", "script /bbs/index.php "),
                ("/empty", "forbidden"),
                ("/2024/3/", "file /2024/3/index.html"),
                ("/2024/3", "redirect /2024/3/"),
                ("/bbs/board.php?board=x", "script /bbs/board.php "),
                ("/bbs/board.php/12", "script /bbs/board.php /12"),
                // A path that fits no short address is missing.
                ("/free/12/x", "missing"),
                ("/a-b", "missing"),
                ("/free/%00/", "missing"),
                ("/free%2f12", "missing"),
                ("/../free", "missing"),
            ],
        );
    });
}

#[test]
fn a_short_address_comes_before_the_front_controller() {
    let place = Scratch::new(&FILES);
    let change = |rules: &mut OwnedRules| {
        board(rules);
        rules.gateway.try_files = strings(&["{path}", "{path}/", "/index.php"]);
    };
    with_rules(change, |rules| {
        place.expect(
            rules,
            &[
                ("/free/12", "script /bbs/board.php ?board=free&id=12"),
                ("/about", "file /about"),
                ("/bbs", "redirect /bbs/"),
                // The directory exists, so it is no short address; without an index file, the front controller answers.
                ("/empty", "script /index.php "),
                ("/a-b?c", "script /index.php "),
                ("/free/12/x", "script /index.php "),
                ("/.env", "script /index.php "),
            ],
        );
    });
}

#[test]
fn what_a_short_address_stands_for_is_looked_for_once() {
    let place = Scratch::new(&["index.php", "app.php", "app/index.php", "logo.svg", "lib.inc", "old.php~"]);
    let change = |rules: &mut OwnedRules| {
        php(rules);
        rules.gateway.try_files = strings(&["{path}", "/index.php"]);
        rules.gateway.rewrites = rewrites(&[
            "/info/{a:word} => /app.php/{a}?b={a}",
            "/app-{a:word} => /app/?a={a}",
            "/slash => /app",
            "/logo => /logo.svg?x",
            "/again => /logo",
            "/gone => /gone.php",
            "/lib => /lib.inc",
            "/old => /old.php~",
            "/dot => /.htaccess",
            "/{a:word} => /{a}.php",
        ]);
    };
    with_rules(change, |rules| {
        place.expect(
            rules,
            &[
                ("/info/x?c", "script /app.php /x?b=x&c"),
                ("/app-x", "script /app/index.php ?a=x"),
                ("/slash", "missing"),
                ("/logo", "file /logo.svg"),
                ("/again", "missing"),
                ("/gone", "missing"),
                ("/lib", "forbidden"),
                ("/old", "missing"),
                ("/dot", "missing"),
                ("/index", "script /index.php ?"),
                ("/app", "script /index.php "),
            ],
        );
    });
}

#[test]
fn a_prefix_of_the_url_is_a_part_of_both_sides() {
    let place = Scratch::new(&["item.php", "a.png"]);
    let change = |rules: &mut OwnedRules| {
        php(rules);
        rules.gateway.url_prefix = "/shop".to_owned();
        rules.gateway.rewrites =
            rewrites(&["/shop/{id:digits} => /shop/item.php?id={id}", "/shop/x => /item.php", "/y => /shop/item.php"]);
    };
    with_rules(change, |rules| {
        place.expect(
            rules,
            &[
                ("/shop/7", "script /shop/item.php ?id=7"),
                ("/shop/x", "missing"),
                ("/y", "missing"),
                ("/shop/a.png", "file /a.png"),
            ],
        );
    });
}

/// A pipe and a link out of the root exist, so their names are no short addresses.
#[test]
fn what_is_there_and_not_for_clients_is_there() {
    let place = Scratch::new(&["x.php", "bbs/board.php"]);
    rustix::fs::mkfifoat(rustix::fs::CWD, place.root().join("pipe"), rustix::fs::Mode::from(0o644)).unwrap();
    symlink("../..", place.root().join("out")).unwrap();
    with_rules(board, |rules| {
        place.expect(rules, &[("/pipe", "forbidden"), ("/out", "forbidden"), ("/out/7", "forbidden")])
    });
}

#[test]
fn files_alone_are_found_by_short_addresses_and_scripts_stay_source() {
    let place = Scratch::new(&["pages/about.html", "bbs/board.php"]);
    let change = |rules: &mut OwnedRules| {
        rules.gateway.rewrites = rewrites(&["/free => /bbs/board.php", "/{page:word} => /pages/{page}.html?x={page}"]);
    };
    with_rules(change, |rules| {
        place.expect(rules, &[("/about", "file /pages/about.html"), ("/none", "missing"), ("/free", "forbidden")]);
    });
}
