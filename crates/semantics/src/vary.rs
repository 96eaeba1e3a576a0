//! Decides by Vary which requests a stored response fits (RFC 9111 section 4.1).
//!
//! A response nominates fields; a request's values of those fields, normalised, make the variant's key. Normalising is a promise
//! that two values mean the same, so Kasoku normalises only where the field's definition says so:
//!
//! - all fields: lines are combined, white space around commas outside quoted strings goes away;
//! - Accept, Accept-Encoding, Accept-Language: case is folded, a quality of 1 is dropped;
//! - Accept-Encoding: order goes away too; Accept-Language: only in profile rfc. Two languages of equal quality mean
//!   no preference by the letter, but servers and people take the first: another order may pick another page.
//!
//! Cookie, Authorization, User-Agent and Referer are no lists: they are compared byte by byte.
//!
//! Where the operator grants lifetimes (see `grant`), a field that does not go to the origin can't have changed the response: it
//! counts as absent, and only the cookies that are in the key count. Of Accept the origin gets what stands for its class
//! (see `request_fields`), and the class counts where a response names Accept. So a request selects the same variant as received and as
//! forwarded.

use crate::deleted_cookies::{has, nominated_cookie};
use crate::request_fields::accept_class;
use crate::{Policy, classes, cookies};
use kasoku_wire::Fields;
use kasoku_wire::field::list;
use kasoku_wire::field::quality_list::{Preference, QUALITY_ONE, preferences};
use std::io::Write;

/// The most fields that may be nominated; a response that nominates more is treated like `Vary: *`.
pub const NOMINATED_MAX: usize = 32;

/// The requests that a stored response fits, by its Vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vary {
    /// Nothing: the response fits all requests for its URI.
    None,
    /// It fits no other request.
    Star,
    /// The nominated fields: lower case, sorted, unique, at least one.
    Fields(Vec<String>),
}

/// Reads Vary. A member that is no field name counts like `*`, since its meaning is unknown.
pub fn vary(fields: &Fields) -> Vary {
    let mut nominated = Vec::new();
    for member in list::members(fields, "vary") {
        // "A stored response with a Vary header field value containing a member "*" always fails to match."
        if member == b"*" || !list::is_token(member) || nominated.len() > 4 * NOMINATED_MAX {
            return Vary::Star;
        }
        nominated.push(String::from_utf8_lossy(member).to_ascii_lowercase());
    }
    nominated.sort_unstable();
    nominated.dedup();
    match nominated.len() {
        0 => Vary::None,
        1..=NOMINATED_MAX => Vary::Fields(nominated),
        _ => Vary::Star,
    }
}

/// Appends to `out` the key of the variant that `request` selects: for each nominated field its name, whether it is present, and
/// its normalised value with its length, so that no two selections share a key.
//= RFC 9111 section 4.1
//# the cache MUST NOT use that stored response without revalidation unless all the presented request header fields
//# nominated by that Vary field value match those fields in the original request
pub fn variant_key(nominated: &[String], request: &Fields, policy: &Policy, out: &mut Vec<u8>) {
    for name in nominated {
        // A name is a token, so the byte that says whether the field is present also ends the name.
        out.extend_from_slice(name.as_bytes());
        if let Some(cookie) = deleted_cookie(name, policy) {
            // Whether the request has the cookie counts, and not its value.
            out.push(u8::from(has(request, cookie.as_bytes())));
            continue;
        }
        // A request without the field belongs to a class as well.
        let is_class = is_class(name, policy);
        let is_present = is_class || (request.contains(name) && reaches_origin(name, request, policy));
        out.push(u8::from(is_present));
        if is_present {
            let start = out.len();
            out.extend_from_slice(&[0; LEN_BYTES]);
            normalise(name, request, policy, out);
            let len = out.len() - start - LEN_BYTES;
            let bytes = u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes();
            if let Some(place) = out.get_mut(start..start + LEN_BYTES) {
                place.copy_from_slice(&bytes);
            }
        }
    }
}

/// The cookie that the name stands for, of a response that deletes it (see [`deleted_cookies`](crate::deleted_cookies)).
fn deleted_cookie<'n>(name: &'n str, policy: &Policy) -> Option<&'n str> {
    policy.grant.is_granting().then(|| nominated_cookie(name)).flatten()
}

/// Whether the visitor's class enters the key in place of that field's value.
fn is_class(name: &str, policy: &Policy) -> bool {
    policy.grant.is_granting() && (policy.grant.keys_by_class(name.as_bytes()) || is_accept_class(name, policy))
}

/// Whether that is Accept, and the origin gets what stands for its class instead of the client's value.
fn is_accept_class(name: &str, policy: &Policy) -> bool {
    name == "accept" && !policy.grant.reaches_origin(name.as_bytes())
}

