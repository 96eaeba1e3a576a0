//! Takes what an application says about itself, and makes a layer of it.

use crate::build_error::{BuildError, MEMORY_BYTES_MIN};
#[cfg(feature = "disk")]
use crate::disk::DiskTier;
use crate::handle::CacheHandle;
use crate::rules::{Authorities, Client, HasExtension, Identify, KeepExtension, Rules, Scheme, TagsOf, Visitor};
use crate::service::CacheLayer;
use crate::shared::Shared;
use crate::tiers::WantedTiers;
use http::{Extensions, HeaderName, request};
use kasoku_cache::CacheLimits;
use kasoku_cache::clock::{self, Clock};
#[cfg(feature = "peers")]
use kasoku_cache::purge_exchange::settings::Peers;
#[cfg(feature = "shared")]
use kasoku_cache::purge_exchange::settings::SharedTier;
use kasoku_cache::stable_hasher::StableHasher;
use kasoku_semantics::effective_uri::QueryKey;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::time::Now;
use kasoku_wire::target::authority;
use std::any::TypeId;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The memory of a cache whose builder is told nothing.
const MEMORY_BYTES: u64 = 64 << 20;

/// By default, the largest response is one part in this many of the memory.
const OBJECT_SHARE: u64 = 16;

/// The most fills that run at a time, if nothing else is set.
const FILLS_MAX: usize = 512;

/// How long a request waits for the head that another request's fill brings, if nothing else is set.
const FILL_WAIT_MAX: Duration = Duration::from_secs(30);

/// What one field costs in the map that each hit copies, in bytes, besides the text that the cache charges anyway: 112 for its place, and for a
/// name an allocation and its count of references. The values share one such allocation.
const MAPPED_FIELD_BYTES: u64 = 112 + 56;

/// Makes a [`CacheLayer`] and its [`CacheHandle`]: see [`CacheLayer::builder`].
#[must_use]
pub struct CacheBuilder {
    memory_bytes: u64,
    object_bytes_max: Option<u64>,
    scheme: Scheme,
    authorities: Vec<String>,
    is_listed: bool,
    policy: Policy,
    query: QueryKey,
    identify: Option<Identify>,
    client: Option<Client>,
    tags: Option<TagsOf>,
    kept: Vec<KeepExtension>,
    ignored: Vec<HasExtension>,
    extensions: HashSet<TypeId>,
    writes_cache_status: bool,
    fills_max: usize,
    fill_wait_max: Duration,
    version: String,
    tiers: WantedTiers,
    clock: Clock,
}

impl CacheLayer {
    /// Begins to make a layer.
    pub fn builder() -> CacheBuilder {
        CacheBuilder::new()
    }
}

impl CacheBuilder {
    fn new() -> Self {
        Self {
            memory_bytes: MEMORY_BYTES,
            object_bytes_max: None,
            scheme: Scheme::Https,
            authorities: Vec::new(),
            is_listed: false,
            policy: policy(Profile::Safe),
            query: QueryKey::default(),
            identify: None,
            client: None,
            tags: None,
            kept: Vec::new(),
            ignored: Vec::new(),
            extensions: HashSet::new(),
            writes_cache_status: true,
            fills_max: FILLS_MAX,
            fill_wait_max: FILL_WAIT_MAX,
            version: String::new(),
            tiers: WantedTiers::default(),
            clock: clock::system(),
        }
    }

    /// The memory that all responses may hold together, in bytes: stored ones, those on their way, and evicted ones that clients still read.
    /// Default 64 MiB, at least 1 MiB.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// The largest response that is stored in memory, in bytes of head and body. Default: a sixteenth of the memory.
    pub fn object_bytes_max(mut self, bytes: u64) -> Self {
        self.object_bytes_max = Some(bytes);
        self
    }

    /// The rules where the RFCs leave a shared cache room to do harm. Default [`Profile::Safe`].
    pub fn profile(mut self, profile: Profile) -> Self {
        let Policy { grant, grace_seconds, negative_ttl_seconds, .. } = self.policy;
        self.policy = Policy { grant, grace_seconds, negative_ttl_seconds, ..policy(profile) };
        self
    }

