//! URLs of which an application makes a link for each visitor.

use crate::url_pattern::UrlPattern;
use crate::url_template::UrlTemplate;

/// A URL of which an application makes a link for each visitor: with a parameter that holds for one session, or for a while.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FreshLink {
    /// The URL.
    pub url: UrlPattern,
    /// The page on which such a link stands, made of the parameters of the URL.
    pub page: UrlTemplate,
    /// The parameters of the URL that are made for one visitor, by their names.
    pub parameters: Vec<String>,
}
