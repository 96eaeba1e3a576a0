//! Parses the line of a rewrite.

use super::error::RewriteError;
use super::path::SentPath;
use super::segment::{Placeholder, PlaceholderKind, Segment};
use super::{PLACEHOLDERS_MAX, Rewrite, RewritePiece, TEXT_BYTES_MAX};
use kasoku_semantics::url_path::{UrlPath, percent_decode};

const ARROW: &str = "=>";

/// The longest name of a placeholder, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Characters of regular expressions that short addresses hardly have. Percent-encoded, they are allowed.
const OF_REGULAR_EXPRESSIONS: [char; 8] = ['^', '$', '(', ')', '[', ']', '*', '|'];

/// The placeholders of the left side, in their order.
type Names<'t> = Vec<(&'t str, PlaceholderKind)>;

/// A token of a side.
enum RewriteToken<'t> {
    Literal(&'t str),
    /// The text between braces.
    Braced(&'t str),
}

pub(super) fn rewrite(text: &str) -> Result<Rewrite, RewriteError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(RewriteError::TooLong);
    }
    let (pattern, target) = text.split_once(ARROW).ok_or(RewriteError::NoArrow)?;
    let (pattern, target) = (pattern.trim(), target.trim());
    let mut names = Names::new();
    let (segments, is_directory) = segments(pattern, &mut names)?;
    let (path, query) = target_pieces(target, &names)?;
    Ok(Rewrite { text: format!("{pattern} {ARROW} {target}"), segments, is_directory, path, query })
}

/// The left side: its segments, and whether it ends in a slash.
fn segments<'t>(pattern: &'t str, names: &mut Names<'t>) -> Result<(Vec<Segment>, bool), RewriteError> {
    // Checked first: otherwise the error for most regular expressions would be that they do not begin with a slash.
    if pattern.contains(OF_REGULAR_EXPRESSIONS) || pattern.contains('\\') {
        return Err(RewriteError::RegularExpression);
    }
    if pattern.contains('?') {
        return Err(RewriteError::PatternWithQuery);
    }
    let path = pattern.strip_prefix('/').ok_or(RewriteError::RelativePattern)?;
    let (path, is_directory) = path.strip_suffix('/').map_or((path, path.is_empty()), |path| (path, true));
    let texts = path.split('/').filter(|_| !path.is_empty());
    let segments: Vec<Segment> = texts.map(|text| segment(text, names)).collect::<Result<_, _>>()?;
    if names.len() > PLACEHOLDERS_MAX {
        return Err(RewriteError::TooMany);
    }
    Ok((segments, is_directory))
}

fn segment<'t>(text: &'t str, names: &mut Names<'t>) -> Result<Segment, RewriteError> {
    let mut segment = Segment { prefix: Vec::new(), placeholders: Vec::new() };
    for token in tokens(text)? {
        match (token, segment.placeholders.last_mut()) {
            (RewriteToken::Literal(text), None) => segment.prefix = literal(text)?,
            (RewriteToken::Literal(text), Some(before)) => before.behind = literal(text)?,
            (RewriteToken::Braced(_), Some(before)) if before.behind.is_empty() => {
                return Err(RewriteError::SideBySide);
            }
            (RewriteToken::Braced(inside), _) => {
                let (name, kind) = placeholder(inside)?;
                if names.iter().any(|(known, _)| *known == name) {
                    return Err(RewriteError::Twice(name.to_owned()));
                }
                names.push((name, kind));
                segment.placeholders.push(Placeholder { kind, behind: Vec::new() });
            }
        }
    }
    let is_dots = segment.placeholders.is_empty() && matches!(&*segment.prefix, b"" | b"." | b"..");
    if is_dots { Err(RewriteError::UnreachablePattern) } else { Ok(segment) }
}

/// The bytes of a literal, without percent-encoding.
fn literal(text: &str) -> Result<Vec<u8>, RewriteError> {
    let mut bytes = Vec::with_capacity(text.len());
    let is_encoded_well = percent_decode(text.as_bytes(), &mut bytes).is_some();
    let is_reachable = is_encoded_well && !bytes.iter().any(|byte| byte.is_ascii_control() || *byte == b'/');
    is_reachable.then_some(bytes).ok_or(RewriteError::UnreachablePattern)
}

