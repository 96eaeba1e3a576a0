//! Lists the header lines that speak for and against storing a response, for `kasoku explain`.
//!
//! Nothing is decided here. [`objections`], [`reuse`] and [`may_look_up`] say what speaks against, and this file adds the lines
//! that they say it of. [`freshness`](crate::freshness::freshness) says what speaks for. Sentences and sources stand in two tables:
//! the [`Reason`]s, and the [`Ground`]s beside them. A test removes each line that speaks against, and checks that its reason goes.

use crate::credentials::has_credentials;
use crate::deleted_cookies::DeletedCookies;
use crate::directives::{control_field, directives};
use crate::effective::{effective, is_overruled_or_dropped};
use crate::ground::{Because, Ground};
use crate::reuse::{Reuse, reuse};
use crate::set_cookies::is_dropped;
use crate::storable::objections;
use crate::vary::{Vary, vary};
use crate::{Freshness, LifetimeSource, Now, Policy, Profile, Reason, accel_expires, may_look_up, request_directives};
use http::Method;
use kasoku_wire::field::cache_control::CacheControl;
use kasoku_wire::field::list;
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// Whether a line speaks for or against a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It helps.
    For,
    /// It is in the way.
    Against,
    /// It changes nothing, or depends.
    Neither,
}

/// The line in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceLine<'m> {
    /// The request's method.
    Method(&'m Method),
    /// The response's status.
    Status(u16),
    /// A field of the request.
    Request(&'m [u8], &'m [u8]),
    /// A field of the response.
    Response(&'m [u8], &'m [u8]),
    /// No line: what matters is that it is missing.
    Absent,
}

/// One line and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence<'m> {
    /// The line.
    pub line: EvidenceLine<'m>,
    /// Whether it helps.
    pub side: Side,
    /// What it means.
    pub because: Because,
}

/// All reasons why a response is no hit for the next request: why it is not stored, and why it could not be used at once if it
/// were.
pub fn obstacles(
    request: &RequestHead,
    response: &ResponseHead,
    freshness: &Freshness,
    policy: &Policy,
) -> Vec<Reason> {
    let mut reasons = objections(request, response, freshness, policy);
    let next = reuse(freshness, &request_directives(&Fields::new()), policy, freshness.response_time);
    if let Reuse::Validate(reason) = next {
        // A reason in the list may imply this one already.
        let is_told = match reason {
            Reason::NoLifetime => reasons.contains(&Reason::NoExpiryNoValidator),
            Reason::Stale | Reason::StaleMustRevalidate => reasons.contains(&Reason::Expired),
            _ => false,
        };
        reasons.extend((!is_told).then_some(reason));
    }
    reasons
}

/// What the request alone says, and why it does not get what is stored, if it does not (`refusal`). `nominated`: the fields that
/// tell stored variants apart.
pub fn of_request<'m>(
    request: &'m RequestHead,
    refusal: Option<Reason>,
    nominated: &[String],
    policy: &Policy,
) -> Vec<Evidence<'m>> {
    let mut all: Vec<Evidence<'m>> = Vec::new();
    let no_store = request_directives(&request.fields).no_store.then_some(Reason::RequestNoStore);
    for reason in may_look_up(request).err().into_iter().chain(refusal).chain(no_store) {
        if !all.iter().any(|one| one.because == Because::Reason(reason)) {
            all.extend(request_lines(reason, request).map(|line| against(line, reason)));
        }
    }
    if refusal == Some(Reason::VaryMiss) {
        let lines = nominated.iter().flat_map(|name| lines_named(&request.fields, name));
        all.extend(lines.map(|(name, value)| against(EvidenceLine::Request(name, value), Reason::VaryMiss)));
    }
    let wishes = request_directives(&request.fields);
    let wants_other = wishes.no_cache || wishes.max_age.is_some() || wishes.min_fresh.is_some();
    if wants_other && !policy.client_may_revalidate {
        let names = ["Cache-Control", "Pragma"];
        all.extend(names.iter().flat_map(|name| ground(&request.fields, name, Side::Neither, Ground::ClientIgnored)));
    }
    if wishes.max_stale.is_some() {
        all.extend(ground(&request.fields, "Cache-Control", Side::For, Ground::MaxStale));
    }
    all
}

