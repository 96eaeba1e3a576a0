//! What the application has said about itself and its visitors, and how its URIs are spelled in keys.

use http::{Extensions, request};
use kasoku_cache::{Cache, Key};
use kasoku_semantics::effective_uri::{QueryKey, UriParts, split, write_normalised};
use kasoku_semantics::policy::Policy;
use kasoku_wire::target::write_authority;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The scheme of the application's URIs, as its visitors see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`
    Http,
    /// `https`, also where another program in front of the application speaks TLS.
    Https,
}

impl Scheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub(crate) fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The sender of a request, as the application knows it: see [`CacheBuilder::identify`](crate::CacheBuilder::identify).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Visitor {
    /// Gets the page that all get, whatever cookies the request has. The shared request has neither `Cookie` nor `Authorization` (where a
    /// lifetime is granted: no cookies but those in the key).
    Anonymous,
    /// Gets a page of its own: the request passes.
    Member,
    /// The application does not know. Then its answer has to say it: the request keeps its `Cookie` and `Authorization`, and the response is
    /// shared if the profile allows that for responses to such requests ([`Profile::Safe`](crate::Profile::Safe): with `s-maxage`, or `public` and a
    /// lifetime).
    /// Where a lifetime is granted, such a request passes.
    Unknown,
}

pub(crate) type Identify = Arc<dyn Fn(&request::Parts) -> Visitor + Send + Sync>;
pub(crate) type Client = Arc<dyn Fn(&request::Parts) -> Option<IpAddr> + Send + Sync>;
pub(crate) type TagsOf = Arc<dyn Fn(&request::Parts) -> Vec<String> + Send + Sync>;
/// Copies an extension, and says whether there was one.
pub(crate) type KeepExtension = fn(&Extensions, &mut Extensions) -> bool;
pub(crate) type HasExtension = fn(&Extensions) -> bool;

/// What the application has said.
pub(crate) struct Rules {
    pub(crate) scheme: Scheme,
    pub(crate) authorities: Authorities,
    pub(crate) policy: Policy,
    pub(crate) query: QueryKey,
    pub(crate) identify: Option<Identify>,
    pub(crate) client: Option<Client>,
    pub(crate) tags: Option<TagsOf>,
    pub(crate) kept: Vec<KeepExtension>,
    pub(crate) ignored: Vec<HasExtension>,
    pub(crate) writes_cache_status: bool,
    pub(crate) fills_max: usize,
    pub(crate) fill_wait_max: Duration,
    /// A hash of what the application has said that decides about stored responses, and of its version. What another process, or an
    /// earlier one, has stored under another hash is not used.
    pub(crate) fingerprint: u64,
}

/// The authorities of the application, spelled as in keys.
pub(crate) enum Authorities {
    /// All requests are for this one.
    One(String),
    /// The request says for which of these it is. Others pass.
    Listed(Vec<String>),
}

impl Authorities {
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Listed(listed) => listed,
        }
    }
}

impl Rules {
    /// A URI of the application as keys spell it. A path stands for the same path of each authority.
    pub(crate) fn keys(&self, cache: &Cache, uri: &str) -> Vec<Key> {
        let spelled = |authority: &str, target: &str| {
            let mut key = format!("{}://{authority}", self.scheme.name());
            write_normalised(target, &self.query, &mut key);
            cache.key(key)
        };
        if uri.starts_with('/') {
            return self.authorities.all().iter().map(|authority| spelled(authority, uri)).collect();
        }
        self.authority_of(uri).map(|(authority, target)| spelled(&authority, target)).into_iter().collect()
    }

    /// The URIs that begin with a prefix, as keys spell them.
    pub(crate) fn prefixes(&self, prefix: &str) -> Vec<String> {
        let spelled = |authority: &str, target: &str| format!("{}://{authority}{target}", self.scheme.name());
        if prefix.starts_with('/') {
            return self.authorities.all().iter().map(|authority| spelled(authority, prefix)).collect();
        }
        self.authority_of(prefix).map(|(authority, target)| spelled(&authority, target)).into_iter().collect()
    }

    /// The authority and the target of a whole URI, where they are the application's.
    fn authority_of<'u>(&self, uri: &'u str) -> Option<(String, &'u str)> {
        let UriParts { scheme, authority, target, .. } = split(uri)?;
        let mut own = String::new();
        write_authority(authority.as_bytes(), self.scheme.default_port(), &mut own).ok()?;
        let is_own = scheme == self.scheme.name() && self.authorities.all().contains(&own);
        is_own.then_some((own, target))
    }

    /// A URI that an answer names, as keys spell it.
    pub(crate) fn canonical(&self, uri: String) -> String {
        let Some(UriParts { base, target, .. }) = split(&uri) else { return uri };
        let mut canonical = base.to_owned();
        write_normalised(target, &self.query, &mut canonical);
        canonical
    }
}

/// Whether clients may send such a URI (RFC 9110 section 4.1): percent-encoded, and without a fragment.
pub(crate) fn is_as_sent(uri: &str) -> bool {
    uri.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}