fn placeholder(inside: &str) -> Result<(&str, PlaceholderKind), RewriteError> {
    let (name, kind) = inside.split_once(':').map_or((inside, None), |(name, kind)| (name, Some(kind)));
    let kind = match kind {
        None => PlaceholderKind::Any,
        Some(kind) => PlaceholderKind::NAMED.iter().find(|(known, _)| *known == kind).ok_or(RewriteError::Kind)?.1,
    };
    Ok((sound_name(name)?, kind))
}

fn sound_name(name: &str) -> Result<&str, RewriteError> {
    let is_sound = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_sound.then_some(name).ok_or(RewriteError::Name)
}

/// The right side: path and query.
fn target_pieces(target: &str, names: &Names<'_>) -> Result<(Vec<RewritePiece>, Vec<RewritePiece>), RewriteError> {
    // `$1` is a group of a regular expression.
    if target.as_bytes().windows(2).any(|pair| matches!(pair, [b'$', b'0'..=b'9'])) {
        return Err(RewriteError::RegularExpression);
    }
    if !target.starts_with('/') {
        return Err(RewriteError::RelativeTarget);
    }
    if !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        return Err(RewriteError::TargetCharacter);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = pieces(path, names)?;
    for piece in &path {
        if let RewritePiece::Captured(number) = piece
            && let Some((name, PlaceholderKind::Any)) = names.get(*number)
        {
            return Err(RewriteError::AnyInPath((*name).to_owned()));
        }
    }
    if !is_plain(&path) {
        return Err(RewriteError::UnsafeTarget);
    }
    let query = pieces(query, names)?;
    let captures = path.iter().chain(&query).filter(|piece| matches!(piece, RewritePiece::Captured(_))).count();
    if captures > PLACEHOLDERS_MAX { Err(RewriteError::TooMany) } else { Ok((path, query)) }
}

fn pieces(text: &str, names: &Names<'_>) -> Result<Vec<RewritePiece>, RewriteError> {
    let piece = |token| match token {
        RewriteToken::Literal(text) => match percent_decode(text.as_bytes(), &mut Vec::new()) {
            Some(()) => Ok(RewritePiece::Literal(text.to_owned())),
            None => Err(RewriteError::TargetEncoding),
        },
        RewriteToken::Braced(inside) if inside.contains(':') => Err(RewriteError::KindInTarget),
        RewriteToken::Braced(inside) => {
            let name = sound_name(inside)?;
            let number = names.iter().position(|(known, _)| *known == name);
            number.map(RewritePiece::Captured).ok_or_else(|| RewriteError::Unknown(name.to_owned()))
        }
    };
    tokens(text)?.into_iter().map(piece).collect()
}

/// Whether the path can be read in only one way, whatever letters the placeholders take.
fn is_plain(path: &[RewritePiece]) -> bool {
    let text = path.iter().map(|piece| if let RewritePiece::Literal(text) = piece { text } else { "x" });
    let sample: String = text.collect();
    let mut memory = Vec::new();
    let Some(read) = SentPath::read(&sample, &mut memory) else { return false };
    let segments = sample.split('/').count() - 1;
    let is_kept = read.names.len() + usize::from(read.is_directory) == segments;
    is_kept && UrlPath::read(&sample).is_some_and(|path| !path.is_ambiguous())
}

/// Splits a side into literals, which are never empty, and the texts between braces.
fn tokens(text: &str) -> Result<Vec<RewriteToken<'_>>, RewriteError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (literal, braced) = rest.split_at_checked(rest.find('{').unwrap_or(rest.len())).unwrap_or((rest, ""));
        if literal.contains('}') {
            return Err(RewriteError::Brace);
        }
        if !literal.is_empty() {
            tokens.push(RewriteToken::Literal(literal));
        }
        let Some(behind) = braced.strip_prefix('{') else { break };
        let (inside, after) = behind.split_once('}').ok_or(RewriteError::Brace)?;
        tokens.push(RewriteToken::Braced(inside));
        rest = after;
    }
    Ok(tokens)
}
