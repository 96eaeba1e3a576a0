//! Settings of beacons, by which an application hears of visitors who are served from memory.

use crate::url_template::UrlTemplate;
use std::time::Duration;

/// How the application hears of visitors who are served from memory, so that it counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeaconRules {
    /// Path and query of the request that Kasoku sends for such a visitor, at most once in `every`. None: no request.
    pub visitor: Option<String>,
    /// The least time between two such requests for one visitor. Default 10 min.
    pub every: Duration,
    /// The request for each page view, made of the parameters of the page's own query. None: no request.
    pub view: Option<UrlTemplate>,
}

impl BeaconRules {
    /// Whether there is any beacon to send.
    pub fn is_any(&self) -> bool {
        self.visitor.is_some() || self.view.is_some()
    }
}

impl Default for BeaconRules {
    fn default() -> Self {
        Self { visitor: None, every: Duration::from_secs(600), view: None }
    }
}