/// The lines by which the request says who sends it, while the answer is not known.
pub fn of_visitor<'m>(request: &'m RequestHead, policy: &Policy) -> Vec<Evidence<'m>> {
    let of = |name| ground(&request.fields, name, Side::Neither, Ground::ForAVisitor);
    let cookie = of("Cookie").filter(|_| policy.profile == Profile::Safe);
    cookie.chain(of("Authorization")).collect()
}

/// What a response and the request that got it say. `freshness` is the response's. `reasons` is all that is in its way:
/// [`obstacles`], or why a stored response is not used.
pub fn of_response<'m>(
    request: &'m RequestHead,
    response: &'m ResponseHead,
    freshness: &Freshness,
    reasons: &[Reason],
    policy: &Policy,
    now: Now,
) -> Vec<Evidence<'m>> {
    let mut all = Vec::new();
    // A response that has never been fresh has not become stale. The line that gives it no lifetime says more.
    let is_said_otherwise = |reason: &Reason| *reason == Reason::Stale && freshness.is_expired_at_once();
    for reason in reasons.iter().filter(|reason| !is_said_otherwise(reason)) {
        let lines = lines(*reason, request, response, policy);
        all.extend(lines.into_iter().map(|line| against(line, *reason)));
    }
    for one in of_lifetime(response, freshness, policy, now) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    let deleted = DeletedCookies::of(request, response, policy);
    let is_granting = policy.grant.holds_for(request);
    for (name, value) in response.fields.iter().filter(|_| is_granting) {
        let ground = match () {
            () if is_dropped(name, value, policy) => Ground::CookieDropped,
            () if deleted.have(name, value, &response.fields) => Ground::CookieDeleted,
            () if is_overruled_or_dropped(name, value, policy) => Ground::Ignored,
            () => continue,
        };
        let because = Because::Ground(ground);
        all.push(Evidence { line: EvidenceLine::Response(name, value), side: Side::Neither, because });
    }
    let effective = effective(request, response, policy);
    let directives = directives(&effective, policy);
    let control = &directives.control;
    let field = control_field(response, policy);
    let may_share = !reasons.iter().any(|one| matches!(one, Reason::Cookie | Reason::Authorization));
    let says_so = control.s_maxage.is_some() || control.public || control.must_revalidate;
    // Where the configuration grants lifetimes, a request that says who sends it passes, whatever the response says.
    let is_asked = has_credentials(&request.fields) && !policy.grant.is_granting();
    if is_asked && may_share && says_so {
        all.extend(with_directive(
            response,
            field,
            &["s-maxage", "public", "must-revalidate"],
            Side::For,
            Ground::Shared,
        ));
    }
    let may_be_stale =
        !freshness.must_revalidate && !freshness.no_cache && freshness.source != LifetimeSource::SoftError;
    if policy.grace_seconds > 0 && may_be_stale && freshness.lifetime > 0 {
        all.push(Evidence { line: EvidenceLine::Absent, side: Side::For, because: Because::Ground(Ground::Grace) });
    }
    all.extend(of_staleness(response, field, control, freshness));
    for name in ["ETag", "Last-Modified"] {
        all.extend(response_ground(response, name, Side::For, Ground::Validator));
    }
    if let Vary::Fields(names) = sent_on(vary(&effective.fields), policy) {
        let splits = names.iter().any(|name| is_of_visitors(name));
        let (side, ground) =
            if splits { (Side::Against, Ground::VariesByVisitor) } else { (Side::Neither, Ground::Varies) };
        all.extend(response_ground(response, "Vary", side, ground));
    }
    all
}

