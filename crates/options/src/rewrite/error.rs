//! Says what is wrong with the line of a rewrite, for the operator who wrote it.
//!
//! Messages repeat only names of placeholders from the line, which are letters, digits and `_`.

use super::{PLACEHOLDERS_MAX, TEXT_BYTES_MAX};

/// Why a text is no [`Rewrite`](super::Rewrite).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The line has no `=>`.
    #[error("it has no `=>`")]
    NoArrow,
    /// The line is longer than `TEXT_BYTES_MAX`.
    #[error("it is longer than {} bytes", TEXT_BYTES_MAX)]
    TooLong,
    /// The left side does not begin with a slash.
    #[error("the short address does not begin with `/`")]
    RelativePattern,
    /// The left side has a `?`.
    #[error("the short address has a query")]
    PatternWithQuery,
    /// One of the sides has characters that only regular expressions have.
    #[error("it looks like a regular expression")]
    RegularExpression,
    /// The left side has an empty segment, one of dots, a control character, an encoded slash or malformed encoding.
    #[error("no path can match the short address")]
    UnreachablePattern,
    /// A brace is not closed, or closes nothing.
    #[error("a brace has no partner")]
    Brace,
    /// A placeholder's name is empty, too long or has other characters than letters, digits and `_`.
    #[error("a placeholder has an invalid name")]
    Name,
    /// The kind of a placeholder is unknown.
    #[error("there is no such kind of placeholder")]
    Kind,
    /// Two placeholders have this name.
    #[error("two placeholders are called `{0}`")]
    Twice(String),
    /// No literal separates two placeholders.
    #[error("two placeholders stand side by side")]
    SideBySide,
    /// There are more than `PLACEHOLDERS_MAX` on a side.
    #[error("it has more than {} placeholders on a side", PLACEHOLDERS_MAX)]
    TooMany,
    /// The right side does not begin with a slash.
    #[error("the right side does not begin with `/`")]
    RelativeTarget,
    /// The path on the right side can be read in two ways or leads above the root.
    #[error("the path on the right side can be read in two ways")]
    UnsafeTarget,
    /// The right side has a character that no request can have.
    #[error("the right side has a character that no request can have")]
    TargetCharacter,
    /// The right side has a `%` without two hexadecimal digits, which a capture could complete.
    #[error("the right side has a `%` without two hexadecimal digits")]
    TargetEncoding,
    /// A placeholder on the right side has a kind.
    #[error("a placeholder has a kind on the right side")]
    KindInTarget,
    /// The placeholder of this name on the right side is not on the left.
    #[error("no placeholder of the short address is called `{0}`")]
    Unknown(String),
    /// The placeholder of this name is in the path of the right side, and takes any bytes.
    #[error("`{0}` takes any bytes, but stands in the path on the right side")]
    AnyInPath(String),
}

impl RewriteError {
    /// What to write instead.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoArrow => "like \"/{board:word}/{id:digits} => /bbs/board.php?bo_table={board}&wr_id={id}\"",
            Self::TooLong => "write several, one for each address",
            Self::RelativePattern => "write the whole path: \"/shop/list-{id:alnum}\"",
            Self::PatternWithQuery => "write the path alone: the query of a request goes with it by itself",
            Self::RegularExpression | Self::Kind => {
                "placeholders are {name}, {name:digits}, {name:alnum}, {name:word} and {name:id}"
            }
            Self::UnreachablePattern => "write the path as a browser shows it: a path in this form never matches",
            Self::Brace => "braces stand around the name of a placeholder: {name}, {name:digits}",
            Self::Name => "letters, digits and `_`, at most 64: {wr_id:digits}",
            Self::Twice(_) => "give each placeholder a name of its own",
            Self::SideBySide => "put a literal between them: {year:digits}-{month:digits}",
            Self::TooMany => "keep those that the script reads",
            Self::RelativeTarget => "write the path below the root, and the query: \"/bbs/board.php?bo_table={board}\"",
            Self::UnsafeTarget => "write the path of the script without `.`, `..`, `//`, `\\` and `%2F`",
            Self::TargetCharacter => "write it percent-encoded: a space is \"%20\"",
            Self::TargetEncoding => "a percent sign is written \"%25\"",
            Self::KindInTarget => "write the kind on the left side alone: {id:digits} there, {id} here",
            Self::Unknown(_) => "name the placeholders of the left side",
            Self::AnyInPath(_) => "give it a kind on the left side, or use it in the query",
        }
    }
}
