//! URLs for which an application makes a separate link for each visitor.

use crate::url_pattern::UrlPattern;
use crate::url_template::UrlTemplate;

/// A URL for which an application makes a separate link for each visitor: with a parameter that holds for one session, or for a
/// while.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FreshLink {
    /// The URL.
    pub url: UrlPattern,
    /// The page that contains such a link, made of the parameters of the URL.
    pub page: UrlTemplate,
    /// The names of the URL's parameters that differ for each visitor.
    pub parameters: Vec<String>,
}
