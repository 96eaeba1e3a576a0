//! Rules that say which requests change stored pages.

use crate::url_pattern::UrlPattern;
use http::{Method, StatusCode};
use kasoku_semantics::tags::TagTemplate;
use kasoku_semantics::{cookies, glob};
use kasoku_wire::Fields;
use std::time::Duration;

/// Which requests change stored pages, and which pages: those with the rule's tags are dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeRules {
    /// All rules that match a request apply.
    pub list: Vec<ChangeRule>,
    /// Redirections to these URLs mean that the request changed nothing: a form for logging in, for example.
    pub no_change_redirects: Vec<UrlPattern>,
    /// After this time, what a request has changed is dropped once more: the application itself may show old results for as long. Zero: it
    /// is not.
    pub again: Duration,
}

/// Requests that change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRule {
    /// Their method. None: any. GET stands for HEAD as well.
    pub method: Option<Method>,
    /// Their URLs. Requests for them pass.
    pub url: UrlPattern,
    /// The status of an answer that confirms the change. None: any that may.
    pub answer: Option<AnswerStatus>,
    /// What tells that the change was made, where the status alone does not.
    pub proof: ChangeProof,
    /// The tags of the pages that they change, made of parameters of the URL, the form, and the redirection that answers. Empty: no
    /// pages, not even the page to which their answers redirect.
    pub tags: Vec<TagTemplate>,
    /// Whether they change all pages with tags.
    pub is_all: bool,
}

impl ChangeRule {
    /// Whether the line is about answers of this status.
    pub fn takes(&self, status: StatusCode) -> bool {
        self.answer.is_none_or(|answer| answer.is(status))
    }

    /// Whether the rule says that such requests change nothing.
    pub fn is_none(&self) -> bool {
        self.tags.is_empty() && !self.is_all
    }
}

/// What the messages of a request have that has changed something, and the messages of a stranger's request have not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeProof {
    /// The request has this. None: it need not have anything.
    pub from: Option<Credentials>,
    /// The answer has a field of this name, in lower case, whose value fits a glob. None: it need not have any.
    pub with: Option<(String, String)>,
    /// The beginning of the answer's body has this text. None: it need not have any.
    pub saying: Option<String>,
}

/// An answer, as far as it proves a change.
#[derive(Clone, Copy, Debug)]
pub struct ChangeAnswer<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its fields.
    pub fields: &'a Fields,
    /// The beginning of its body, where a [`ChangeProof`] needs that.
    pub beginning: &'a [u8],
}

/// Credentials of a request, which anybody may have made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// A cookie whose name fits this glob.
    Cookie(String),
    /// The field Authorization.
    Authorization,
}

impl ChangeProof {
    /// Whether nothing is asked for.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a request and its answer have all that is asked for. `answer`: `None` where there was none.
    pub fn is_given(&self, request: &Fields, answer: Option<ChangeAnswer<'_>>) -> bool {
        let says_so = self.saying.as_ref().is_none_or(|text| {
            let occurs = |part: &[u8]| part == text.as_bytes();
            answer.is_some_and(|answer| answer.beginning.windows(text.len().max(1)).any(occurs))
        });
        says_so && self.is_given_by_heads(request, answer.map(|answer| answer.fields))
    }

    /// The same without the body of the answer.
    pub fn is_given_by_heads(&self, request: &Fields, answer: Option<&Fields>) -> bool {
        let has_credentials = match &self.from {
            None => true,
            Some(Credentials::Cookie(glob)) => cookies::has_any(std::slice::from_ref(glob), request),
            Some(Credentials::Authorization) => request.contains("authorization"),
        };
        let has_field = self.with.as_ref().is_none_or(|(name, value)| {
            let fits = |line: &[u8]| glob::is_match(value.as_bytes(), line);
            answer.is_some_and(|answer| answer.all(name).any(fits))
        });
        has_credentials && has_field
    }
}

/// A status, or a class of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStatus {
    /// This status.
    One(StatusCode),
    /// All statuses that begin with this digit.
    Class(u16),
}

impl AnswerStatus {
    /// Whether a status is this one, or one of this class.
    pub fn is(self, status: StatusCode) -> bool {
        match self {
            Self::One(one) => one == status,
            Self::Class(digit) => status.as_u16() / 100 == digit,
        }
    }
}
