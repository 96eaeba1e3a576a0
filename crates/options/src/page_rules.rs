//! By what a page is known that may be kept.

/// By what a page is told from what an application says in its place, with the same status: that something is not there, or only for members;
/// or that it is out of order. Without texts of a page: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageRules {
    /// One of these must stand in an answer that is kept because a lifetime is granted.
    pub texts: Vec<String>,
    /// Where none of them does, one of these says that the application is out of order.
    pub outages: Vec<String>,
    /// These stand only in pages that are one visitor's, whatever else stands there.
    pub privates: Vec<String>,
}