/// For how long the response may be served stale, by its own directives.
fn of_staleness<'m>(
    response: &'m ResponseHead,
    field: &str,
    control: &CacheControl,
    freshness: &Freshness,
) -> Vec<Evidence<'m>> {
    let forbidden = match () {
        () if control.s_maxage.is_some() => Some(Ground::SMaxageForbidsStale),
        () if freshness.must_revalidate || freshness.no_cache => Some(Ground::StaleForbidden),
        () => None,
    };
    let mut all = Vec::new();
    let mut tell = |name, said: Option<u64>, own| match (said, forbidden) {
        (None | Some(0), _) => {}
        (Some(_), Some(forbidden)) => all.extend(with_directive(response, field, &[name], Side::Neither, forbidden)),
        (Some(_), None) => all.extend(with_directive(response, field, &[name], Side::For, own)),
    };
    tell("stale-while-revalidate", control.stale_while_revalidate, Ground::StaleWhileRevalidate);
    tell("stale-if-error", control.stale_if_error, Ground::StaleIfError);
    all
}

/// Whether nearly each visitor sends another value of a field.
pub(crate) fn is_of_visitors(name: &str) -> bool {
    matches!(name, "user-agent" | "cookie" | "referer")
}

/// The fields that a `Vary` nominates and that reach the origin. The others select no variant.
pub(crate) fn sent_on(vary: Vary, policy: &Policy) -> Vary {
    match vary {
        Vary::Fields(mut names) if policy.grant.is_granting() => {
            names.retain(|name| name == "accept" || policy.grant.reaches_origin(name.as_bytes()));
            if names.is_empty() { Vary::None } else { Vary::Fields(names) }
        }
        vary => vary,
    }
}

/// The lines that give the lifetime, and those that do not count for it.
fn of_lifetime<'m>(response: &'m ResponseHead, freshness: &Freshness, policy: &Policy, now: Now) -> Vec<Evidence<'m>> {
    let mut all = Vec::new();
    let field = control_field(response, policy);
    let (name, directive, ground) = match freshness.source {
        LifetimeSource::Targeted => (field, &["s-maxage", "max-age"][..], Ground::Targeted),
        LifetimeSource::SMaxage => (field, &["s-maxage"][..], Ground::SMaxage),
        LifetimeSource::MaxAge => (field, &["max-age"][..], Ground::MaxAge),
        LifetimeSource::AccelExpires => ("X-Accel-Expires", &[][..], Ground::AccelExpires),
        LifetimeSource::Expires => ("Expires", &[][..], Ground::Expires),
        LifetimeSource::Heuristic => ("Last-Modified", &[][..], Ground::Heuristic),
        LifetimeSource::Negative | LifetimeSource::None => ("", &[][..], Ground::NegativeTtl),
        LifetimeSource::Ttl => ("", &[][..], Ground::Ttl),
        LifetimeSource::Override => ("", &[][..], Ground::TtlOverride),
        LifetimeSource::Status => ("", &[][..], Ground::TtlStatus),
        LifetimeSource::SoftError => ("", &[][..], Ground::SoftError),
    };
    let has_ended = !freshness.is_fresh(now);
    let mark = |line| match has_ended {
        true if freshness.is_expired_at_once() => {
            Evidence { line, side: Side::Against, because: Because::Ground(of_no_lifetime(freshness.source)) }
        }
        true => against(line, Reason::Stale),
        false => Evidence { line, side: Side::For, because: Because::Ground(ground) },
    };
    match freshness.source {
        LifetimeSource::Negative | LifetimeSource::Status => {
            all.push(mark(EvidenceLine::Status(response.status.as_u16())))
        }
        LifetimeSource::Ttl | LifetimeSource::Override | LifetimeSource::SoftError => {
            all.push(mark(EvidenceLine::Absent))
        }
        _ => {}
    }
    let is_bounded = policy.ttl_max_seconds > 0 && freshness.own_lifetime() == policy.ttl_max_seconds;
    if is_bounded && freshness.source != LifetimeSource::None {
        let because = Because::Ground(Ground::TtlMax);
        all.push(Evidence { line: EvidenceLine::Absent, side: Side::Neither, because });
    }
    if freshness.is_granted() {
        let announces = policy.grant.announce_ttl;
        let because = Because::Ground(if announces { Ground::Announced } else { Ground::NotAnnounced });
        all.push(Evidence { line: EvidenceLine::Absent, side: Side::Neither, because });
    }
    let lines = response_lines(response, name).filter(|(_, value)| directive.is_empty() || names_any(value, directive));
    all.extend(lines.map(|(name, value)| mark(EvidenceLine::Response(name, value))));
    let is_stated = matches!(freshness.source, LifetimeSource::Targeted | LifetimeSource::SMaxage);
    if is_stated && directives(response, policy).control.s_maxage.is_some() {
        all.extend(with_directive(response, field, &["max-age"], Side::Neither, Ground::MaxAgeOverruled));
    }
    if field != "Cache-Control" {
        for name in ["Cache-Control", "Expires"] {
            all.extend(response_ground(response, name, Side::Neither, Ground::Overruled));
        }
    } else if matches!(freshness.source, LifetimeSource::SMaxage | LifetimeSource::MaxAge) {
        all.extend(response_ground(response, "Expires", Side::Neither, Ground::ExpiresOverruled));
    }
    all
}

