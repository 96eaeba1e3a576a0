//! The flags of `kasoku serve`. Checks flags and file together, and makes options of them.
//!
//! A flag is one more way to write a setting: it goes through the same checks and wins over the file. For the report
//! the flags are written as one line, so that an issue points into the command line as it points into a file. Help
//! texts are the table's.

use crate::issue::{Issue, Located, SettingsSource, SourceLocation, quoted};
use crate::line_numbers::LineNumbers;
use crate::raw::{LocatedTexts, Raw, RawListener, RawOrigin, RawOrigins, RawSite};
use crate::reader::WrittenKeys;
use crate::report::ConfigReport;
use crate::table::{self, SettingScope, flag_help};
use crate::{bounds, document, on_disk, resolve};
use kasoku_options::Options;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest configuration file, in bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What can be said on the command line of `kasoku serve`. Values are texts here; they are checked with the file's.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct ServeFlags {
    /// The configuration file.
    #[arg(long, value_name = "FILE", help = "The configuration file (TOML). Flags win over it.")]
    pub config: Option<PathBuf>,
    /// `site.origin` of a single site for any host.
    #[arg(long, value_name = "URL", help = flag_help("--origin"))]
    pub origin: Vec<String>,
    /// `listen`
    #[arg(long, value_name = "ADDRESS", help = flag_help("--listen"))]
    pub listen: Vec<String>,
    /// `admin`
    #[arg(long, value_name = "ADDRESS", help = flag_help("--admin"))]
    pub admin: Option<String>,
    /// `admin-token-file`
    #[arg(long, value_name = "FILE", help = flag_help("--admin-token-file"))]
    pub admin_token_file: Option<String>,
    /// `control-socket`
    #[arg(long, value_name = "PATH", help = flag_help("--control-socket"))]
    pub control_socket: Option<String>,
    /// `user`
    #[arg(long, value_name = "USER[:GROUP]", help = flag_help("--user"))]
    pub user: Option<String>,
    /// `pid-file`
    #[arg(long, value_name = "FILE", help = flag_help("--pid-file"))]
    pub pid_file: Option<String>,
    /// `root`
    #[arg(long, value_name = "DIRECTORY", help = flag_help("--root"))]
    pub root: Option<String>,
    /// `index`: names with blanks between them.
    #[arg(long, value_name = "NAMES", help = flag_help("--index"))]
    pub index: Vec<String>,
    /// `try-files`: names with blanks between them.
    #[arg(long, value_name = "NAMES", help = flag_help("--try-files"))]
    pub try_files: Vec<String>,
    /// `ttl`
    #[arg(long, value_name = "DURATION", help = flag_help("--ttl"))]
    pub ttl: Option<String>,
    /// `memory.size`
    #[arg(long, value_name = "SIZE", help = flag_help("--memory"))]
    pub memory: Option<String>,
    /// `workers`
    #[arg(long, value_name = "N", help = flag_help("--workers"))]
    pub workers: Option<String>,
    /// `profile`
    #[arg(long, value_name = "PROFILE", help = flag_help("--profile"))]
    pub profile: Option<String>,
    /// `disk.path` and `disk.size`
    #[arg(long, value_name = "DIRECTORY:SIZE", help = flag_help("--disk"))]
    pub disk: Option<String>,
    /// `access-log.path`
    #[arg(long, value_name = "PATH", help = flag_help("--access-log"))]
    pub access_log: Option<String>,
    /// `access-log.format`
    #[arg(long, value_name = "FORMAT", help = flag_help("--access-log-format"))]
    pub access_log_format: Option<String>,
    /// `log.format`
    #[arg(long, value_name = "FORMAT", help = flag_help("--log-format"))]
    pub log_format: Option<String>,
}

/// Options that passed every check.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The options of the program.
    pub options: Options,
    /// Warnings about settings that work, but hardly as meant; may be empty.
    pub warnings: ConfigReport,
}

/// Reads the file, if one is named, lays the flags over it and checks all of it.
///
/// # Errors
/// The report of all faults, warnings included, if at least one of them is an error. A file that can't be read is an error.
pub fn load(flags: &ServeFlags) -> Result<Loaded, ConfigReport> {
    load_looking_at(flags, CheckScope::Disk)
}

/// [`load`] with slower checks, for advice: it also looks below document roots, and warns of what an operator may miss.
///
/// # Errors
/// As [`load`].
pub fn examine(flags: &ServeFlags) -> Result<Loaded, ConfigReport> {
    load_looking_at(flags, CheckScope::Trees)
}

