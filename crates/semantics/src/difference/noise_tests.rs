use super::*;
use crate::difference::Markup;
use crate::difference::regions::regions;

fn reduced(page: &str, noise: &[&str], markup: Markup) -> String {
    let noise: Vec<Noise> = noise.iter().map(|text| Noise::parse(text).unwrap()).collect();
    String::from_utf8(without_noise(page.as_bytes(), &regions(page.as_bytes(), markup), &noise)).unwrap()
}

#[track_caller]
fn html(page: &str, noise: &str, expected: &str) {
    assert_eq!(reduced(page, &[noise], Markup::Html), expected);
}

#[test]
fn a_value_between_two_texts_is_noise() {
    html("<b>조회 123회</b>", "조회 {digits}회", "<b>조회 {digits}회</b>");
    html("조회 1회 조회 22회", "조회 {digits}회", "조회 {digits}회 조회 {digits}회");
    html("조회 회, 조회 x회", "조회 {digits}회", "조회 회, 조회 x회");
    html("in 0.123,4 s", "in {number} s", "in {number} s");
    html("in . s", "in {number} s", "in . s");
    html("by Tom-2_ü;", "by {word};", "by {word};");
    html("id=0aF9.", "id={hex}.", "id={hex}.");
    html("id=0aG9.", "id={hex}.", "id=0aG9.");
}

#[test]
fn a_value_at_the_end_of_a_pattern_goes_as_far_as_its_kind() {
    html("views: 12 of 13", "views: {digits}", "views: {digits} of 13");
    html("12 views, 13 views", "{digits} views", "{digits} views, {digits} views");
    html("x12 views", "{word} views", "{word} views");
    let long = "1".repeat(VALUE_BYTES_MAX + 1);
    let page = format!("views: {long}");
    html(&page, "views: {digits}", &page);
    let page = format!("{long} views");
    html(&page, "{digits} views", &page);
    let fits = &long[1..];
    html(&format!("{fits} views"), "{digits} views", "{digits} views");
    html(&format!("views: {fits}"), "views: {digits}", "views: {digits}");
    html(&format!("all {fits} b c"), "all {digits} b", "all {digits} b c");
    html(&format!("all {long} b c"), "all {digits} b", &format!("all {long} b c"));
}

#[test]
fn times_are_written_in_many_ways() {
    for time in [
        "12:30:05",
        "2026-08-01T10:00:00Z",
        "2026-08-01 10:00:00.123 +09:00",
        "Sat, 01 Aug 2026 10:00:00 GMT",
        "1 September 2026, 1:05 pm",
        "11/23/2026 07:11 a.m.",
        "2026년 8월 1일 오후 3시 5분",
        "오전 11:02:03",
    ] {
        html(&format!("<b>now: {time}</b>"), "now: {time}</b>", "<b>now: {time}</b>");
        html(&format!("<b>now: {time}</b>"), "now: {time}", "<b>now: {time}</b>");
        html(&format!("<b>{time} is now</b>"), "{time} is now", "<b>{time} is now</b>");
    }
    for other in ["Tom", "12 apples", "Monday", "10:00 martin", "", ":"] {
        let page = format!("now: {other}</b>");
        html(&page, "now: {time}</b>", &page);
    }
    html("<b>at 10:00, by ann</b>", "at {time}, by", "<b>at {time}, by ann</b>");
}

#[test]
fn several_values_and_several_patterns() {
    html("a 1 of 2 by x.", "a {digits} of {digits} by {word}.", "a {digits} of {digits} by {word}.");
    let noise = ["load {number}s", "queries {digits}"];
    assert_eq!(reduced("load 0.1s queries 5", &noise, Markup::Html), "load {number}s queries {digits}");
    let overlapping = ["took {number}", "took {digits}.5"];
    assert_eq!(reduced("took 12.5", &overlapping, Markup::Html), "took {number}");
    html("{\"a\":{\"took\":12}}", "{\"took\":{digits}}", "{\"a\":{\"took\":{digits}}}");
}

