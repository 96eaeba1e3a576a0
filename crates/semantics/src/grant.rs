//! Describes the lifetimes that the operator grants to responses: where they state none, or whatever they state.
//!
//! By the RFCs' rules, a script's response without an expiry can't be kept, but the operator may know better. A [`Grant`] says how
//! long its responses are fresh, and which of their directives and fields do not count. It holds only for a GET or HEAD that
//! reached the origin without Authorization, and with no cookies but those in the key: then the origin knew nothing of a single
//! visitor. Three rules make that true:
//!
//! - The request to the origin carries only what the grant names of the client's fields and cookies ([`Grant::reaches_origin`]).
//!   What is kept back can't change an answer, so it selects no variant either, whatever `Vary` says
//!   ([`variant_key`](crate::vary::variant_key)).
//! - What the grant names enters the key, beside what `Vary` nominates ([`nominated`](crate::effective::nominated)).
//! - A request that says who sends it passes ([`Grant::refuses`]), and neither reads nor changes what is stored. So does one with a
//!   field by which it may ask for something else ([`request_fields`](crate::request_fields)).
//!
//! Only what [`Grant::ignore`] lists is overruled, and the cookies of [`Grant::dropped_cookies`]: everything else in a response
//! still counts ([`effective`](crate::effective)). [`downstream`](crate::downstream) decides what clients are told of a granted
//! lifetime.

use crate::{classes, cookies};
use http::{Method, StatusCode};
use kasoku_wire::{Fields, RequestHead};

/// What the operator grants. Durations are in seconds; 0: no grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Grant {
    /// The lifetime of a response that states none.
    pub ttl_seconds: u64,
    /// The lifetime of a response of which [`Grant::ignore`] overrules a part; and of one that states none, if `ttl_seconds` is 0.
    pub ttl_override_seconds: u64,
    /// The parts of a response that do not count.
    pub ignore: Vec<Ignored>,
    /// Lifetimes by status, in the place of the two above. The narrowest range that fits decides, and 0 grants nothing.
    pub ttl_status: Vec<StatusTtl>,
    /// Whether a granted lifetime is told to clients.
    pub announce_ttl: bool,
    /// Cookies that reach the origin and enter the key, as globs over names.
    pub key_cookies: Vec<String>,
    /// Request fields that reach the origin and enter the key: lower case.
    pub key_fields: Vec<String>,
    /// Whether the visitor's class of device is in the key (see [`classes`]).
    pub key_device: bool,
    /// The languages of which one is in the key, in lower case. The first is for requests that like none of them. Empty: the
    /// language is not in the key.
    pub key_languages: Vec<String>,
    /// Cookies that a response may set and still be stored, as globs over names: they are dropped (see
    /// [`set_cookies`](crate::set_cookies)).
    pub dropped_cookies: Vec<String>,
    /// The dropped cookies that are a session's, and not noise: the page is searched more closely for their values (see
    /// [`secrets`](crate::secrets)).
    pub session_cookies: Vec<String>,
}

/// A lifetime for some statuses: those from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatusTtl {
    /// The first status.
    pub first: u16,
    /// The last status.
    pub last: u16,
    /// The lifetime, in seconds.
    pub seconds: u64,
}