/// Whether the origin gets that field, at least in part.
fn reaches_origin(name: &str, request: &Fields, policy: &Policy) -> bool {
    let grant = &policy.grant;
    match name {
        _ if !grant.is_granting() => true,
        "cookie" => cookies::has_any(&grant.key_cookies, request),
        name => grant.reaches_origin(name.as_bytes()),
    }
}

const LEN_BYTES: usize = size_of::<u32>();

fn normalise(name: &str, request: &Fields, policy: &Policy, out: &mut Vec<u8>) {
    match name {
        "accept" if is_class(name, policy) => write_bytes(accept_class(request).accept().as_bytes(), out),
        _ if is_class(name, policy) => classes::write(name, request, &policy.grant.key_languages, out),
        "accept" => join(request.all(name).flat_map(preferences), write_weighed, out),
        "accept-encoding" => sorted(request, name, out),
        "accept-language" if policy.is_safe() => join(request.all(name).flat_map(preferences), write_weighed, out),
        "accept-language" => sorted(request, name, out),
        "cookie" if policy.grant.is_granting() => cookies::write(&policy.grant.key_cookies, request, out),
        "cookie" | "authorization" | "user-agent" | "referer" => join(request.all(name), write_bytes, out),
        _ => join(request.all(name).flat_map(list::pieces), write_bytes, out),
    }
}

/// The most members that are sorted; a longer list keeps its order, and may select a variant more than necessary.
const SORTED_MAX: usize = 16;

/// Writes the members in a fixed order. It sorts on the stack, since it runs on each hit.
fn sorted(request: &Fields, name: &str, out: &mut Vec<u8>) {
    let mut members = [Preference { value: &[], quality: 0 }; SORTED_MAX];
    let mut count = 0;
    for one in request.all(name).flat_map(preferences) {
        match members.get_mut(count) {
            Some(place) => *place = one,
            None => return join(request.all(name).flat_map(preferences), write_weighed, out),
        }
        count += 1;
    }
    let members = members.get_mut(..count).unwrap_or_default();
    members.sort_unstable_by(|one, two| {
        let values = lower_case(one.value).cmp(lower_case(two.value));
        values.then(one.quality.cmp(&two.quality))
    });
    join(members.iter().copied(), write_weighed, out);
}

/// Writes a member in lower case, with its quality in thousandths unless that is 1.
fn write_weighed(one: Preference<'_>, out: &mut Vec<u8>) {
    out.extend(lower_case(one.value));
    if one.quality != QUALITY_ONE {
        // Writing to a Vec cannot fail.
        let _ = write!(out, ";q={}", one.quality);
    }
}

fn lower_case(value: &[u8]) -> impl Iterator<Item = u8> {
    value.iter().map(u8::to_ascii_lowercase)
}

fn write_bytes(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(value);
}

fn join<T>(members: impl Iterator<Item = T>, write: impl Fn(T, &mut Vec<u8>), out: &mut Vec<u8>) {
    for (index, member) in members.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(member, out);
    }
}

