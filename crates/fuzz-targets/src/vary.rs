//! Fuzz target for Vary and the key of a variant. Input: the lines of Vary, an empty line, the fields of a request, an empty line,
//! those of another request.

use crate::input::{blocks, field, fields};
use kasoku_semantics::vary::{NOMINATED_MAX, Vary, language_selects, variant_key, vary};
use kasoku_semantics::{Policy, Profile};
use kasoku_wire::Fields;
use kasoku_wire::field::list;

pub(crate) fn run(data: &[u8]) {
    let [lines, one, two] = &blocks(data, 3)[..] else { return };
    let response = field("Vary", lines);
    let all = vary(&response);
    assert_eq!(vary(&response), all);
    assert_eq!(vary(&field("vary", [lines.join(&b","[..]).to_ascii_uppercase()])), all_or_quoted(lines, &all));
    let (one, two) = (fields(one), fields(two));
    if let Vary::Fields(nominated) = &all {
        assert!((1..=NOMINATED_MAX).contains(&nominated.len()) && nominated.is_sorted());
        assert!(nominated.windows(2).all(|pair| pair[0] != pair[1]));
        for name in nominated {
            assert!(list::is_token(name.as_bytes()) && name != "*" && *name == name.to_ascii_lowercase());
        }
        for profile in [Profile::Safe, Profile::Rfc] {
            keys(nominated, &one, &two, &Policy::new(profile));
        }
    }
    for line in lines {
        let _ = language_selects(line, one.first("accept-language").unwrap_or_default());
    }
}

/// The expected result for the combined lines. Combining lines with quotes may change the list, so the result of the combined lines
/// is taken then.
fn all_or_quoted(lines: &[Vec<u8>], all: &Vary) -> Vary {
    let joined = field("vary", [lines.join(&b","[..])]);
    if lines.iter().any(|line| line.contains(&b'"')) { vary(&joined) } else { all.clone() }
}

/// The keys of two requests are equal if, and only if, the normalised values of the nominated fields are.
fn keys(nominated: &[String], one: &Fields, two: &Fields, policy: &Policy) {
    let key = |request: &Fields| {
        let mut out = Vec::new();
        variant_key(nominated, request, policy, &mut out);
        out
    };
    let (first, second) = (key(one), key(two));
    assert_eq!(key(one), first);
    let (values, others) = (decode(nominated, &first), decode(nominated, &second));
    assert_eq!(values == others, first == second);
    for (name, value) in nominated.iter().zip(values) {
        assert_eq!(value.is_some(), one.contains(name), "{name}: absent and empty are not the same");
    }
    let mut appended = b"before".to_vec();
    variant_key(nominated, one, policy, &mut appended);
    assert_eq!(appended, [b"before", &first[..]].concat());
    let mut more = one.clone();
    more.push("X-Not-Nominated-By-Anybody", "1");
    if !nominated.iter().any(|name| name == "x-not-nominated-by-anybody") {
        assert_eq!(key(&more), first, "a field that is not nominated changes the key");
    }
}

/// The normalised values that a key holds. A key can be decoded in one way only.
fn decode<'k>(nominated: &[String], key: &'k [u8]) -> Vec<Option<&'k [u8]>> {
    let mut rest = key;
    let mut values = Vec::new();
    for name in nominated {
        rest = rest.strip_prefix(name.as_bytes()).expect("the name");
        let (is_present, after) = rest.split_first().expect("whether it is there");
        rest = after;
        values.push((*is_present == 1).then(|| {
            let (length, after) = rest.split_first_chunk::<4>().expect("the length");
            let (value, after) = after.split_at(u32::from_be_bytes(*length) as usize);
            rest = after;
            value
        }));
    }
    assert!(rest.is_empty());
    values
}
