//! The entity tags of the coded forms of a page.

/// The codings that clients here accept, if they accept any.
pub const ACCEPTED: [&str; 2] = ["gzip", "br"];

/// The tag of a coded form, made of the tag of the uncoded form.
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