/// [`examine`] for a text that is no file, such as standard input. Reports call it `name`.
///
/// # Errors
/// As [`load`].
pub fn examine_input(name: &str, input: impl Read) -> Result<Loaded, ConfigReport> {
    examine_text(name, read_text(input), &ServeFlags::default(), CheckScope::Trees)
}

fn load_looking_at(flags: &ServeFlags, look: CheckScope) -> Result<Loaded, ConfigReport> {
    let name = flags.config.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let text = flags.config.as_ref().map_or_else(|| Ok(String::new()), |path| read_file(path));
    examine_text(&name, text, flags, look)
}

fn examine_text(
    name: &str,
    text: Result<String, String>,
    flags: &ServeFlags,
    look: CheckScope,
) -> Result<Loaded, ConfigReport> {
    let mut report = ConfigReport { file_name: name.to_owned(), ..ConfigReport::default() };
    match text {
        Ok(text) => report.file = text,
        Err(why) => {
            let issue = Issue::error(format!("the configuration {} can't be read", quoted(name)));
            report.issues.push(issue.help(why));
            return Err(report);
        }
    }
    let mut issues = Vec::new();
    let options = check(&report.file_name, &report.file, flags, look, &mut report.flags, &mut issues);
    report.issues = issues;
    match options {
        Some(options) => Ok(Loaded { options, warnings: report }),
        None => Err(report),
    }
}

/// What a check looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckScope {
    /// The text alone.
    Text,
    /// Also whether directories and programs exist.
    Disk,
    /// Also what lies below the directories, and what an operator may miss.
    Trees,
}

/// Checks a text, which reports call `name`, together with the flags. Writes the flags into `line`.
pub(crate) fn check(
    name: &str,
    text: &str,
    flags: &ServeFlags,
    look: CheckScope,
    line: &mut String,
    issues: &mut Vec<Issue>,
) -> Option<Options> {
    let mut raw = document::parse(text, issues)?;
    CommandLine { line, written: WrittenKeys::new(), issues }.lay_over(&mut raw, flags);
    let options = resolve::resolve(&raw, &LineNumbers::new(name, text), issues);
    if look != CheckScope::Text {
        on_disk::warn(&raw, issues);
        on_disk::warn_of_user(&raw, issues);
    }
    if look == CheckScope::Trees {
        on_disk::warn_without_a_token(&raw, &options, issues);
        on_disk::warn_without_a_secret(&raw, &options, issues);
    }
    if look == CheckScope::Trees && !issues.iter().any(Issue::is_error) {
        on_disk::warn_of_writable(&raw, &options, issues);
    }
    issues.sort_by_key(|issue| {
        issue.place.as_ref().map_or((true, SettingsSource::File, 0), |place| (false, place.source, place.span.start))
    });
    (!issues.iter().any(Issue::is_error)).then_some(options)
}

/// Writes the flags as one line.
struct CommandLine<'l> {
    line: &'l mut String,
    written: WrittenKeys,
    issues: &'l mut Vec<Issue>,
}

