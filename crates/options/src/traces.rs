//! Settings for traces: the collector, and which requests are recorded.

/// Traces of requests (W3C Trace Context), as OpenTelemetry has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// The URL of a collector that takes spans by OTLP over HTTP. None: nothing is traced.
    pub collector: Option<String>,
    /// One in so many of the requests that begin a trace is recorded. 0: none. Default 100.
    pub sample_one_in: u64,
    /// Which clients' traces are continued. Default: those of trusted proxies.
    pub parents: Parents,
    /// The name of this program at the collector. Default `kasoku`.
    pub service_name: String,
}

impl Default for Traces {
    fn default() -> Self {
        Self { collector: None, sample_one_in: 100, parents: Parents::Trusted, service_name: "kasoku".to_owned() }
    }
}

/// Which clients' `traceparent` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// That of trusted proxies.
    #[default]
    Trusted,
    /// That of any client.
    Any,
    /// That of no client.
    None,
}