/// Why a request passes, although a lifetime is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantRefusal<'r> {
    /// It has Authorization.
    Authorization,
    /// It has this cookie.
    Cookie(&'r [u8]),
    /// It has a session, by this cookie, that is not known to be anonymous.
    Session(&'r [u8]),
    /// It has this field, by which an application may answer otherwise (see [`request_fields`](crate::request_fields)).
    Field(&'r [u8]),
}

macro_rules! ignored {
    ($($variant:ident, $word:literal, $text:literal;)*) => {
        /// A part of a response that an operator may overrule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Ignored {
            $(#[doc = $text] $variant,)*
        }

        impl Ignored {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its word in a configuration: the name of a directive or of a field.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The danger of ignoring it, in a sentence that goes on from "ignored:".
            pub const fn danger(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

ignored! {
    NoStore, "no-store", "a page that the application forbids to store is stored, and shown to all visitors";
    Private, "private", "a page that the application made for one visitor is shown to all visitors";
    NoCache, "no-cache", "a page that the application wants to confirm each time is shown without asking it";
    MaxAge, "max-age", "a page is still shown when, by its own lifetime, it has expired";
    SMaxage, "s-maxage", "a page is still shown when, by its own lifetime, it has expired";
    Expires, "expires", "a page is still shown when, by its own lifetime, it has expired";
    MustRevalidate, "must-revalidate", "a stale page may be shown while the application fails or is asked";
    SetCookie, "set-cookie", "no cookie that a page sets here reaches a visitor, so sessions and logins do not begin here";
    Vary, "vary", "all visitors get the page that the first of them got, whatever it depends on";
}

impl Grant {
    /// Whether a lifetime is granted at all.
    pub fn is_granting(&self) -> bool {
        self.ttl_seconds > 0 || self.ttl_override_seconds > 0 || self.ttl_status.iter().any(|one| one.seconds > 0)
    }

    /// Whether a field of that name reaches the origin: as the client sent it, as a class, or, of Cookie, in part.
    pub fn reaches_origin(&self, name: &[u8]) -> bool {
        if name.eq_ignore_ascii_case(b"cookie") {
            return !self.key_cookies.is_empty();
        }
        self.keys_by_class(name) || self.key_fields.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
    }

    /// Whether a field of that name is in the key as a class of visitors, instead of as the client sent it (see [`classes`]).
    pub fn keys_by_class(&self, name: &[u8]) -> bool {
        let is = |one: &str| name.eq_ignore_ascii_case(one.as_bytes());
        (self.key_device && is(classes::DEVICE_FIELD))
            || (!self.key_languages.is_empty() && is(classes::LANGUAGE_FIELD))
    }

    /// The fields that are in the key, whatever a response nominates: lower case, sorted, unique.
    pub fn key(&self) -> Vec<String> {
        if !self.is_granting() {
            return Vec::new();
        }
        let cookie = (!self.key_cookies.is_empty()).then_some("cookie");
        let device = self.key_device.then_some(classes::DEVICE_FIELD);
        let language = (!self.key_languages.is_empty()).then_some(classes::LANGUAGE_FIELD);
        let others = [cookie, device, language].into_iter().flatten().map(str::to_owned);
        let mut names: Vec<String> = self.key_fields.iter().cloned().chain(others).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Why a request with these fields passes, if it does. `allows`: whether a cookie that is not in the key may be removed from
    /// the request.
    pub fn refuses<'r>(&self, request: &'r Fields, allows: impl Fn(&[u8]) -> bool) -> Option<GrantRefusal<'r>> {
        if request.contains("authorization") {
            return Some(GrantRefusal::Authorization);
        }
        let mut names = cookies::pairs(request).map(cookies::name);
        names.find(|name| !cookies::is_any(&self.key_cookies, name) && !allows(name)).map(GrantRefusal::Cookie)
    }

    /// Whether the grant holds for the answer to `request`, as it reached the origin.
    pub(crate) fn holds_for(&self, request: &RequestHead) -> bool {
        let is_read = request.method == Method::GET || request.method == Method::HEAD;
        self.is_granting()
            && is_read
            && !request.fields.contains("authorization")
            && cookies::has_only(&self.key_cookies, &request.fields)
    }

    /// The lifetime that `ttl_status` gives to a status, if it names it.
    pub(crate) fn of_status(&self, status: StatusCode) -> Option<u64> {
        let fits = |one: &&StatusTtl| (one.first..=one.last).contains(&status.as_u16());
        self.ttl_status.iter().filter(fits).min_by_key(|one| one.last - one.first).map(|one| one.seconds)
    }
}

/// Whether `ttl` and `ttl-override` apply to a status: to answers that say what a page is, or where it is. Errors and temporary
/// redirections (302, 307) get a lifetime only by `ttl-status`.
pub(crate) fn ttl_applies_to_status(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 300 | 301 | 308)
}
