//! Resolves the content codings of stored responses. The keys may stand at the top, in a site and in a rule.

use crate::bounds;
use crate::issue::{Issue, Located, quoted};
use crate::raw::{LocatedTexts, RawCompress};
use crate::table::{self, SettingScope};
use kasoku_options::{Coding, CodingRules};
use kasoku_semantics::coding::{CodingLevels, ZSTD_LEVEL_MAX};

/// The most entries of `types`: each is compared with each response that is stored.
const TYPES_MAX: usize = 100;

/// What each word of `level` means, in the order of the table's words. Beyond 9, `br` takes seconds for a megabyte.
const LEVELS: [CodingLevels; 3] = [
    CodingLevels { gzip: 1, br: 2, zstd: 3 },
    CodingLevels { gzip: 6, br: 5, zstd: 9 },
    CodingLevels { gzip: 9, br: 9, zstd: ZSTD_LEVEL_MAX },
];

/// Lays written keys over other rules.
pub(super) fn set_compression(compression: &mut CodingRules, raw: &RawCompress) {
    if let Some(codings) = &raw.codings {
        compression.is_enabled = !codings.value.is_empty();
        compression.codings = codings.value.iter().filter_map(coding).collect();
    }
    if let Some(types) = &raw.types {
        compression.types = types.value.iter().map(|glob| glob.value.to_ascii_lowercase()).collect();
    }
    if let Some(Ok(Some(levels))) = level(raw).map(|index| index.map(|index| LEVELS.get(index))) {
        compression.levels = *levels;
    }
}

/// Which of [`LEVELS`] is written.
fn level(raw: &RawCompress) -> Option<Result<usize, Issue>> {
    Some(bounds::one_of(table::find(SettingScope::Top, "compress.level")?, raw.level.as_ref()?))
}

/// Reports the faults of these keys.
pub(super) fn check(raw: &RawCompress, issues: &mut Vec<Issue>) {
    check_codings(raw.codings.as_ref(), issues);
    issues.extend(level(raw).and_then(Result::err));
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

fn check_codings(codings: Option<&LocatedTexts>, issues: &mut Vec<Issue>) {
    let Some(codings) = codings else { return };
    for (index, text) in codings.value.iter().enumerate() {
        let is_known = coding(text).is_some();
        let is_again = codings.value.iter().take(index).any(|before| before.value == text.value);
        if !is_known {
            let issue = Issue::error(format!("{} is no coding that Kasoku makes", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("write \"br\", \"zstd\" or \"gzip\""));
        } else if is_again {
            let issue = Issue::error(format!("{} is listed twice", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("remove one: the order of the list decides which coding a client gets"));
        }
    }
}

/// Reads a coding, only in the spelling of the table.
fn coding(text: &Located<String>) -> Option<Coding> {
    Coding::ALL.into_iter().find(|coding| coding.name() == text.value)
}

/// `type/subtype`, both with `*` anywhere; or `*` alone.
fn is_media_type(glob: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&b));
    glob == "*" || glob.split_once('/').is_some_and(|(kind, subtype)| is_part(kind) && is_part(subtype))
}