/// Whether a stored response in this language is among those that the client prefers most (RFC 9111 section 4.1: a known mechanism
/// for ranking preference may choose a response). For profile rfc only: see the [module](self).
pub fn language_selects(stored_content_language: &[u8], accept_language: &[u8]) -> bool {
    let stored = list::trim(stored_content_language);
    let best = preferences(accept_language).map(|one| one.quality).max().unwrap_or(0);
    best > 0 && preferences(accept_language).any(|one| one.quality == best && one.value.eq_ignore_ascii_case(stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ok, rfc, safe};
    use kasoku_wire::ResponseHead;

    fn nominated(response: &ResponseHead) -> Vary {
        vary(&response.fields)
    }

    fn key(name: &str, lines: &[&str], policy: &Policy) -> Vec<u8> {
        let fields: Fields = lines.iter().map(|value| (name, value)).collect();
        let mut out = Vec::new();
        variant_key(&[name.to_ascii_lowercase()], &fields, policy, &mut out);
        out
    }

    fn same(name: &str, one: &[&str], two: &[&str], policy: &Policy) -> bool {
        key(name, one, policy) == key(name, two, policy)
    }

    #[test]
    fn names_are_lower_case_sorted_and_unique() {
        let response = ok().with("Vary", "Foo, accept").with("vary", "ACCEPT,, bar");
        let expected = ["accept", "bar", "foo"].map(str::to_owned).to_vec();
        assert_eq!(nominated(&response), Vary::Fields(expected));
        assert_eq!(nominated(&ok()), Vary::None);
        assert_eq!(nominated(&ok().with("Vary", " , ")), Vary::None);
    }

    #[test]
    fn a_star_anywhere_is_a_star() {
        for value in ["*", "*, *", ", *", "*, Foo", "Foo, *", "a b", "\"*\""] {
            assert_eq!(nominated(&ok().with("Vary", value)), Vary::Star, "{value}");
        }
        assert_eq!(nominated(&ok().with("Vary", "").with("Vary", "*")), Vary::Star);
    }

    #[test]
    fn too_many_names_are_a_star() {
        let names = |count: usize| (0..count).map(|n| format!("f{n}")).collect::<Vec<_>>().join(",");
        assert!(matches!(nominated(&ok().with("Vary", names(NOMINATED_MAX))), Vary::Fields(_)));
        assert_eq!(nominated(&ok().with("Vary", names(NOMINATED_MAX + 1))), Vary::Star);
    }

    #[test]
    fn other_values_select_another_variant() {
        //= RFC 9111 section 4.1
        //# the cache MUST NOT use that stored response without revalidation unless all the presented request header fields
        //# nominated by that Vary field value match those fields in the original request
        assert!(!same("Foo", &["1"], &["2"], &rfc()));
        assert!(!same("Foo", &[], &[""], &rfc()));
        assert!(!same("Foo", &["1,2"], &["2,1"], &rfc()));
        assert!(!same("Foo", &["a"], &["A"], &rfc()));
        assert!(!same("Foo", &["\"a, b\""], &["\"a,b\""], &rfc()));
        assert!(!same("Foo", &["a,,b"], &["a,b"], &rfc()));
    }

    #[test]
    fn lines_are_combined_and_white_space_dropped() {
        assert!(same("Foo", &["1, 2"], &["1", "2"], &safe()));
        assert!(same("Foo", &["1,2"], &[" 1 ,\t2 "], &safe()));
        assert!(!same("Cookie", &["a=1, b"], &["a=1,b"], &safe()));
    }

    #[test]
    fn two_fields_never_run_into_each_other() {
        let names = ["a".to_owned(), "b".to_owned()];
        let key = |fields: &[(&str, &str)]| {
            let mut out = Vec::new();
            variant_key(&names, &fields.iter().copied().collect(), &safe(), &mut out);
            out
        };
        assert_ne!(key(&[("a", "1")]), key(&[("b", "1")]));
        assert_ne!(key(&[("a", "12"), ("b", "")]), key(&[("a", "1"), ("b", "2")]));
        assert_ne!(key(&[("a", "1"), ("b", "")]), key(&[("a", "1")]));
        let (mut two, mut one) = (Vec::new(), Vec::new());
        variant_key(&names, &Fields::new(), &safe(), &mut two);
        variant_key(&["ab".to_owned()], &Fields::new(), &safe(), &mut one);
        assert_ne!(two, one);
    }

    #[test]
    fn encodings_have_no_order_and_no_case() {
        assert!(same("Accept-Encoding", &["gzip, BR;q=1.0"], &["br", "GZIP"], &safe()));
        assert!(!same("Accept-Encoding", &["gzip, br;q=0.5"], &["gzip, br"], &safe()));
        assert!(same("Accept", &["text/HTML;q=1, */*;q=0.10"], &["text/html,*/*;q=0.1"], &safe()));
        assert!(!same("Accept", &["a/b, c/d"], &["c/d, a/b"], &safe()));
    }

    #[test]
    fn a_long_list_is_not_sorted() {
        let names = |count: usize| (0..count).map(|n| format!("c{n:02}")).collect::<Vec<_>>();
        let reversed = |count| names(count).into_iter().rev().collect::<Vec<_>>().join(",");
        let is_same = |count| same("Accept-Encoding", &[&names(count).join(",")], &[&reversed(count)], &safe());
        assert!(is_same(SORTED_MAX));
        assert!(!is_same(SORTED_MAX + 1));
    }

    #[test]
    fn languages_keep_their_order_in_profile_safe() {
        assert!(same("Accept-Language", &["en, de"], &["eN , De;q=1"], &safe()));
        assert!(same("Accept-Language", &["en, de"], &["de, en"], &rfc()));
        assert!(!same("Accept-Language", &["en, de"], &["de, en"], &safe()));
    }

    #[test]
    fn the_best_liked_language_selects() {
        assert!(language_selects(b"de", b"fr;q=0.5, de;q=1.0"));
        assert!(language_selects(b" DE ", b"de"));
        assert!(!language_selects(b"fr", b"fr;q=0.5, de;q=1.0"));
        assert!(!language_selects(b"de", b"de;q=0"));
        assert!(!language_selects(b"de", b""));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(value in "[\t -~\u{80}-\u{ff}]*", name in "accept|accept-encoding|accept-language|foo") {
            let _ = key(&name, &[&value], &rfc());
            let _ = language_selects(value.as_bytes(), value.as_bytes());
            let _ = nominated(&ok().with("Vary", &value));
        }
    }
}