#[test]
fn nothing_in_a_form_is_noise_and_in_a_script_only_what_names_its_value() {
    let page = "<form><b>seen 1x</b></form><meta a='seen 2x'><input b='seen 3x'>seen 4x";
    html(page, "seen {digits}x", "<form><b>seen 1x</b></form><meta a='seen 2x'><input b='seen 3x'>seen {digits}x");
    let page = "<script>var seen = 1; x('seen') = 2;</script>{digits}: seen = 3;";
    html(page, "seen = {digits};", "<script>var seen = {digits}; x('seen') = 2;</script>{digits}: seen = {digits};");
    let page = "<script>abc=1;</script>abc=1;";
    html(page, "abc={digits};", "<script>abc=1;</script>abc={digits};");
    html("<script>1 seen</script>1 seen", "{digits} seen", "<script>1 seen</script>{digits} seen");
    assert_eq!(reduced("{\"took\":12}", &["\"took\":{digits}"], Markup::Script), "{\"took\":{digits}}");
}

#[test]
fn in_the_tag_of_an_element_of_a_form_is_noise_what_names_its_value() {
    let page = "<form data-seen='seen:1'><div data-a='seen:2 {abc:3}'>seen:4</div><input data-a='seen:5'></form>";
    let seen =
        "<form data-seen='seen:1'><div data-a='seen:{digits} {abc:3}'>seen:4</div><input data-a='seen:5'></form>";
    html(page, "seen:{digits}", seen);
    html(page, "abc:{digits}", page);
}

#[test]
fn a_text_that_crosses_into_a_form_is_no_match() {
    html("seen <form>1</form> times", "seen <form>{digits}</form> times", "seen <form>1</form> times");
}

#[test]
fn what_is_no_pattern_is_refused_and_says_why() {
    use NoiseError::{Adjacent, Bare, Kind, Length, NoPlaceholder, TooMany};
    let long = "a".repeat(NOISE_BYTES_MAX + 1);
    for (text, error) in [
        ("", Length),
        (&*long, Length),
        ("generated", NoPlaceholder),
        ("in {num} s", Kind("num".to_owned())),
        ("at {digits}{hex} by", Adjacent),
        ("{digits}", Bare),
        ("a={hex}", Bare),
        ("= {digits};", Bare),
        ("   \"{hex}\" ", Bare),
        ("1{digits}2{digits}3{digits}4{digits}5{digits}6{digits}7{digits}8{digits}9{digits}", TooMany),
    ] {
        assert_eq!(Noise::parse(text), Err(error), "{text}");
    }
    for text in
        ["조회 {digits}회", "\"wgRequestId\":\"{hex}\"", "{digits} views", "{\"a\":{digits}}", "load {1}: {digits}"]
    {
        assert_eq!(Noise::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn what_names_a_token_is_refused() {
    for (text, word) in [
        ("csrf_token\" value=\"{hex}\"", "csrf"),
        ("name=\"authenticity_token\" value=\"{word}\"", "authenticity"),
        ("data-nonce=\"{hex}\"", "nonce"),
        ("\"restNonce\":\"{hex}\"", "nonce"),
        ("PHPSESSID={hex}", "phpsessid"),
        ("?sid={hex}\"", "sid"),
        ("&auth={word}\"", "auth"),
        ("apiKey: '{word}'", "key"),
        ("accesskey={word};", "accesskey"),
        ("sessionId = {word};", "session"),
        ("_wpnonce={hex}", "wpnonce"),
        ("clientSecret: {word};", "client"),
    ] {
        let found = Noise::parse(text);
        match word {
            "client" => assert_eq!(found, Err(NoiseError::Token("secret".to_owned())), "{text}"),
            word => assert_eq!(found, Err(NoiseError::Token(word.to_owned())), "{text}"),
        }
    }
    for text in
        ["author {word}, 3 posts", "side {digits} of", "monkeys: {digits}", "design {number}", "keyword {digits}x"]
    {
        assert!(Noise::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn a_page_full_of_the_texts_of_patterns_is_searched_for_a_while() {
    let page = "seen x ".repeat((1 << 20) / 7);
    assert_eq!(reduced(&page, &["seen {digits}"], Markup::Html), page);
    let page = "seen 1 ".repeat(2 * TRIES_MAX);
    let found = reduced(&page, &["seen {digits}"], Markup::Html);
    assert_eq!(found.matches("{digits}").count(), TRIES_MAX);
}