/// The ground for a line that states a lifetime of 0.
fn of_no_lifetime(source: LifetimeSource) -> Ground {
    match source {
        LifetimeSource::Targeted => Ground::TargetedZero,
        LifetimeSource::SMaxage => Ground::SMaxageZero,
        LifetimeSource::AccelExpires => Ground::AccelExpiresZero,
        LifetimeSource::Expires => Ground::ExpiresPast,
        _ => Ground::MaxAgeZero,
    }
}

/// The lines that a reason is about, in both messages; [`EvidenceLine::Absent`] where a missing line decides.
fn lines<'m>(
    reason: Reason,
    request: &'m RequestHead,
    response: &'m ResponseHead,
    policy: &Policy,
) -> Vec<EvidenceLine<'m>> {
    let control = control_field(response, policy);
    let directive = |names: &'static [&'static str]| {
        let found = response_lines(response, control).filter(move |(_, value)| names_any(value, names));
        found.map(|(name, value)| EvidenceLine::Response(name, value)).collect::<Vec<_>>()
    };
    let fields = |names: &[&str]| {
        let found = names.iter().flat_map(|name| response_lines(response, name));
        found.map(|(name, value)| EvidenceLine::Response(name, value)).collect::<Vec<_>>()
    };
    let lines = match reason {
        Reason::NoStore if directives(response, policy).is_accel => fields(&[accel_expires::NAME]),
        Reason::NoStore => directive(&["no-store"]),
        Reason::Private => directive(&["private"]),
        Reason::StaleNoCache | Reason::NoCacheNoValidator => directive(&["no-cache"]),
        Reason::StaleMustRevalidate => directive(&["must-revalidate", "proxy-revalidate", "s-maxage"]),
        Reason::Stale => match control {
            "Cache-Control" => [directive(&["s-maxage", "max-age"]), fields(&["Expires"])].concat(),
            _ => directive(&["s-maxage", "max-age"]),
        },
        Reason::NoExpiryNoValidator => {
            let age = fields(&["Age"]);
            [directive(&["s-maxage", "max-age", "no-cache"]), fields(&["Expires"]), age].concat()
        }
        // Only the field that decides: the field that it overrules says nothing.
        Reason::Expired => {
            let directives = directive(&["s-maxage", "max-age"]);
            if directives.is_empty() { fields(&["Expires"]) } else { directives }
        }
        Reason::SetCookie => {
            let deleted = DeletedCookies::of(request, response, policy);
            let mut lines = fields(&["Set-Cookie", "Set-Cookie2"]);
            lines.retain(|line| {
                !matches!(line, EvidenceLine::Response(name, value) if deleted.have(name, value, &response.fields))
            });
            lines
        }
        Reason::VaryStar | Reason::VaryUnseen | Reason::VaryChanged => fields(&["Vary"]),
        Reason::ContentRangeInvalid | Reason::ContentRangeLength => fields(&["Content-Range"]),
        Reason::MultipartRange | Reason::ContentTypeMismatch => fields(&["Content-Type"]),
        Reason::ObjectTooLarge => fields(&["Content-Length"]),
        Reason::InterimStatus
        | Reason::StatusNotModified
        | Reason::RequestSpecificStatus
        | Reason::RequestSpecificError
        | Reason::MustUnderstand
        | Reason::NotCacheable => vec![EvidenceLine::Status(response.status.as_u16())],
        _ => request_lines(reason, request).collect(),
    };
    if lines.is_empty() { vec![EvidenceLine::Absent] } else { lines }
}

