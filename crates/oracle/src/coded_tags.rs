//! The entity tags of coded forms.

/// The codings that clients here accept, where they accept any.
pub const ACCEPTED: [&str; 2] = ["gzip", "br"];

/// The tag of a coded form; the one of the uncoded form ends in a quote.
pub fn coded_tag(tag: &str, coding: &str) -> String {
    match tag.strip_suffix('"') {
        Some(start) => format!("{start}-{coding}\""),
        None => format!("{tag}-{coding}"),
    }
}

/// All coded forms of a tag that a client might have.
pub fn coded_tags(tag: &str) -> impl Iterator<Item = String> {
    ACCEPTED.into_iter().map(move |coding| coded_tag(tag, coding))
}
