//! Content codings of what is stored: may stand at the top, in a site and in a rule.

use super::set;
use crate::issue::{At, Issue, quoted};
use crate::raw::{RawCompress, Texts};
use kasoku_options::{Coding, Compression};

/// The most entries of `types`: each is looked at for each response that is stored.
const TYPES_MAX: usize = 100;

/// Lays what is written over other rules.
pub(super) fn set_compression(compression: &mut Compression, raw: &RawCompress) {
    set(&mut compression.is_enabled, &raw.enabled);
    if let Some(codings) = &raw.codings {
        compression.codings = codings.value.iter().filter_map(coding).collect();
    }
    if let Some(types) = &raw.types {
        compression.types = types.value.iter().map(|glob| glob.value.to_ascii_lowercase()).collect();
    }
    set(&mut compression.bytes_min, &raw.bytes_min);
    set_level(&mut compression.levels.br, &raw.br_level);
    set_level(&mut compression.levels.zstd, &raw.zstd_level);
    set_level(&mut compression.levels.gzip, &raw.gzip_level);
}

/// The faults of such keys.
pub(super) fn check(raw: &RawCompress, issues: &mut Vec<Issue>) {
    check_codings(raw.codings.as_ref(), issues);
    let types = || raw.types.iter().flat_map(|types| &types.value);
    for glob in types().filter(|glob| !is_media_type(&glob.value)) {
        let issue = Issue::error(format!("{} is no media type", quoted(&glob.value))).at(&glob.place);
        issues.push(issue.help("like \"text/css\" or \"text/*\", without parameters"));
    }
    if let Some(surplus) = types().nth(TYPES_MAX) {
        let issue = Issue::error(format!("there are more than {TYPES_MAX} `types`")).at(&surplus.place);
        issues.push(issue.help("write one with a `*` for many: \"text/*\""));
    }
}

fn check_codings(codings: Option<&Texts>, issues: &mut Vec<Issue>) {
    let Some(codings) = codings else { return };
    if codings.value.is_empty() {
        issues.push(Issue::error("`codings` can't be empty").at(&codings.place).help("write `enabled = false`"));
    }
    for (index, text) in codings.value.iter().enumerate() {
        let is_known = coding(text).is_some();
        let is_again = codings.value.iter().take(index).any(|before| before.value == text.value);
        if !is_known {
            let issue =
                Issue::error(format!("{} is no coding that can be made here", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("write \"br\", \"zstd\" or \"gzip\""));
        } else if is_again {
            let issue = Issue::error(format!("{} stands twice", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("the first one decides when a client gets it"));
        }
    }
}

/// In the spelling of the table alone.
fn coding(text: &At<String>) -> Option<Coding> {
    Coding::ALL.into_iter().find(|coding| coding.name() == text.value)
}

/// `type/subtype`, both with `*` anywhere; or `*` alone.
fn is_media_type(glob: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&b));
    glob == "*" || glob.split_once('/').is_some_and(|(kind, subtype)| is_part(kind) && is_part(subtype))
}

fn set_level(level: &mut u32, written: &Option<At<u64>>) {
    if let Some(written) = written {
        *level = u32::try_from(written.value).unwrap_or(u32::MAX);
    }
}
