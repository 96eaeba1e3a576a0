//! Tests the options of `kasoku serve` with flags, with a file, and with both.

use clap::Parser;
use kasoku_config::{ConfigReport, Loaded, ServeFlags, examine_input, load};
use kasoku_options::{AccessLogOptions, ListenAddress, LogFormat, LogTarget, OriginAddress};
use kasoku_semantics::policy::Profile;
use std::path::PathBuf;

#[derive(Parser)]
struct Serve {
    #[command(flatten)]
    flags: ServeFlags,
}

fn serve(arguments: &[&str]) -> Result<Loaded, ConfigReport> {
    let arguments = ["serve"].iter().chain(arguments);
    load(&Serve::try_parse_from(arguments).unwrap().flags)
}

fn refused(arguments: &[&str]) -> String {
    serve(arguments).unwrap_err().render(false)
}

/// A configuration file that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = std::env::temp_dir().join(format!("kasoku-config-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn an_origin_is_all_that_is_needed() {
    let loaded = serve(&["--origin", "http://127.0.0.1:8000"]).unwrap();
    assert!(loaded.warnings.is_empty());
    let [site] = loaded.options.sites.as_slice() else { panic!("one site") };
    assert_eq!((site.name.as_str(), site.hosts.len()), ("default", 0));
    assert_eq!(site.route.origins, [OriginAddress::http("127.0.0.1".to_owned(), 8000).into()]);
}

#[test]
fn all_flags_together() {
    let line = "--origin http://a --origin http://b --listen 127.0.0.1:1 --listen unix:/k --admin [::1]:2 --memory 2GiB \
                --workers 3 --profile rfc --access-log - --access-log-format json";
    let options = serve(&line.split_whitespace().collect::<Vec<_>>()).unwrap().options;
    assert_eq!(options.sites[0].route.origins.len(), 2);
    assert_eq!(options.listeners.len(), 2);
    assert_eq!(options.admin, Some(ListenAddress::Tcp("[::1]:2".parse().unwrap())));
    assert_eq!((options.memory_bytes_max, options.workers), (2 << 30, 3));
    assert_eq!(options.sites[0].route.policy.profile, Profile::Rfc);
    let log = AccessLogOptions { target: Some(LogTarget::StandardOutput), format: LogFormat::Json };
    assert_eq!(options.access_log, log);
}

#[test]
fn a_lifetime_can_be_granted_for_a_trial() {
    let options = serve(&["--origin", "http://a", "--ttl", "1h"]).unwrap().options;
    assert_eq!(options.sites[0].route.policy.grant.ttl_seconds, 3600);
    let report = refused(&["--origin", "http://a", "--ttl", "1"]);
    assert!(report.contains("`1` is not a duration: it has no unit\n --> command line:1:25"), "{report}");
}

#[test]
fn scripts_behind_an_application_server_need_no_file() {
    let root = std::env::temp_dir().display().to_string();
    let line = ["--origin", "fastcgi://unix:/run/php.sock", "--root", &root, "--index", "index.php"];
    let loaded = serve(&[&line[..], &["--try-files", "{path} {path}/ /index.php"]].concat()).unwrap();
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
    let gateway = &loaded.options.sites[0].route.gateway;
    assert_eq!(gateway.root.as_deref(), Some(std::env::temp_dir().as_path()));
    assert_eq!((gateway.index.as_slice(), gateway.try_files.len()), (["index.php".to_owned()].as_slice(), 3));
    let report = refused(&["--origin", "fastcgi://a:9000", "--try-files", "{path}", "--try-files", "/a $uri"]);
    assert!(report.contains("nginx's variables mean nothing here\n --> command line:1:61\n"), "{report}");
}

#[test]
fn what_is_not_on_the_disk_is_a_warning_with_its_path() {
    let scratch = Scratch::new("disk", "");
    let text = format!(
        "[request-buffer]\ndirectory = \"/nonexistent/bodies\"\n\
         [[site]]\norigin = \"file://{0}\"\n[[site.rule]]\npath = \"/a\"\norigin = \"cgi://{0}\"\n[[site.rule]]\n\
         path = \"/b\"\norigin = \"cgi:///nonexistent/cgi-bin\"\n[[site.rule]]\npath = \"/c\"\norigin = [\"fastcgi://a:1\", \
         {{ url = \"fastcgi+spawn:///nonexistent/x.fcgi?processes=1\" }}]\nroot = \"{0}/nonexistent\"\n[[site.rule]]\n\
         path = \"/d\"\norigin = \"file://{1}\"\n[[site.rule]]\npath = \"/e\"\n\
         sendfile = {{ roots = [\"/nonexistent/a\"], internal = {{ \"/x/\" = \"/nonexistent/a/b\" }} }}\n",
        scratch.path(),
        std::env::temp_dir().display()
    );
    let file = Scratch::new("disk-file", text);
    let report = serve(&["--config", file.path()]).unwrap().warnings.render(false);
    let warnings: Vec<&str> = report.lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
    let expected = [
        "`/nonexistent/bodies` does not exist".to_owned(),
        format!("`{}` is not a directory", scratch.path()),
        "`/nonexistent/cgi-bin` does not exist".to_owned(),
        "`/nonexistent/x.fcgi` does not exist".to_owned(),
        format!("`{}/nonexistent` does not exist", scratch.path()),
        "`/nonexistent/a` does not exist".to_owned(),
        "`/nonexistent/a/b` does not exist".to_owned(),
    ];
    assert_eq!(warnings, expected, "{report}");
    let flag = serve(&["--origin", "file:///nonexistent"]).unwrap().warnings.render(false);
    assert!(flag.contains("--> command line:1:10"), "{flag}");
}

