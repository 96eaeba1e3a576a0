use super::*;
use crate::OpenFiles;
use kasoku_options::{PathGlob, Rewrite};
use std::os::unix::fs::{PermissionsExt, symlink};

const NAMES: &str =
    "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; echo \"$SCRIPT_NAME|$PATH_INFO|$PATH_TRANSLATED\"";

async fn status(site: &mut Site, target: &str) -> u16 {
    site.whole(get(target)).await.unwrap().status
}

#[test]
fn a_path_divides_at_the_first_file_that_it_meets() {
    play(async {
        let mut site = Site::new();
        site.write("mt/search.cgi", NAMES);
        site.gateway.url_prefix = "/cgi-bin".to_owned();
        let root = site.directory.display().to_string();
        for (target, expected) in [
            ("/cgi-bin/mt/search.cgi", "/cgi-bin/mt/search.cgi||\n".to_owned()),
            ("/cgi-bin/mt/search.cgi/", format!("/cgi-bin/mt/search.cgi|/|{root}/\n")),
            ("/cgi-bin/mt/search.cgi/a/b%20c?d", format!("/cgi-bin/mt/search.cgi|/a/b c|{root}/a/b c\n")),
        ] {
            assert_eq!(site.whole(get(target)).await.unwrap().body, expected, "{target}");
        }
        assert_eq!(status(&mut site, "/mt/search.cgi").await, 404);
    });
}

#[test]
fn what_is_no_program_is_403_or_404_and_never_its_text() {
    play(async {
        let mut site = Site::new();
        site.write("a.cgi", NAMES);
        site.write("source.pl", "print 'secret'");
        fs::set_permissions(site.directory.join("source.pl"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::create_dir(site.directory.join("empty")).unwrap();
        symlink("/bin/echo", site.directory.join("out.cgi")).unwrap();
        site.write(".hidden.cgi", NAMES);
        site.write("a.cgi.bak", NAMES);
        for (target, expected) in [
            ("/a.cgi", 200),
            ("/source.pl", 403),
            ("/source.pl/a", 403),
            ("/out.cgi", 403),
            ("/empty/", 403),
            ("/nothing.cgi", 404),
            ("/a.cgi%00", 404),
            ("/../../bin/echo", 404),
            ("/%2e%2e/%2e%2e/bin/echo", 404),
            ("/..%2f..%2fbin/echo", 404),
            ("/.hidden.cgi", 404),
            ("/a.cgi.bak", 404),
        ] {
            let whole = site.whole(get(target)).await.unwrap();
            assert_eq!(whole.status, expected, "{target}");
            assert!(!whole.body.contains("secret"));
        }
        site.until_idle().await;
    });
}

#[test]
fn a_directory_without_its_slash_is_a_redirect_that_keeps_the_query() {
    play(async {
        let mut site = Site::new();
        site.write("app/index.cgi", NAMES);
        site.gateway.index = vec!["index.cgi".to_owned()];
        let whole = site.whole(get("/app?a=b")).await.unwrap();
        assert_eq!((whole.status, whole.head.fields.first("location")), (301, Some(&b"/app/?a=b"[..])));
        assert_eq!(site.whole(get("/app/")).await.unwrap().body, "/app/index.cgi||\n");
    });
}

#[test]
fn a_short_address_runs_its_program_with_its_query() {
    play(async {
        let mut site = Site::new();
        site.write(
            "board.cgi",
            "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; echo \"$SCRIPT_NAME|$QUERY_STRING|$REQUEST_URI\"",
        );
        let rule = "/{board:word}/{id:digits} => /board.cgi?board={board}&id={id}";
        site.gateway.rewrites = vec![Rewrite::parse(rule).unwrap()];
        let whole = site.whole(get("/free/12?page=2")).await.unwrap();
        assert_eq!(whole.body, "/board.cgi|board=free&id=12&page=2|/free/12?page=2\n");
        assert_eq!(status(&mut site, "/free/x").await, 404);
    });
}

#[test]
fn where_no_program_runs_one_program_runs_for_no_path_either() {
    play(async {
        let mut site = Site::new();
        site.write("a.cgi", NAMES);
        site.gateway.no_programs = vec![PathGlob::new("/data/*")];
        site.write("data/x.cgi", NAMES);
        assert_eq!((status(&mut site, "/data/x.cgi/y").await, status(&mut site, "/a.cgi").await), (403, 200));
        let mut one = Site { directory: site.directory.join("a.cgi"), ..site.clone() };
        for (target, expected) in [("/x", 200), ("/data/x", 403), ("//d%61ta/./x", 403)] {
            assert_eq!(status(&mut one, target).await, expected, "{target}");
        }
    });
}

#[test]
fn one_program_answers_for_all_paths() {
    play(async {
        let site = Site::new();
        site.write("app one.cgi", NAMES);
        site.write("other.cgi", NAMES);
        let mut one = Site { directory: site.directory.join("app one.cgi"), ..site.clone() };
        for (prefix, target, expected) in [
            ("", "/", "|/|\n"),
            ("", "/a/b.cgi", "|/a/b.cgi|\n"),
            ("/app", "/app", "/app||\n"),
            ("/app", "/app/x", "/app|/x|\n"),
        ] {
            one.gateway.url_prefix = prefix.to_owned();
            assert_eq!(one.whole(get(target)).await.unwrap().body, expected, "{target}");
        }
        for target in ["/application", "/app/../other.cgi", "/app/%2e%2e/other.cgi", "/app/../../other.cgi"] {
            assert_eq!(status(&mut one, target).await, 404, "{target}");
        }
    });
}

#[test]
fn what_can_t_be_run_is_our_502_and_not_its_text() {
    play(async {
        let mut site = Site::new();
        site.write("text.cgi", "print 'secret'");
        site.write("nowhere.cgi", "#!/nowhere/perl\nprint 'secret'");
        for target in ["/text.cgi", "/nowhere.cgi"] {
            let sent = site.whole(get(target)).await;
            assert!(matches!(sent, Err(Error::NotStarted(_))), "{target}: {sent:?}");
        }
        site.until_idle().await;
    });
}

#[test]
fn a_check_runs_the_program_also_when_no_permit_is_free() {
    play(async {
        let mut site = Site::with("printf 'Content-Type: text/plain\\n\\n'; while :; do echo; done");
        site.limits.programs.processes_max = 1;
        let _running = site.response(get("/a.cgi")).await.unwrap();
        let head = get("/a.cgi");
        let (connection, gateway, limits) = (&site.connection, &site.gateway, &site.limits);
        let request = Request { head: &head, connection, gateway, limits, open_files: &OpenFiles::default() };
        assert_eq!(check(&site.directory, &request).await.unwrap().status, 200);
    });
}

#[test]
fn a_directory_of_programs_that_is_not_there_is_an_origin_that_can_t_be_reached() {
    play(async {
        let mut site = Site::new();
        fs::remove_dir_all(&site.directory).unwrap();
        let sent = site.whole(get("/a.cgi")).await;
        assert!(matches!(sent, Err(Error::Unreachable(_))), "{sent:?}");
    });
}
