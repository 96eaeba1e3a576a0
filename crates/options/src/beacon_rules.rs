//! How an application hears of visitors who are served from memory.

use crate::url_template::UrlTemplate;
use std::time::Duration;

/// How the application hears of visitors who are served from memory, so that it counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeaconRules {
    /// Path and query that are asked for in the name of such a visitor, once in a while. None: nothing is.
    pub visitor: Option<String>,
    /// How long that while is. Default 10 min.
    pub every: Duration,
    /// What is asked for with each page view, made of the parameters of the page's own query. None: nothing is.
    pub view: Option<UrlTemplate>,
}

impl BeaconRules {
    /// Whether there is anything to ask for.
    pub fn is_any(&self) -> bool {
        self.visitor.is_some() || self.view.is_some()
    }
}

impl Default for BeaconRules {
    fn default() -> Self {
        Self { visitor: None, every: Duration::from_secs(600), view: None }
    }
}