/// The lines of a request that a reason is about.
fn request_lines(reason: Reason, request: &RequestHead) -> impl Iterator<Item = EvidenceLine<'_>> {
    let names: &[&str] = match reason {
        Reason::Authorization => &["Authorization"],
        Reason::Cookie => &["Cookie"],
        Reason::RequestNoStore | Reason::ClientMaxAge | Reason::ClientMinFresh | Reason::OnlyIfCachedMiss => {
            &["Cache-Control"]
        }
        Reason::ClientNoCache => &["Cache-Control", "Pragma"],
        Reason::OriginCondition => &["If-Match", "If-Unmodified-Since"],
        Reason::IfRangeMiss => &["If-Range"],
        Reason::RangeUnsatisfiable | Reason::PartialMiss => &["Range"],
        Reason::Upgrade => &["Upgrade"],
        Reason::RequestBodyOnGet => &["Content-Length", "Transfer-Encoding"],
        _ => &[],
    };
    let is_method = matches!(reason, Reason::Method | Reason::HeadOnly);
    let method = is_method.then_some(EvidenceLine::Method(&request.method));
    let fields = names.iter().flat_map(|name| lines_named(&request.fields, name));
    method.into_iter().chain(fields.map(|(name, value)| EvidenceLine::Request(name, value)))
}

fn against(line: EvidenceLine<'_>, reason: Reason) -> Evidence<'_> {
    Evidence { line, side: Side::Against, because: Because::Reason(reason) }
}

fn ground<'m>(fields: &'m Fields, name: &str, side: Side, ground: Ground) -> impl Iterator<Item = Evidence<'m>> {
    let because = Because::Ground(ground);
    lines_named(fields, name).map(move |(name, value)| Evidence {
        line: EvidenceLine::Request(name, value),
        side,
        because,
    })
}

fn response_ground<'m>(
    response: &'m ResponseHead,
    name: &str,
    side: Side,
    ground: Ground,
) -> impl Iterator<Item = Evidence<'m>> {
    let because = Because::Ground(ground);
    let lines = response_lines(response, name);
    lines.map(move |(name, value)| Evidence { line: EvidenceLine::Response(name, value), side, because })
}

fn with_directive<'m>(
    response: &'m ResponseHead,
    field: &str,
    names: &[&str],
    side: Side,
    ground: Ground,
) -> Vec<Evidence<'m>> {
    let because = Because::Ground(ground);
    let lines = response_lines(response, field).filter(|(_, value)| names_any(value, names));
    lines.map(|(name, value)| Evidence { line: EvidenceLine::Response(name, value), side, because }).collect()
}

fn response_lines<'m>(response: &'m ResponseHead, name: &str) -> impl Iterator<Item = (&'m [u8], &'m [u8])> {
    lines_named(&response.fields, name)
}

fn lines_named<'m>(fields: &'m Fields, name: &str) -> impl Iterator<Item = (&'m [u8], &'m [u8])> {
    fields.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name.as_bytes()))
}

/// Whether a line has one of these directives.
fn names_any(value: &[u8], names: &[&str]) -> bool {
    list::split(value).any(|member| {
        let name = member.split(|byte| matches!(byte, b'=' | b';')).next().unwrap_or_default();
        names.iter().any(|one| list::trim(name).eq_ignore_ascii_case(one.as_bytes()))
    })
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