impl CommandLine<'_> {
    fn lay_over(&mut self, raw: &mut Raw, flags: &ServeFlags) {
        let origins: Vec<_> = flags.origin.iter().map(|url| self.write("--origin", url)).collect();
        if let Some(first) = origins.first() {
            let place = first.place.clone();
            let value = origins.into_iter().map(RawOrigin::of_url).collect();
            self.make_site(raw, Located { value, place });
        }
        let listen: Vec<_> = flags.listen.iter().map(|address| self.write("--listen", address)).collect();
        if let Some(first) = listen.first() {
            let place = first.place.clone();
            raw.listen = Some(Located { value: listen.into_iter().map(RawListener::of_address).collect(), place });
        }
        let texts = [
            (&mut raw.admin, "--admin", &flags.admin),
            (&mut raw.admin_token_file, "--admin-token-file", &flags.admin_token_file),
            (&mut raw.control_socket, "--control-socket", &flags.control_socket),
            (&mut raw.user, "--user", &flags.user),
            (&mut raw.pid_file, "--pid-file", &flags.pid_file),
            (&mut raw.route.gateway.root, "--root", &flags.root),
            (&mut raw.workers, "--workers", &flags.workers),
            (&mut raw.profile, "--profile", &flags.profile),
            (&mut raw.access_log.path, "--access-log", &flags.access_log),
            (&mut raw.access_log.format, "--access-log-format", &flags.access_log_format),
            (&mut raw.log.format, "--log-format", &flags.log_format),
        ];
        for (setting, flag, text) in texts {
            if let Some(text) = text {
                *setting = Some(self.write(flag, text));
            }
        }
        raw.route.gateway.index = self.write_names("--index", &flags.index).or(raw.route.gateway.index.take());
        let try_files = self.write_names("--try-files", &flags.try_files);
        raw.route.gateway.try_files = try_files.or(raw.route.gateway.try_files.take());
        if let Some(ttl) = &flags.ttl {
            let text = self.write("--ttl", ttl);
            let ttl = table::find(SettingScope::Top, "ttl").map(|row| bounds::duration(row, &text));
            raw.route.expiry.ttl = ttl.and_then(|ttl| ttl.map_err(|issue| self.issues.push(issue)).ok());
        }
        if let Some(size) = &flags.memory {
            let text = self.write("--memory", size);
            let size = table::find(SettingScope::Top, "memory.size").map(|row| bounds::size(row, &text));
            raw.memory.size = size.and_then(|size| size.map_err(|issue| self.issues.push(issue)).ok());
        }
        if let Some(disk) = &flags.disk {
            self.write_disk(raw, disk);
        }
        raw.route.written.append(&mut self.written);
    }

    /// Appends `--disk`, whose value is a directory and a size.
    fn write_disk(&mut self, raw: &mut Raw, disk: &str) {
        let text = self.write("--disk", disk);
        let Some((path, size)) = text.value.rsplit_once(':') else {
            let issue = Issue::error("`--disk` needs a directory and a size").at(&text.place);
            return self.issues.push(issue.help("like `--disk /var/cache/kasoku:50GiB`"));
        };
        let part = |value: &str| Located { value: value.to_owned(), place: text.place.clone() };
        let row = table::find(SettingScope::Top, "disk.size");
        match row.map(|row| bounds::size(row, &part(size))) {
            Some(Ok(size)) => raw.disk.size = Some(size),
            Some(Err(issue)) => self.issues.push(issue),
            None => {}
        }
        raw.disk.path = Some(part(path));
    }

    /// Makes the one site of `--origin`. It is an error if the file has sites.
    fn make_site(&mut self, raw: &mut Raw, origins: RawOrigins) {
        if let Some(site) = raw.sites.iter().find_map(|site| site.place.as_ref()) {
            let issue = Issue::error("`--origin` can't be added to a configuration that has sites").at(&origins.place);
            let issue = issue.related(site, "the first site of the file");
            self.issues.push(issue.help("leave `--origin` out, or write the origin into the site"));
            return;
        }
        raw.sites = vec![RawSite { origins: Some(origins), ..RawSite::default() }];
    }

    /// Appends a flag whose values are names with blanks between them, and returns the names with their places.
    fn write_names(&mut self, flag: &str, values: &[String]) -> Option<LocatedTexts> {
        let written: Vec<_> = values.iter().map(|value| self.write(flag, value)).collect();
        let place = written.first()?.place.clone();
        let mut names = Vec::new();
        for Located { value, place } in &written {
            let mut start = place.span.start;
            for name in value.split(|c: char| c.is_ascii_whitespace()) {
                let span = start..start + name.len();
                start = span.end + 1;
                if !name.is_empty() {
                    names.push(Located {
                        value: name.to_owned(),
                        place: SourceLocation { source: SettingsSource::Flags, span },
                    });
                }
            }
        }
        Some(Located { value: names, place })
    }

    /// Appends a flag to the line, and returns its value with its place there.
    fn write(&mut self, flag: &str, value: &str) -> Located<String> {
        if !self.line.is_empty() {
            self.line.push(' ');
        }
        self.line.push_str(flag);
        self.line.push(' ');
        let start = self.line.len();
        self.line.push_str(value);
        let place = SourceLocation { source: SettingsSource::Flags, span: start..self.line.len() };
        self.written.extend(table::by_flag(flag).map(|row| (row.path, place.clone())));
        Located { value: value.to_owned(), place }
    }
}

/// The file's text, or why there is none.
fn read_file(path: &Path) -> Result<String, String> {
    read_text(File::open(path).map_err(why_unread)?)
}

fn why_unread(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => error.to_string(),
    }
}

fn read_text(input: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(why_unread)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it is larger than {FILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
        format!("it is not UTF-8: see line {line}")
    })
}
