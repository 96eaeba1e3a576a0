//! `kasoku disk export`: writes stored responses as HTTP messages.
//!
//! A message has the stored head. A body that the origin sent in chunks gets a Content-Length, so that several messages on standard
//! output can be told apart. Only complete responses are written, and no file is overwritten.

use super::{DirectoryFlags, DiskError, Outcome};
use crate::top::format::plain;
use clap::Args;
use http::StatusCode;
use kasoku_cache::disk::{DiskResponse, ObjectPlace, ObjectReader, Read};
use kasoku_wire::http1::encode_status_line;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The longest part of a URL in the name of a file, in bytes.
const NAME_BYTES_MAX: usize = 150;

/// The arguments of `kasoku disk export`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExportFlags {
    #[command(flatten)]
    directory: DirectoryFlags,
    /// The URL, as `kasoku disk list` shows it; all its variants are written
    #[arg(value_name = "URL", required_unless_present = "prefix", conflicts_with = "prefix")]
    url: Option<String>,
    /// All URLs that begin like this
    #[arg(long, value_name = "URL")]
    prefix: Option<String>,
    /// A folder that gets one file for each response; without it, all go to standard output
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// How one response was written.
enum Written {
    Yes,
    /// It is not whole, and this is why.
    No(&'static str),
}

pub(super) fn export(flags: &ExportFlags, out: &mut impl Write) -> Outcome {
    let contents = flags.directory.open()?;
    let mut reader = contents.reader();
    if let Some(folder) = &flags.to {
        fs::create_dir_all(folder).map_err(|error| in_file(folder, &error))?;
    }
    let places: Vec<ObjectPlace> = match &flags.url {
        Some(url) => contents.places_of(url).collect(),
        None => contents.places().collect(),
    };
    let is_wanted = |url: &str| match (&flags.url, &flags.prefix) {
        (Some(wanted), _) => url == wanted,
        (None, prefix) => url.starts_with(prefix.as_deref().unwrap_or_default()),
    };
    let (mut written, mut is_good) = (0_u64, true);
    for place in places {
        let response = match contents.read(&mut reader, place) {
            Read::Response(response) if is_wanted(&response.url) => response,
            Read::Damaged => {
                eprintln!("kasoku disk: a response is damaged, and left out: see `kasoku disk verify`");
                is_good = false;
                continue;
            }
            Read::Response(_) | Read::Form(_) | Read::Purged | Read::Gone | Read::Unknown => continue,
        };
        let url = plain(&response.url);
        let done = match &flags.to {
            Some(folder) => {
                let path = folder.join(file_name(written + 1, &response.url));
                let done = write_file(&path, &reader, &response).map_err(|error| in_file(&path, &error))?;
                if let Written::Yes = done {
                    writeln!(out, "{}  {url}", path.display())?;
                }
                done
            }
            None => write_message(out, &reader, &response)?,
        };
        match done {
            Written::Yes => written += 1,
            Written::No(why) => {
                eprintln!("kasoku disk: {url}: {why}");
                is_good = false;
            }
        }
    }
    if written == 0 && is_good {
        let wanted = flags.url.as_ref().or(flags.prefix.as_ref()).map(|wanted| plain(wanted)).unwrap_or_default();
        return Err(DiskError::Told(format!("nothing is stored on disk for {wanted}")));
    }
    Ok(is_good)
}

fn in_file(path: &Path, error: &io::Error) -> DiskError {
    DiskError::Told(format!("{}: {error}", path.display()))
}

fn write_file(path: &Path, reader: &ObjectReader<'_>, response: &DiskResponse) -> io::Result<Written> {
    // A page may be for few eyes, as it is in the cache.
    let mut file = BufWriter::new(OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?);
    let done = write_message(&mut file, reader, response).and_then(|done| file.flush().map(|()| done));
    if !matches!(done, Ok(Written::Yes)) {
        fs::remove_file(path)?;
    }
    done
}

fn write_message(out: &mut impl Write, reader: &ObjectReader<'_>, response: &DiskResponse) -> io::Result<Written> {
    if response.is_decision {
        return Ok(Written::No("its body is a file outside the cache: it is left out"));
    }
    if !response.is_complete() {
        return Ok(Written::No("only parts of it are stored: it is left out"));
    }
    let mut head = Vec::new();
    encode_status_line(response.head.status, &response.head.reason, &mut head);
    let mut fields = response.head.fields.clone();
    fields.remove("transfer-encoding");
    fields.remove("content-length");
    if response.head.status != StatusCode::NO_CONTENT {
        fields.push("Content-Length", response.object.body_bytes().to_string());
    }
    head.extend_from_slice(fields.block());
    head.extend_from_slice(b"\r\n");
    out.write_all(&head)?;
    for (_, bytes) in reader.chunks(&response.object) {
        let Some(bytes) = bytes else {
            return Ok(Written::No("its body is damaged: what is written of it ends there"));
        };
        out.write_all(&bytes)?;
    }
    Ok(Written::Yes)
}

/// A name that any file system takes: a number, and what is readable of the URL.
fn file_name(number: u64, url: &str) -> String {
    let readable = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let without_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let name: String = without_scheme.chars().map(readable).take(NAME_BYTES_MAX).collect();
    format!("{number:06}-{name}.http")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_url_leads_out_of_the_folder() {
        assert_eq!(file_name(1, "http://a.org/../x?y=\u{e9}"), "000001-a.org_.._x_y__.http");
        assert!(file_name(2, &"http://a.org/".repeat(100)).len() < 255);
    }
}
