//! Vary: which request fields select a variant, and which stored variant answers.

use kasoku_testkit::{BOTH, Scenario, Setup, get, ok, reply};

fn varies(by: &str, body: &str) -> Vec<u8> {
    ok(&["Cache-Control: max-age=60", &format!("Vary: {by}")], body)
}

#[test]
fn each_variant_answers_its_own_requests() {
    //= RFC 9111 section 4.1
    //# the cache MUST NOT use that stored response without revalidation unless all the presented request header fields
    //# nominated by that Vary field value match those fields in the original request
    for profile in BOTH {
        let scene = Setup::new(profile).run([
            get("/").answers(varies("X-A", "one")),
            get("/").answers(varies("x-a", "two")),
            get("/").answers(varies("X-A", "none")),
        ]);
        let mut client = scene.client();
        assert_eq!(client.get_with("/", &["X-A: 1"]).text(), "one");
        let second = client.get_with("/", &["X-A: 2"]);
        assert_eq!((second.text().as_str(), second.cache_status("fwd").as_deref()), ("two", Some("vary-miss")));
        assert_eq!(client.get("/").text(), "none");
        for (field, body) in [(Some("X-A: 1"), "one"), (Some("x-a:  2 "), "two"), (None, "none")] {
            let hit = client.get_with("/", field.as_slice());
            assert_eq!(
                (hit.is_hit(), hit.text().as_str(), hit.field("vary").to_lowercase().as_str()),
                (true, body, "x-a")
            );
        }
    }
}

