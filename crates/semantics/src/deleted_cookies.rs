//! Finds the cookies that a response deletes, so that a page that deletes one can be stored where a lifetime is granted.
//!
//! Some applications delete a cookie with each answer (Movable Type 3.35). For a client without the cookie the deletion changes nothing, so
//! the page is stored without it. A client that brings the cookie must reach the application, since only the application's own answer deletes
//! it. Nearly always it passes already: a cookie in no list makes a request pass. Where `cookies.others = "remove"`, it would get the stored
//! page. So the stored response nominates the cookie: beside the fields of its `Vary` it has a name of the form `cookie~NAME`, which no
//! request with that cookie selects ([`variant_key`](crate::vary::variant_key)). All tiers keep nominated names already. The host passes a
//! request that brings such a cookie ([`brought`]).
//!
//! A cookie that the request brought to the application is not dropped: it is in the key, and the client needs the deletion.

use crate::set_cookie_line::{is_set_cookie, pair};
use crate::{Policy, cookies};
use kasoku_wire::field::date;
use kasoku_wire::field::list::{is_token, trim};
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// The most cookies that one response may delete and be stored.
const NAMES_MAX: usize = 8;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// The beginning of a nominated name that stands for a cookie. A field of that name selects nothing where a lifetime is granted.
const PREFIX: &str = "cookie~";

/// A time that is past in any case, for a response without Date: 2020-01-01.
const PAST_UNIX_SECONDS: i64 = 1_577_836_800;

/// The year before which no time can be computed; it is past in any case.
const FIRST_YEAR: u16 = 1970;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Whether a Set-Cookie line of a response deletes its cookie (RFC 6265 sections 5.2 and 5.3): by `Max-Age`, or else by `Expires`. `response`:
/// all fields, for their Date.
pub fn deletes(line: &[u8], response: &Fields) -> bool {
    let (mut max_age, mut expires) = (None, None);
    for attribute in line.split(|byte| *byte == b';').skip(1) {
        let (name, value) = match attribute.iter().position(|byte| *byte == b'=') {
            Some(at) => (attribute.get(..at).unwrap_or_default(), attribute.get(at + 1..).unwrap_or_default()),
            None => (attribute, &b""[..]),
        };
        // Of several valid attributes of one name the last counts.
        match trim(name) {
            name if name.eq_ignore_ascii_case(b"max-age") => max_age = is_spent(trim(value)).or(max_age),
            name if name.eq_ignore_ascii_case(b"expires") => expires = cookie_date(value).or(expires),
            _ => {}
        }
    }
    max_age.unwrap_or_else(|| expires.is_some_and(|time| time <= sent_at(response)))
}

/// Whether a value of Max-Age ends the cookie at once; `None`: it is no value.
fn is_spent(value: &[u8]) -> Option<bool> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.len() < value.len() || digits.iter().all(|digit| *digit == b'0'))
}

/// When the response was sent, in seconds since 1970, as far as is known.
fn sent_at(response: &Fields) -> i64 {
    response.only("date").and_then(|value| date::parse(value, PAST_UNIX_SECONDS)).unwrap_or(PAST_UNIX_SECONDS)
}

/// The time that an `Expires` attribute names, in seconds since 1970. Browsers take many forms, and CGI.pm writes none of HTTP's
/// (`Thu, 27-Nov-2025 20:00:00 GMT`); RFC 6265 section 5.1.1 says how to read them all.
fn cookie_date(value: &[u8]) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in value.split(|byte| is_delimiter(*byte)).filter(|token| !token.is_empty()) {
        let token = std::str::from_utf8(token).ok()?;
        if time.is_none() && clock(token).is_some() {
            time = clock(token);
        } else if day.is_none() && number(token, 1, 2).is_some() {
            day = number(token, 1, 2);
        } else if month.is_none() && month_of(token).is_some() {
            month = month_of(token);
        } else if year.is_none() {
            year = number(token, 2, 4);
        }
    }
    let ((hour, minute, second), day, month) = (time?, day?, month?);
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    if year < FIRST_YEAR {
        return Some(0);
    }
    // The weekday does not count.
    date::parse(format!("Mon, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT").as_bytes(), 0)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// The number at the beginning of a token, if it has so many digits.
