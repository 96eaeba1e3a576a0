//! Which requests change pages that are stored.

use crate::url_pattern::UrlPattern;
use http::{Method, StatusCode};
use kasoku_semantics::tags::TagTemplate;

/// Which requests change what of the pages that are stored: those that have the tags are dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeRules {
    /// Each that is about a request counts.
    pub list: Vec<ChangeRule>,
    /// Redirections to these URLs say that nothing was changed: to a form for logging in, for one.
    pub no_change_redirects: Vec<UrlPattern>,
}

/// Requests that change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRule {
    /// None: any. GET stands for HEAD as well.
    pub method: Option<Method>,
    /// Their URLs, which pass.
    pub url: UrlPattern,
    /// The answers by which they change something. None: any that may mean it.
    pub answer: Option<AnswerStatus>,
    /// What they change, made of parameters of the URL, the form, and the redirection that answers it. Empty: nothing, not even the page to which
    /// their answers redirect.
    pub tags: Vec<TagTemplate>,
    /// They change all that has tags.
    pub is_all: bool,
}

impl ChangeRule {
    /// Whether such requests are known to change nothing.
    pub fn is_none(&self) -> bool {
        self.tags.is_empty() && !self.is_all
    }
}

/// A status, or a class of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStatus {
    /// This one.
    One(StatusCode),
    /// All that begin with this digit.
    Class(u16),
}

impl AnswerStatus {
    /// Whether a status is that, or one of those.
    pub fn is(self, status: StatusCode) -> bool {
        match self {
            Self::One(one) => one == status,
            Self::Class(digit) => status.as_u16() / 100 == digit,
        }
    }
}
