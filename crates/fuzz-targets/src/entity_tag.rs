//! Fuzz target for entity tags and the conditions that name them. Input: the stored ETag, then lines of If-None-Match.

use crate::input::{field, lines};
use http::{Method, StatusCode};
use kasoku_semantics::{Now, Precondition, Validators, if_range_holds, make_conditional, precondition};
use kasoku_wire::field::etag::{EntityTag, ListedTag, tags};
use kasoku_wire::{RequestHead, ResponseHead};

const NOW: Now = Now { unix_ms: 1_795_000_000_000, mono_ms: 5_000_000 };

pub(crate) fn run(data: &[u8]) {
    let lines = lines(data);
    let Some((stored, asked)) = lines.split_first() else { return };
    let fields = field("If-None-Match", asked);
    let named: Vec<ListedTag> = tags(&fields, "if-none-match").collect();
    assert!(named.len() <= asked.iter().map(|line| line.len() + 1).sum());
    let stored_tag = EntityTag::parse(stored);
    for tag in named.iter().chain(stored_tag.map(ListedTag::One).iter()) {
        if let ListedTag::One(tag) = tag {
            one(tag);
            if let Some(stored) = &stored_tag {
                assert_eq!(tag.weak_eq(stored), stored.weak_eq(tag));
                assert_eq!(tag.strong_eq(stored), stored.strong_eq(tag));
                assert!(!tag.strong_eq(stored) || tag.weak_eq(stored));
            }
        }
    }
    let response = ResponseHead::new(StatusCode::OK).with("ETag", stored);
    let request = RequestHead { fields: fields.clone(), ..RequestHead::new(Method::GET, "/") };
    let is_named = named.iter().any(|tag| tag.matches_weakly(stored_tag.as_ref()));
    let expected = if is_named { Precondition::NotModified } else { Precondition::Proceed };
    assert_eq!(precondition(&request, &response, Validators::Any, NOW, NOW), expected);
    our_own_condition(&response, stored_tag.as_ref());
}

/// A written tag is parsed to the same tag.
fn one(tag: &EntityTag<'_>) {
    let text = tag.write();
    if !tag.opaque.contains(&b'"') {
        assert_eq!(EntityTag::parse(&text).as_ref(), Some(tag));
        let list = field("If-Match", [[&text[..], b", ", &text].concat()]);
        assert_eq!(tags(&list, "if-match").collect::<Vec<_>>(), [ListedTag::One(*tag); 2]);
    }
    assert!(tag.weak_eq(tag) && tag.strong_eq(tag) != tag.weak);
}

/// The conditional request to the origin names the stored tag and no other.
fn our_own_condition(stored: &ResponseHead, tag: Option<&EntityTag<'_>>) {
    let mut request = RequestHead::new(Method::GET, "/").with("If-None-Match", "\"theirs\"").with("If-Match", "*");
    assert_eq!(make_conditional(&mut request, stored), tag.is_some());
    assert!(!request.fields.contains("if-match"));
    assert_eq!(request.fields.count("if-none-match"), usize::from(tag.is_some()));
    let Some(tag) = tag.filter(|tag| !tag.opaque.contains(&b'"')) else { return };
    assert_eq!(tags(&request.fields, "if-none-match").collect::<Vec<_>>(), [ListedTag::One(*tag)]);
    assert_eq!(precondition(&request, stored, Validators::Any, NOW, NOW), Precondition::NotModified);
    let in_part = RequestHead::new(Method::GET, "/").with("If-Range", tag.write());
    assert_eq!(if_range_holds(&in_part, stored), !tag.weak);
}