#[test]
fn a_check_warns_of_a_shared_tier_without_a_secret() {
    let warns = |lines: &str| {
        let text = format!("[shared]\n{lines}\n[[site]]\norigin = \"http://a\"\n");
        examine_input("kasoku.toml", text.as_bytes()).unwrap().warnings.render(false)
    };
    let report = warns("memcached = [\"10.0.0.1:11211\"]");
    assert!(report.starts_with("warning: without a secret, whoever can write to these servers"), "{report}");
    assert!(report.contains("kasoku.toml:2:"), "{report}");
    assert_eq!(warns("memcached = [\"10.0.0.1:11211\"]\nsecret-file = \"/etc/kasoku/shared.secret\""), "");
    let served = Scratch::new("open-tier", "[shared]\nmemcached = \"a:1\"\n[[site]]\norigin = \"http://a\"\n");
    assert_eq!(serve(&["--config", served.path()]).unwrap().warnings.render(false), "", "it may be meant");
}

#[test]
fn flags_win_over_the_file() {
    let text = "listen = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\nworkers = 2\n[memory]\nsize = \"2GiB\"\n[[site]]\norigin = \"http://a\"";
    let file = Scratch::new("win", text);
    let options = serve(&["--config", file.path(), "--listen", "127.0.0.1:3", "--memory", "3GiB"]).unwrap().options;
    assert_eq!(options.listeners.len(), 1);
    assert_eq!(options.listeners[0].address, ListenAddress::Tcp("127.0.0.1:3".parse().unwrap()));
    assert_eq!((options.memory_bytes_max, options.workers), (3 << 30, 2));
}

#[test]
fn an_origin_completes_a_file_without_sites() {
    let file = Scratch::new("complete", "workers = 2");
    let options = serve(&["--config", file.path(), "--origin", "http://a"]).unwrap().options;
    assert_eq!((options.workers, options.sites.len()), (2, 1));
}

#[test]
fn an_origin_beside_a_file_with_sites_is_refused() {
    let file = Scratch::new("both", "workers = 2\n\n[[site]]\norigin = \"http://a\"\n");
    let report = refused(&["--config", file.path(), "--origin", "http://b"]).replace(file.path(), "kasoku.toml");
    let expected = "\
error: `--origin` can't be added to a configuration that has sites
 --> command line:1:10
  |
1 | --origin http://b
  |          ^^^^^^^^
  |
 ::: kasoku.toml:3:1
  |
3 | [[site]]
  | -------- the first site of the file
  |
  = help: leave `--origin` out, or write the origin into the site

1 error
";
    assert_eq!(report, expected);
}

#[test]
fn mistakes_in_flags_are_shown_on_the_command_line() {
    let line = "--origin 127.0.0.1:8000 --listen localhost:80 --memory 1g --workers many --profile strict --admin 0.0.0.0:1 \
         --access-log logs/ --access-log-format xml";
    let report = refused(&line.split_whitespace().collect::<Vec<_>>());
    for words in [
        "`127.0.0.1:8000` is not an origin: it has no scheme\n --> command line:1:10\n",
        "`localhost:80` is not a listening address: it must be a number, not a name\n --> command line:1:34\n",
        "the admin listener can't be `0.0.0.0:1`",
        "`1g` is not a size",
        "`workers` can't be `many`",
        "`profile` can't be `strict`",
        "the access log needs the path of a file",
        "`format` can't be `xml`",
        "help: write \"combined\" or \"combined-cache\" or \"common\" or \"json\"",
        "8 errors\n",
    ] {
        assert!(report.contains(words), "{words}\n{report}");
    }
}

#[test]
fn the_admin_listener_must_not_take_the_default_port_of_clients() {
    let report = refused(&["--origin", "http://a", "--admin", "127.0.0.1:8080"]);
    assert!(report.contains("help: it is the default of `listen`: give it another port"), "{report}");
}

#[test]
fn nothing_to_serve_is_said_with_the_way_out() {
    let report = refused(&[]);
    assert!(
        report.contains("there is no site to serve") && report.contains("--origin http://127.0.0.1:8000"),
        "{report}"
    );
}

#[test]
fn a_file_that_can_not_be_read_is_said_with_the_reason() {
    assert!(refused(&["--config", "/nowhere/kasoku.toml"]).contains("help: there is no such file"));
    assert!(refused(&["--config", "/"]).contains("help: it is a directory"));
    let file = Scratch::new("latin1", b"# one\n# caf\xe9\n");
    assert!(refused(&["--config", file.path()]).contains("help: it is not UTF-8: see line 2"));
    let file = Scratch::new("huge", vec![b'#'; (4 << 20) + 1]);
    assert!(refused(&["--config", file.path()]).contains("help: it is larger than"));
}

#[test]
fn warnings_do_not_keep_from_starting() {
    let file = Scratch::new("warn", "trusted-proxies = [\"::/0\"]\n[[site]]\norigin = \"http://a\"");
    let loaded = serve(&["--config", file.path()]).unwrap();
    assert!(loaded.warnings.render(false).ends_with("\n1 warning\n"), "{}", loaded.warnings);
}

#[test]
fn a_password_on_the_command_line_is_not_repeated() {
    let report = refused(&["--origin", "http://tom:hunter2@app"]);
    assert!(report.contains("do not belong here") && !report.contains("hunter2"), "{report}");
}