    /// The application answers for this scheme and authority alone. The layer ignores `Host`, and a shared request has this authority.
    pub fn authority(mut self, scheme: Scheme, authority: impl Into<String>) -> Self {
        (self.scheme, self.authorities, self.is_listed) = (scheme, vec![authority.into()], false);
        self
    }

    /// The application answers for these authorities. A request names one of them, in its URI or in `Host`. A request for any other authority
    /// passes.
    pub fn authorities<A: Into<String>>(mut self, scheme: Scheme, authorities: impl IntoIterator<Item = A>) -> Self {
        self.authorities = authorities.into_iter().map(Into::into).collect();
        (self.scheme, self.is_listed) = (scheme, true);
        self
    }

    /// Says of each request whether its visitor is anonymous, for example by looking for a session. Without this, each request with `Cookie`
    /// or `Authorization` passes, and the visitor of any other request counts as anonymous. Cookies of [`CacheBuilder::key_cookies`] are in the
    /// key, and do not count; the application gets them in shared requests as well.
    ///
    /// A visitor who is known by anything else has to be told from an anonymous one here: by a client's certificate, an extension, a field of
    /// another name.
    ///
    /// ```
    /// use http::header::COOKIE;
    /// use kasoku_tower::{CacheLayer, Visitor};
    ///
    /// let builder = CacheLayer::builder().identify(|request| {
    ///     let cookies = request.headers.get_all(COOKIE);
    ///     let has_session = cookies.iter().any(|value| value.as_bytes().windows(4).any(|part| part == b"sid="));
    ///     if has_session { Visitor::Member } else { Visitor::Anonymous }
    /// });
    /// # let _ = builder;
    /// ```
    pub fn identify(mut self, identify: impl Fn(&request::Parts) -> Visitor + Send + Sync + 'static) -> Self {
        self.identify = Some(Arc::new(identify));
        self
    }

    /// Tells the client's address. If no [`CacheBuilder::ttl`] is set, a shared request has it in `X-Forwarded-For`. It has 0.0.0.0 there if no single
    /// client waits for the response (a refresh, or a second try after a failure), and if [`CacheBuilder::negative_ttl`] is set. What a client has
    /// written into this field does not reach the application in a shared request. Default: no address is known.
    pub fn client(mut self, client: impl Fn(&request::Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.client = Some(Arc::new(client));
        self
    }

    /// The tags of the response to a request: [`CacheHandle::purge_tag`] drops all responses with a tag.
    ///
    /// ```
    /// use kasoku_tower::CacheLayer;
    ///
    /// let builder = CacheLayer::builder().tags(|request| {
    ///     let path = request.uri.path();
    ///     path.strip_prefix("/posts/").map(|id| format!("post-{id}")).into_iter().collect()
    /// });
    /// # let _ = builder;
    /// ```
    pub fn tags(mut self, tags: impl Fn(&request::Parts) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.tags = Some(Arc::new(tags));
        self
    }

    /// Copies the extension of this type into shared requests. All visitors get the response that is made with it, so its value must not depend
    /// on the visitor.
    pub fn keep_extension<T: Clone + Send + Sync + 'static>(mut self) -> Self {
        if self.is_new::<T>() {
            self.kept.push(copy::<T>);
        }
        self
    }

