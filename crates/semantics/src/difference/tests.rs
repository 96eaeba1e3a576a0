use super::*;
use crate::testing::ok;

fn noise(texts: &[&str]) -> Vec<Noise> {
    texts.iter().map(|text| Noise::parse(text).unwrap()).collect()
}

/// The places in which two pages differ.
fn places(one: &str, other: &str, texts: &[&str]) -> Vec<&'static str> {
    let found = differences(one.as_bytes(), other.as_bytes(), Markup::Html, &noise(texts));
    found.iter().map(|one| one.place.word()).collect()
}

/// A page as templates write it, on several lines or in one.
fn page(head: &str, body: &str, is_minified: bool) -> String {
    let text =
        format!("<html>\n<head>{head}</head>\n<body>\n{body}\n<p>{}</p>\n</body>\n</html>\n", "text ".repeat(300));
    if is_minified { text.replace('\n', "") } else { text }
}

#[test]
fn a_difference_is_found_where_it_is() {
    for is_minified in [false, true] {
        let of = |head: &str, body: &str| page(head, body, is_minified);
        for (head, body, place) in [
            ("", "<p>You are NAME.</p>", "page"),
            ("", "<form><input type=hidden name=csrf value=NAME></form>", "form"),
            ("", "<form>\n<button data-x='NAME'>x</button></form>", "form"),
            ("<meta name=\"csrf\" content=\"NAME\">", "", "meta"),
            ("<script>var token = 'NAME';</script>", "", "script"),
            ("", "<div data-a=1 data-t=\"NAME\"></div>", "page"),
            ("", "<a href=\"/x?PHPSESSID=NAME\">x</a>", "page"),
        ] {
            let [one, other] =
                ["0a1b", "9f8e77"].map(|name| of(&head.replace("NAME", name), &body.replace("NAME", name)));
            assert_eq!(places(&one, &other, &[]), [place], "{head}{body} {is_minified}");
            let found = differences(one.as_bytes(), other.as_bytes(), Markup::Html, &[]);
            assert!(found[0].anonymous.contains("0a1b") && found[0].visitors.contains("9f8e77"), "{found:?}");
            assert!(found[0].anonymous.len() <= LINE_BYTES_MAX + 6, "{found:?}");
        }
    }
}

#[test]
fn a_clock_and_an_id_that_are_listed_are_none() {
    let listed = ["generated at {time}", "\"requestId\":\"{hex}\""];
    for is_minified in [false, true] {
        let of = |time: &str, id: &str| {
            let script = format!("<script>var x = {{\"requestId\":\"{id}\"}};</script>");
            page(&script, &format!("<p>generated at {time}</p>"), is_minified)
        };
        let [one, other] = [of("10:00:01", "0a1b2c"), of("9:59:59 am", "ffff00001111")];
        assert_eq!(places(&one, &other, &listed), [""; 0]);
        assert_eq!(places(&one, &other, &listed[..1]), ["script"]);
        assert_eq!(places(&one, &other, &listed[1..]), ["page"]);
    }
}

#[test]
fn each_line_that_differs_is_told_up_to_a_few() {
    let of = |name: &str| (0..20).map(|number| format!("<p>{number} {name}</p>\n")).collect::<String>();
    assert_eq!(places(&of("a"), &of("b"), &[]).len(), DIFFERENCES_MAX);
    assert_eq!(places("a\nb\nc\n", "a\nx\n", &[]), ["page"]);
    let longer = differences(b"a\n", b"a\n<p>more</p>\n", Markup::Html, &[]);
    assert_eq!((longer.len(), longer[0].anonymous.as_str(), longer[0].visitors.as_str()), (1, "", "<p>more</p>"));
    assert_eq!(places("", "x", &[]), ["page"]);
    assert_eq!(places("x", "", &[]), ["page"]);
}

#[test]
fn letters_are_not_cut() {
    let of = |name: &str| format!("{}{name}{}", "조".repeat(100), "회".repeat(100));
    let found = differences(of("a").as_bytes(), of("b").as_bytes(), Markup::Html, &[]);
    assert!(!found[0].anonymous.contains('\u{fffd}') && found[0].anonymous.contains('a'), "{found:?}");
}

#[test]
fn a_body_is_read_by_its_type() {
    for (media_type, markup) in [
        ("text/html; charset=utf-8", Some(Markup::Html)),
        ("Text/HTML", Some(Markup::Html)),
        ("application/xhtml+xml", Some(Markup::Xml)),
        ("application/rss+xml", Some(Markup::Xml)),
        ("text/xml", Some(Markup::Xml)),
        ("application/json", Some(Markup::Script)),
        ("application/ld+json; x", Some(Markup::Script)),
        ("text/javascript", Some(Markup::Script)),
        ("application/javascript", Some(Markup::Script)),
        ("text/plain", Some(Markup::Text)),
        ("text/event-stream", None),
        ("image/svg+xml", None),
        ("application/octet-stream", None),
    ] {
        assert_eq!(Markup::of(&ok().with("Content-Type", media_type)), markup, "{media_type}");
    }
    assert_eq!(Markup::of(&ok()), Some(Markup::Html));
}
