//! The texts that mark a page which may be stored, and the tokens that it is stored without.

use kasoku_semantics::empty_token::EmptyToken;

/// The texts that tell a page from another answer with the same status: that something is not there, that it is only for members,
/// or that the application is out of order. Without texts of a page, the list of outages has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageRules {
    /// One of these must stand in an answer that is stored because a lifetime is granted.
    pub texts: Vec<String>,
    /// If none of the texts does, one of these says that the application is out of order.
    pub outages: Vec<String>,
    /// One of these makes a page one visitor's, whatever else the page contains.
    pub privates: Vec<String>,
    /// Tokens that the application does not ask of anonymous visitors: a page is stored with these empty.
    pub empty_tokens: Vec<EmptyToken>,
}