    /// Says that extensions of this type tell nothing of a visitor, and that shared requests can do without them. Without this, if the response to a
    /// shared request may not be shared and the visitor's request has such an extension, that request is sent as well, unchanged.
    pub fn ignore_extension<T: Send + Sync + 'static>(mut self) -> Self {
        if self.is_new::<T>() {
            self.ignored.push(has::<T>);
        }
        self
    }

    /// The lifetime of responses that state none, in seconds, rounded up. If this is set, a shared request carries only those fields and cookies of
    /// the client that are in the key: see [`CacheBuilder::key_cookies`] and [`CacheBuilder::key_fields`]. Default: none.
    pub fn ttl(mut self, lifetime: Duration) -> Self {
        self.policy.grant.ttl_seconds = whole_seconds(lifetime);
        self
    }

    /// Cookies that reach the application in a shared request and are in the key, where a lifetime is granted: globs over names.
    pub fn key_cookies<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.policy.grant.key_cookies.extend(names.into_iter().map(Into::into));
        self
    }

    /// The same for header fields.
    pub fn key_fields<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.policy.grant.key_fields.extend(names.into_iter().map(|name| name.into().to_ascii_lowercase()));
        self
    }

    /// How long an expired response may be served while the layer refreshes it in the background, or in place of an error. It applies to responses
    /// without `stale-while-revalidate` or `stale-if-error` (RFC 5861). In seconds, rounded up. Default: not at all.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.policy.grace_seconds = whole_seconds(grace);
        self
    }

    /// The lifetime of a 404, 405, 410, 414 or 501 that states none, in seconds, rounded up. Default: none.
    pub fn negative_ttl(mut self, lifetime: Duration) -> Self {
        self.policy.negative_ttl_seconds = whole_seconds(lifetime);
        self
    }

    /// Parameters of the query that are in no key and reach no handler in a shared request: globs over names, like `utm_*`.
    pub fn ignore_query<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.query.ignore.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sorts the parameters of the query by name, in the key and for the application.
    pub fn sort_query(mut self) -> Self {
        self.query.sort = true;
        self
    }

    /// The most calls to the application at a time that run in tasks of their own, for responses that may be shared. Further requests pass: the
    /// application is called in the tasks of the clients, and so no longer than the clients stay. Stale responses are not refreshed meanwhile.
    /// Default 512.
    pub fn fills_max(mut self, fills: usize) -> Self {
        self.fills_max = fills;
        self
    }

    /// How long a request waits for a response that another request fetches. After that, the layer calls the application once more, with the fields
    /// of no client, for all requests that wait then or come later. If that call takes as long, each request of which the layer had kept something
    /// back is sent to the application unchanged, and the others get a 500. The response of the slow call is stored if it comes. Default 30 seconds.
    pub fn fill_wait_max(mut self, wait: Duration) -> Self {
        self.fill_wait_max = wait;
        self
    }

    /// Whether responses say in `Cache-Status` (RFC 9211) what the cache did, and why. Default true.
    pub fn cache_status(mut self, is_written: bool) -> Self {
        self.writes_cache_status = is_written;
        self
    }

    /// The version of the application. Responses that are on disk or in the shared tier under another version are not used. Purges reach processes of
    /// all versions. Default: the empty one.
    ///
    /// The cache compares what it was told as data, such as lifetimes, with what it was told when a response was stored. It can't compare
    /// functions, nor the application itself. A release that answers a URI otherwise, or gives it other [tags](CacheBuilder::tags), names another
    /// version, or purges what has changed. While it is rolled out, processes of both releases use the same servers.
    ///
    /// ```
    /// use kasoku_tower::{CacheLayer, DiskTier};
    ///
    /// let builder = CacheLayer::builder().version(env!("CARGO_PKG_VERSION")).disk(DiskTier::new("/var/cache/blog"));
    /// # let _ = builder;
    /// ```
    #[cfg(any(feature = "disk", feature = "shared"))]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Keeps responses on disk as well: those that memory has no room for, and all of them after a restart. See [`DiskTier`], and "The disk
    /// tier" at the [crate]. Default: none.
    ///
    /// ```
    /// use kasoku_tower::{CacheLayer, DiskTier};
    ///
    /// let builder = CacheLayer::builder().disk(DiskTier::new("/var/cache/blog").size_bytes(50 << 30));
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "disk")]
    pub fn disk(mut self, tier: DiskTier) -> Self {
        self.tiers.disk = Some(tier);
        self
    }

    /// Keeps responses in memcached servers or in Redis as well, which several processes share: see [`SharedTier`], and "Several processes" at the
    /// [crate]. Default: none.
    ///
    /// ```
    /// use kasoku_tower::{CacheLayer, SharedTier};
    ///
    /// let builder = CacheLayer::builder().shared(SharedTier::redis(["redis://10.0.0.1"]));
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "shared")]
    pub fn shared(mut self, tier: SharedTier) -> Self {
        self.tiers.exchange.shared = Some(tier);
        self
    }

    /// Tells other processes of purges, and hears of theirs, without servers between them: see [`Peers`], and "Several processes" at the
    /// [crate]. Not beside a shared tier, which does that too. Default: none.
    #[cfg(feature = "peers")]
    pub fn peers(mut self, peers: Peers) -> Self {
        self.tiers.exchange.peers = Some(peers);
        self
    }

    /// For tests: another clock.
    #[doc(hidden)]
    pub fn clock(mut self, clock: impl Fn() -> Now + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Makes the layer, and the handle by which responses are purged.
    ///
    /// With a shared tier or peers, this blocks until each server or peer was asked for its purges, for a second at most.
    ///
    /// # Errors
    /// The application has not said what the cache must know, or has said what can't be; or the tiers that it wants can't be used.
    pub fn build(self) -> Result<(CacheLayer, CacheHandle), BuildError> {
        let authorities = self.spelled_authorities()?;
        if self.memory_bytes < MEMORY_BYTES_MIN {
            return Err(BuildError::TooLittleMemory);
        }
        let grant = &self.policy.grant;
        let has_key = !grant.key_cookies.is_empty() || !grant.key_fields.is_empty();
        if has_key && !grant.is_granting() {
            return Err(BuildError::KeyWithoutTtl);
        }
        let is_invalid = |name: &&String| HeaderName::from_bytes(name.as_bytes()).is_err();
        if let Some(name) = grant.key_fields.iter().find(is_invalid) {
            return Err(BuildError::InvalidField(name.clone()));
        }
        let limits = CacheLimits {
            memory_bytes_max: self.memory_bytes,
            object_bytes_max: self.object_bytes_max.unwrap_or(self.memory_bytes / OBJECT_SHARE).min(self.memory_bytes),
        };
        let fingerprint = self.fingerprint();
        let (cache, follower) = self.tiers.open(limits, MAPPED_FIELD_BYTES, &self.clock)?;
        let rules = Rules {
            scheme: self.scheme,
            authorities,
            policy: self.policy,
            query: self.query,
            identify: self.identify,
            client: self.client,
            tags: self.tags,
            kept: self.kept,
            ignored: self.ignored,
            writes_cache_status: self.writes_cache_status,
            fills_max: self.fills_max,
            fill_wait_max: self.fill_wait_max,
            fingerprint,
        };
        let shared = Arc::new(Shared::new(cache, rules, self.clock, follower));
        Ok((CacheLayer::new(shared.clone()), CacheHandle::new(shared)))
    }

    /// See [`Rules::fingerprint`]. Other processes use what is stored, now or after a restart, so the hash must be the same there.
    fn fingerprint(&self) -> u64 {
        let mut hasher = StableHasher::default();
        let functions = (self.identify.is_some(), self.client.is_some(), self.tags.is_some(), self.kept.len());
        (&self.policy, &self.query, functions, &self.version).hash(&mut hasher);
        hasher.finish()
    }

    /// Notes a type of extensions. Extensions are counted, so a type that is named twice must not count twice.
    fn is_new<T: 'static>(&mut self) -> bool {
        self.extensions.insert(TypeId::of::<T>())
    }

    fn spelled_authorities(&self) -> Result<Authorities, BuildError> {
        let spell = |one: &String| {
            authority(one.as_bytes(), self.scheme.default_port()).map_err(|_| BuildError::InvalidAuthority(one.clone()))
        };
        let spelled = self.authorities.iter().map(spell).collect::<Result<Vec<_>, _>>()?;
        match spelled.as_slice() {
            [] => Err(BuildError::NoAuthority),
            [one] if !self.is_listed => Ok(Authorities::One(one.clone())),
            _ => Ok(Authorities::Listed(spelled)),
        }
    }
}

/// The rules of an application that says nothing of stale responses. The server serves them for a day while an origin can't be reached; an
/// application that fails is there.
fn policy(profile: Profile) -> Policy {
    Policy { stale_disconnected_seconds: 0, ..Policy::new(profile) }
}

/// Lifetimes have whole seconds. Half a second must not become none.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0))
}

/// Copies an extension, and says whether there was one.
fn copy<T: Clone + Send + Sync + 'static>(from: &Extensions, to: &mut Extensions) -> bool {
    let Some(extension) = from.get::<T>() else { return false };
    to.insert(extension.clone());
    true
}

fn has<T: Send + Sync + 'static>(extensions: &Extensions) -> bool {
    extensions.get::<T>().is_some()
}