fn number(token: &str, digits_min: usize, digits_max: usize) -> Option<u16> {
    let digits = token.find(|c: char| !c.is_ascii_digit()).unwrap_or(token.len());
    let is_of_length = (digits_min..=digits_max).contains(&digits);
    token.get(..digits).filter(|_| is_of_length)?.parse().ok()
}

fn clock(token: &str) -> Option<(u16, u16, u16)> {
    let mut parts = token.splitn(3, ':');
    let mut next = || number(parts.next()?, 1, 2);
    Some((next()?, next()?, next()?))
}

fn month_of(token: &str) -> Option<&'static str> {
    MONTHS.into_iter().find(|month| token.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(month)))
}

/// The cookies that are dropped from a response because it deletes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DeletedCookies {
    /// As they are nominated: sorted, unique.
    names: Vec<String>,
}

impl DeletedCookies {
    /// Those of the response to `request` (as sent to the origin), where the grant holds. None where there are too many.
    pub(crate) fn of(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Self {
        if !policy.grant.holds_for(request) {
            return Self::default();
        }
        let lines = response.fields.iter().filter(|(name, _)| is_set_cookie(name)).map(|(_, line)| line);
        let is_dropped = |line: &&[u8]| {
            let name = pair(line).0;
            let is_listed = cookies::is_any(&policy.grant.dropped_cookies, name);
            !is_listed && !has(&request.fields, name) && deletes(line, &response.fields)
        };
        let names: Option<Vec<String>> = lines.filter(is_dropped).map(|line| nominated_name(pair(line).0)).collect();
        let mut names = names.unwrap_or_default();
        names.sort_unstable();
        names.dedup();
        if names.len() > NAMES_MAX { Self::default() } else { Self { names } }
    }

    /// Whether a field of the response deletes one of these cookies. A cookie that the response sets as well is not dropped.
    pub(crate) fn have(&self, name: &[u8], line: &[u8], response: &Fields) -> bool {
        let is_one = || nominated_name(pair(line).0).is_some_and(|name| self.names.contains(&name));
        !self.names.is_empty() && is_set_cookie(name) && is_one() && deletes(line, response)
    }

    /// The names that stand for them among the nominated fields.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }
}

/// The name that stands for a cookie among the nominated fields. Its case does not count, since nominated names are in lower case: then a
/// few requests more pass. `None`: the cookie has no name, or an odd one.
fn nominated_name(cookie: &[u8]) -> Option<String> {
    let is_plain = cookie.len() <= NAME_BYTES_MAX && is_token(cookie);
    is_plain.then(|| format!("{PREFIX}{}", String::from_utf8_lossy(cookie).to_ascii_lowercase()))
}

/// The cookie that a nominated name stands for, in lower case.
pub fn nominated_cookie(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

/// Whether a request has that cookie, in any case of letters.
pub(crate) fn has(request: &Fields, cookie: &[u8]) -> bool {
    cookies::pairs(request).any(|pair| cookies::name(pair).eq_ignore_ascii_case(cookie))
}

/// The first cookie of a request, as it was received, that a stored response deletes. The request passes for it. `nominated`: the
/// names that the stored response nominates.
pub fn brought<'r>(nominated: &[String], received: &'r Fields) -> Option<&'r [u8]> {
    let mut deleted = nominated.iter().filter_map(|name| nominated_cookie(name)).peekable();
    deleted.peek()?;
    let deleted: Vec<&str> = deleted.collect();
    let is_deleted = |name: &&[u8]| deleted.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
    cookies::pairs(received).map(cookies::name).find(is_deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effective::nominated;
    use crate::stored_fields::date_cookies;
    use crate::testing::{NOW, at, get, ok, safe};
    use crate::vary::variant_key;
    use crate::{Reason, freshness, storable};

    fn granting() -> Policy {
        let mut policy = safe();
        policy.grant.ttl_seconds = 60;
        policy
    }

    fn stores(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Result<(), Reason> {
        storable(request, response, &freshness(request, response, NOW, NOW, policy), policy)
    }

    #[test]
    fn a_line_deletes_its_cookie_by_max_age_or_else_by_expires() {
        let response = [("Date", "Fri, 27 Nov 2026 20:00:00 GMT")].into_iter().collect();
        for (line, expected) in [
            ("a=; Max-Age=0", true),
            ("a=deleted; max-age = -1; Path=/", true),
            ("a=1; Max-Age=-0", true),
            ("a=1; Max-Age=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", false),
            ("a=1; Max-Age=0; Expires=Thu, 01 Jan 2099 00:00:00 GMT", true),
            ("a=1; Max-Age=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT", true),
            // CGI.pm, PHP, Netscape's own form, asctime, and a clock before 1970.
            ("mt_user=; path=/; expires=Thu, 27-Nov-2025 20:00:00 GMT", true),
            ("a=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/", true),
            ("a=; expires=Thursday, 01-Jan-70 00:00:00 GMT", true),
            ("a=; expires=Thu Jan  1 00:00:00 1970", true),
            ("a=; expires=Mon, 01-Jan-1601 00:00:00 GMT", true),
            ("a=; expires=Fri, 27 Nov 2026 20:00:00 GMT", true),
            ("a=1; expires=Fri, 27 Nov 2026 20:00:01 GMT", false),
            ("a=1; expires=Tue, 19-Jan-2038 03:14:07 GMT", false),
            ("a=1; expires=never", false),
            ("a=", false),
            ("a=; Path=/; Max-Age", false),
            ("max-age=0", false),
        ] {
            assert_eq!(deletes(line.as_bytes(), &response), expected, "{line}");
        }
        assert!(deletes(b"a=; expires=Thu, 01-Jan-1970 00:00:00 GMT", &Fields::new()), "past without a Date as well");
    }

    #[test]
    fn a_program_sends_no_date_so_the_time_of_its_answer_counts() {
        let line = format!("mt_user=; expires={}", at(-9));
        let mut answer = ok().with("Set-Cookie", &line);
        answer.fields.remove("date");
        assert!(!deletes(line.as_bytes(), &answer.fields));
        date_cookies(&mut answer, NOW);
        assert!(deletes(line.as_bytes(), &answer.fields));
        let mut silent = ResponseHead { fields: Fields::new(), ..ok() };
        date_cookies(&mut silent, NOW);
        assert!(!silent.fields.contains("date"));
    }

    #[test]
    fn a_page_that_deletes_a_cookie_is_stored_under_a_granted_lifetime() {
        let page = ok().with("Set-Cookie", format!("mt_user=; path=/; expires={}", at(-9)));
        assert_eq!(stores(&get(), &page, &granting()), Ok(()));
        assert_eq!(stores(&get(), &page, &safe()), Err(Reason::SetCookie), "not where nothing is granted");
        for line in ["other=1", "mt_user=1", "odd name=; Max-Age=0", "=; Max-Age=0"] {
            assert_eq!(
                stores(&get(), &page.clone().with("Set-Cookie", line), &granting()),
                Err(Reason::SetCookie),
                "{line}"
            );
        }
        let many = (0..=NAMES_MAX).fold(ok(), |page, one| page.with("Set-Cookie", format!("c{one}=; Max-Age=0")));
        assert_eq!(stores(&get(), &many, &granting()), Err(Reason::SetCookie));
    }

    #[test]
    fn a_cookie_of_the_key_that_the_request_brought_has_to_be_deleted() {
        let mut policy = granting();
        policy.grant.key_cookies = vec!["lang".to_owned()];
        let page = ok().with("Set-Cookie", "lang=; Max-Age=0");
        assert_eq!(stores(&get(), &page, &policy), Ok(()));
        assert_eq!(stores(&get().with("Cookie", "lang=xx"), &page, &policy), Err(Reason::SetCookie));
    }

    #[test]
    fn a_request_with_the_deleted_cookie_does_not_select_the_page() {
        let policy = granting();
        let page = ok().with("Set-Cookie", "MT_user=; Max-Age=0").with("Set-Cookie", "mt_user=; Max-Age=0; Path=/mt");
        let names = nominated(&get(), &page, &policy);
        assert_eq!(names, ["cookie~mt_user"]);
        let key = |cookie: &str| {
            let mut out = Vec::new();
            variant_key(&names, &get().with("Cookie", cookie).fields, &policy, &mut out);
            out
        };
        assert_eq!(key("other=1"), key("_ga=2"));
        assert_ne!(key("other=1"), key("other=1; MT_USER=ann"));
        let received = get().with("Cookie", "other=1; mt_user=ann").fields;
        assert_eq!(brought(&names, &received), Some(&b"mt_user"[..]));
        assert_eq!(brought(&names, &get().with("Cookie", "other=1").fields), None);
        assert_eq!(brought(&["cookie".to_owned()], &received), None);
    }
}