#[test]
fn all_of_several_fields_must_match() {
    let scene = Scenario::rfc([
        get("/").answers(ok(&["Cache-Control: max-age=60", "Vary: X-A", "Vary: X-B"], "12")),
        get("/").answers(varies("X-A, X-B", "13")),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["X-A: 1", "X-B: 2"]);
    assert!(client.get_with("/", &["X-B: 2", "X-A: 1", "X-C: 9"]).is_hit());
    assert_eq!(client.get_with("/", &["X-A: 1", "X-B: 3"]).text(), "13");
    assert_eq!(client.get_with("/", &["X-A: 1", "X-B: 2"]).text(), "12");
}

#[test]
fn vary_star_never_matches() {
    for profile in BOTH {
        for star in ["*", "X-A, *", "*, X-A"] {
            let scene =
                Setup::new(profile).run([get("/").answers(varies(star, "a")), get("/").answers(varies(star, "b"))]);
            let mut client = scene.client();
            let first = client.get("/");
            assert_eq!((first.text().as_str(), first.detail().as_str()), ("a", "vary-star"));
            assert_eq!(client.get("/").text(), "b", "{star}");
        }
    }
}

#[test]
fn values_are_normalised_without_changing_their_meaning() {
    let scene = Scenario::rfc([get("/").answers(varies("X-A, Accept", "a"))]);
    let mut client = scene.client();
    client.get_with("/", &["X-A: 1, 2", "Accept: text/html, text/plain;q=0.5"]);
    assert!(client.get_with("/", &["X-A: 1", "X-A: 2", "Accept: text/html,text/plain;q=0.5"]).is_hit());
    assert!(client.get_with("/", &["X-A:   1, 2", "Accept: text/html, text/plain;q=0.5"]).is_hit());
}

#[test]
fn a_language_order_picks_no_other_page_in_profile_safe() {
    let page = |language: &str, body: &str| {
        ok(&["Cache-Control: max-age=60", "Vary: Accept-Language", &format!("Content-Language: {language}")], body)
    };
    let scene = Scenario::safe([get("/").answers(page("en", "en")), get("/").answers(page("de", "de"))]);
    let mut client = scene.client();
    client.get_with("/", &["Accept-Language: en, de;q=0.5"]);
    assert_eq!(client.get_with("/", &["Accept-Language: de, en;q=0.5"]).text(), "de");
}

#[test]
fn the_newest_of_several_that_fit_answers() {
    //= RFC 9111 section 4
    //# When more than one suitable response is stored, a cache MUST use the most recent one (as determined by the Date header
    //# field).
    let scene = Scenario::rfc([
        get("/").answers(varies("X-A", "first")),
        get("/").answers(ok(&["Cache-Control: max-age=60"], "second")),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["X-A: 1"]);
    scene.advance(1);
    assert_eq!(client.get_with("/", &["X-A: 2"]).text(), "second");
    assert_eq!(client.get_with("/", &["X-A: 2"]).text(), "second");
    assert_eq!(client.get_with("/", &["X-A: 1"]).text(), "second", "it fits as well, and it is newer");
}

#[test]
fn the_most_recent_by_date_answers_even_if_it_came_first() {
    //= RFC 9111 section 4
    //# When more than one suitable response is stored, a cache MUST use the most recent one (as determined by the Date header
    //# field).
    let setup = Setup::rfc();
    let (new, old) = (format!("Date: {}", setup.date(0)), format!("Date: {}", setup.date(-20)));
    let scene = setup.run([
        get("/").answers(ok(&["Cache-Control: max-age=60", "Vary: X-A", &new], "new")),
        get("/").answers(ok(&["Cache-Control: max-age=60", "Vary: X-B", &old], "old")),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["X-A: 1", "X-B: 1"]);
    client.get_with("/", &["X-A: 2", "X-B: 2"]);
    // The request matches the first variant by X-A, and the second by X-B.
    assert_eq!(client.get_with("/", &["X-A: 1", "X-B: 2"]).text(), "new");
}

#[test]
fn each_variant_is_validated_by_its_own_tag() {
    let variant =
        |tag: &str, body: &str| ok(&["Cache-Control: max-age=10", "Vary: X-A", &format!("ETag: {tag}")], body);
    let scene = Scenario::rfc([
        get("/").answers(variant("\"1\"", "one")),
        get("/").answers(variant("\"2\"", "two")),
        get("/").answers(reply("304 Not Modified", &["Cache-Control: max-age=10", "Vary: X-A", "ETag: \"1\""], "")),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["X-A: 1"]);
    client.get_with("/", &["X-A: 2"]);
    scene.advance(10);
    assert_eq!(client.get_with("/", &["X-A: 1"]).text(), "one");
    assert!(scene.origin.request(2).field("if-none-match").is_some_and(|tags| tags.contains("\"1\"")));
    assert!(client.get_with("/", &["X-A: 1"]).is_hit());
}

#[test]
fn the_number_of_variants_is_bounded() {
    let script: Vec<_> = (0..70).map(|n| get("/").answers(varies("X-A", &n.to_string()))).collect();
    let scene = Scenario::rfc(script);
    scene.origin.then(get("/").answers(varies("X-A", "again")));
    let mut client = scene.client();
    for n in 0..70 {
        assert_eq!(client.get_with("/", &[&format!("X-A: {n}")]).text(), n.to_string());
    }
    assert!(client.get_with("/", &["X-A: 69"]).is_hit());
    assert_eq!(client.get_with("/", &["X-A: 0"]).text(), "again", "the oldest has gone");
}

#[test]
fn a_vary_of_unreasonable_length_is_not_stored() {
    let names: Vec<String> = (0..200).map(|n| format!("X-{n}")).collect();
    let by = names.join(", ");
    let scene = Scenario::rfc([get("/").answers(varies(&by, "a")), get("/").answers(varies(&by, "b"))]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.get("/").text(), "b");
}

#[test]
fn vary_on_a_field_that_never_reaches_the_origin_is_vary_on_nothing() {
    let scene = Scenario::safe([get("/").answers(varies("X-Forwarded-For, X-Real-IP", "a"))]);
    let mut client = scene.client();
    client.get_with("/", &["X-Real-IP: 1.1.1.1"]);
    assert!(client.get_with("/", &["X-Real-IP: 2.2.2.2"]).is_hit());
}
