//! Tests of `no_programs`: a script that visitors have uploaded does not run, whatever its name and whatever the path to it.

use super::*;
use kasoku_options::{PathGlob, Rewrite};

/// A board with uploads of visitors below `data`.
fn uploads() -> Scratch {
    Scratch::new(&[
        "index.php",
        "bbs/board.php",
        "data/x.php",
        "data/file/x.php",
        "data/file/x.PHP",
        "data/file/x.phtml",
        "data/file/x.php.jpg",
        "data/file/a.jpg",
        "data/app/index.php",
        "board/data/x.php",
        "database/x.php",
    ])
}

fn no_programs(rules: &mut OwnedRules, globs: &[&str]) {
    php(rules);
    rules.gateway.no_programs = globs.iter().map(|glob| PathGlob::new(glob)).collect();
}

#[test]
fn a_script_is_forbidden_in_whichever_spelling() {
    let place = uploads();
    with_rules(
        |rules| no_programs(rules, &["/data/*"]),
        |rules| {
            for path in [
                "/data/x.php",
                "/data/file/x.php",
                "/data/file/x.php/",
                "/data/file/x.php/y",
                "/data/file/x.php/y/.z",
                "/data/file/x.php/a.jpg",
                "/data/file/x.%70hp",
                "/%64ata/file/x.php",
                "/d%61ta/file/x%2ephp/y",
                "//data//file//x.php",
                "/./data/./file/x.php",
                "/bbs/../data/file/x.php",
                "/bbs/%2e%2e/data/file/x.php",
                "/data/file/x.PHP",
                "/data/file/x.phtml",
                "/data/app/",
                "/data/app/index.php",
            ] {
                assert_eq!(place.shown(path, rules), "forbidden", "{path}");
            }
            place.expect(
                rules,
                &[
                    ("/data/file/a.jpg", "file /data/file/a.jpg"),
                    ("/data/file/x.php.jpg", "file /data/file/x.php.jpg"),
                    ("/data/file/a.jpg/x.php", "missing"),
                    ("/data/file/none.php", "missing"),
                    ("/data%2ffile/x.php", "missing"),
                    ("/data/app", "redirect /data/app/"),
                    ("/board/data/x.php", "script /board/data/x.php "),
                    ("/database/x.php", "script /database/x.php "),
                    // The script's path counts, not PATH_INFO.
                    ("/index.php/data/x.php", "script /index.php /data/x.php"),
                ],
            );
        },
    );
}

#[test]
fn a_script_is_forbidden_however_it_is_found() {
    let place = uploads();
    let change = |rules: &mut OwnedRules| {
        no_programs(rules, &["*/data/*"]);
        rules.gateway.try_files = strings(&["{path}", "{path}/", "/data{path}", "/index.php"]);
        let lines = ["/{name:word}.html => /data/{name}.php?a={name}", "/app-{a:word} => /data/app/?a={a}"];
        rules.gateway.rewrites = lines.map(|line| Rewrite::parse(line).unwrap()).to_vec();
    };
    with_rules(change, |rules| {
        place.expect(
            rules,
            &[
                ("/x.html", "forbidden"),
                ("/app-x", "forbidden"),
                ("/x.php", "forbidden"),
                ("/file/x.php/y", "forbidden"),
                ("/data/app/", "forbidden"),
                ("/board/data/x.php", "forbidden"),
                ("/data/none.php", "script /index.php "),
                ("/file/a.jpg", "file /data/file/a.jpg"),
            ],
        );
    });
}

#[test]
fn programs_of_whatever_name_are_forbidden_and_a_prefix_is_a_part_of_the_path() {
    let place = Scratch::new(&["a.cgi", "data/a", "data/b.cgi"]);
    for file in ["a.cgi", "data/a", "data/b.cgi"] {
        place.make_executable(file);
    }
    let change = |rules: &mut OwnedRules| {
        no_programs(rules, &["/mt/data", "/data"]);
        rules.scripts = Scripts::Programs;
        rules.gateway.url_prefix = "/mt".to_owned();
    };
    with_rules(change, |rules| {
        place.expect(
            rules,
            &[
                ("/mt/data/a", "forbidden"),
                ("/mt/data/a/b", "forbidden"),
                ("/mt/data/b.cgi", "forbidden"),
                ("/mt/a.cgi/data/a", "script /mt/a.cgi /data/a"),
            ],
        );
    });
}
