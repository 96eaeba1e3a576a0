//! Files that lie compressed beside a file: `app.js.br`, `app.js.zst`, `app.js.gz` beside `app.js`.
//!
//! All three are looked for, whatever the client accepts: where one is there, the answer varies by Accept-Encoding also for
//! those who get the plain file, or the cache would give that to all. One that is older than its file is a leftover of an
//! earlier release, and is not there.

use crate::document_root::{DocumentRoot, OpenFile, Symlinks};
use kasoku_wire::Fields;
use kasoku_wire::field::accept_language::preferences;
use std::io;

/// A content coding, and what its file's name ends with; in the order of our preference, which is that of their usual sizes.
const CODINGS: [(&str, &str); 3] = [("br", ".br"), ("zstd", ".zst"), ("gzip", ".gz")];

/// Qualities in thousandths, in the order of [`CODINGS`]; 0: not accepted. And that of the plain file, where it is named.
pub(super) struct Accepted {
    codings: [u16; CODINGS.len()],
    identity: Option<u16>,
}

/// The files that lie beside one, in the order of [`CODINGS`].
pub(super) type Siblings = [Option<OpenFile>; CODINGS.len()];

/// What is to be sent.
pub(super) struct Negotiated {
    pub(super) file: OpenFile,
    /// Its content coding.
    pub(super) coding: Option<&'static str>,
    /// Whether another Accept-Encoding could get another representation.
    pub(super) varies: bool,
    /// When the plain file was last modified, in seconds of Unix time: that is what the URL is about.
    pub(super) modified: i64,
    /// The plain file's name, which tells the type.
    pub(super) name: Vec<u8>,
}

/// What a request accepts (RFC 9110 section 12.5.3). One without the field accepts anything by the letter; it gets the plain
/// file, since programs that leave it out can't decode.
pub(super) fn accepted(fields: &Fields) -> Accepted {
    let (mut codings, mut identity, mut any) = ([None; CODINGS.len()], None, None);
    for one in fields.all("accept-encoding").flat_map(preferences) {
        let is = |name: &str| one.value.eq_ignore_ascii_case(name.as_bytes());
        match CODINGS.iter().position(|(name, _)| is(name) || *name == "gzip" && is("x-gzip")) {
            Some(number) => codings.get_mut(number).into_iter().for_each(|quality| *quality = Some(one.quality)),
            None if is("identity") => identity = Some(one.quality),
            None if is("*") => any = Some(one.quality),
            None => {}
        }
    }
    Accepted { codings: codings.map(|quality| quality.or(any).unwrap_or(0)), identity }
}

/// What lies beside `file`.
///
/// # Errors
/// Those of [`DocumentRoot::sibling`].
pub(super) fn with_siblings(root: &DocumentRoot<'_>, file: &OpenFile, symlinks: Symlinks) -> io::Result<Siblings> {
    let mut siblings = [const { None }; CODINGS.len()];
    for ((_, suffix), place) in CODINGS.iter().zip(&mut siblings) {
        let sibling = root.sibling(file, suffix, symlinks)?;
        *place = sibling.filter(|sibling| sibling.modified_ns() >= file.modified_ns());
    }
    Ok(siblings)
}

impl Negotiated {
    /// There is nothing to choose from.
    pub(super) fn alone(file: OpenFile) -> Self {
        let (modified, name) = (file.modified_seconds(), file.name.clone());
        Self { file, coding: None, varies: false, modified, name }
    }

    /// The one that the client likes best; of those that it likes equally the first of [`CODINGS`], and the plain file last,
    /// unless the client says that it likes that better. One that likes nothing of what is there gets the plain file as well
    /// (RFC 9110 section 12.5.3 would allow a 415 instead).
    pub(super) fn new(file: OpenFile, siblings: Siblings, accepted: &Accepted) -> Self {
        let varies = siblings.iter().any(Option::is_some);
        let plain = Self { varies, ..Self::alone(file) };
        let mut best: Option<(u16, OpenFile, &'static str)> = None;
        for ((sibling, quality), (coding, _)) in siblings.into_iter().zip(accepted.codings).zip(CODINGS) {
            let at_least =
                best.as_ref().map_or(accepted.identity.unwrap_or(0).max(1), |(best, ..)| best.saturating_add(1));
            if let Some(sibling) = sibling.filter(|_| quality >= at_least) {
                best = Some((quality, sibling, coding));
            }
        }
        match best {
            Some((_, file, coding)) => Self { file, coding: Some(coding), ..plain },
            None => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qualities(value: &str) -> ([u16; 3], Option<u16>) {
        let accepted = accepted(&[("Accept-Encoding", value)].into_iter().collect());
        (accepted.codings, accepted.identity)
    }

    #[test]
    fn what_is_accepted_is_read_with_its_quality() {
        for (value, expected) in [
            ("gzip, deflate, br, zstd", ([1000, 1000, 1000], None)),
            ("gzip;q=0.5, br;q=0", ([0, 0, 500], None)),
            ("X-Gzip", ([0, 0, 1000], None)),
            ("*", ([1000, 1000, 1000], None)),
            ("*;q=0.1, BR", ([1000, 100, 100], None)),
            ("identity;q=0.8, gzip;q=0.2", ([0, 0, 200], Some(800))),
            ("", ([0, 0, 0], None)),
            ("compress", ([0, 0, 0], None)),
        ] {
            assert_eq!(qualities(value), expected, "{value}");
        }
        assert_eq!(accepted(&Fields::new()).codings, [0, 0, 0]);
    }
}
