use super::*;
use crate::testing::{NOW, ok};
use kasoku_wire::ResponseHead;

/// A fetch of a page: who asks, whether this visitor has asked before, and how many fetches there were before.
#[derive(Clone, Copy)]
struct Fetch {
    is_other: bool,
    is_second: bool,
    count: u64,
}

/// A number that looks as if it was drawn at random, for a seed.
fn random(seed: u64) -> String {
    format!(
        "{:016x}{:016x}",
        (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        (seed + 77).wrapping_mul(0xd1b5_4a32_d192_ed03)
    )
}

/// A number as if it was drawn at random, for a seed.
fn drawn(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33
}

/// What three looks, or four, say of a body that `makes` makes.
fn looks_of(head: &ResponseHead, noise: &[Noise], makes: impl Fn(Fetch) -> String) -> LooksVerdict {
    let fetches = [(false, false), (true, false), (false, true), (true, true)];
    let bodies: Vec<String> = fetches
        .iter()
        .enumerate()
        .map(|(count, (is_other, is_second))| {
            makes(Fetch { is_other: *is_other, is_second: *is_second, count: count as u64 })
        })
        .collect();
    let mut known = KnownPieces::default();
    let mut outline = |body: &'_ String| {
        let facts = AnswerFacts::of("http://a/list?board=b2026k11test", head, body.as_bytes(), NOW);
        let read = |known: &mut KnownPieces| Outline::of(head, body.clone().into_bytes(), &facts, noise, known);
        let (outline, afresh) = (read(&mut known), read(&mut KnownPieces::default()));
        assert!(outline.is_same_as(&afresh), "what is known of pieces changes nothing: {body}");
        outline
    };
    let mut looks: Vec<Outline<'_>> = bodies.iter().take(3).map(&mut outline).collect();
    let verdict = compare(&looks, false);
    if !verdict.is_undecided {
        return verdict;
    }
    looks.extend(bodies.iter().skip(3).map(outline));
    compare(&looks, false)
}

/// The same, where what depends on who asks counts if a second comparison finds it again.
fn checked(head: &ResponseHead, noise: &[Noise], makes: impl Fn(Fetch) -> String) -> Verdict {
    let first = looks_of(head, noise, &makes);
    let again = looks_of(head, noise, |fetch| makes(Fetch { count: fetch.count + 4, ..fetch }));
    let is_again = first.things.iter().any(|thing| again.things.contains(thing))
        || first.has_order
            && again.has_order
            && looks_of(head, noise, |f| makes(Fetch { count: f.count + 8, ..f })).has_order;
    match first.places.into_iter().find_map(|place| place.difference) {
        _ if is_again => Verdict::Differs(first.differences),
        Some(difference) => Verdict::Token(difference),
        None => Verdict::Shared,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Shared,
    Token(Difference),
    Differs(Vec<Difference>),
}

fn html() -> ResponseHead {
    ok().with("Content-Type", "text/html")
}

/// A page as templates write it, on several lines or in one.
fn page(body: &str, is_minified: bool) -> String {
    let text = format!(
        "<html>\n<head><title>News</title></head>\n<body>\n<h1>News</h1>\n{body}\n<p>{}</p>\n</body>\n</html>\n",
        "text ".repeat(300)
    );
    if is_minified { text.replace('\n', "") } else { text }
}

/// Whether a page may be shared with these parts in it, on several lines or in one.
fn verdict(makes: impl Fn(Fetch) -> String) -> Verdict {
    let of = |is_minified| checked(&html(), &[], |fetch| page(&makes(fetch), is_minified));
    let (pretty, minified) = (of(false), of(true));
    assert_eq!(std::mem::discriminant(&pretty), std::mem::discriminant(&minified), "{pretty:?} {minified:?}");
    pretty
}

#[track_caller]
fn is_shared(name: &str, makes: impl Fn(Fetch) -> String) {
    assert_eq!(verdict(makes), Verdict::Shared, "{name}");
}

#[track_caller]
fn is_token(name: &str, makes: impl Fn(Fetch) -> String) {
    let found = verdict(makes);
    assert!(matches!(found, Verdict::Token(_)), "{name}: {found:?}");
}

#[track_caller]
fn is_visitors(name: &str, makes: impl Fn(Fetch) -> String) {
    let found = verdict(makes);
    assert!(matches!(found, Verdict::Differs(_)), "{name}: {found:?}");
}

#[test]
fn what_the_url_says_is_no_token() {
    let may_hold_for_a_minute = |value: &str| {
        let page = format!("<form method=post><input type=hidden name=board value={value}></form>");
        let verdict = looks_of(&html(), &[], |_| page.clone());
        verdict.places.iter().any(|place| place.is_sent_back)
    };
    assert!(may_hold_for_a_minute("c2026k11test"));
    assert!(!may_hold_for_a_minute("b2026k11test"));
    assert!(!may_hold_for_a_minute("%2Flist%3Fboard%3Db2026k11test"));
}

#[test]
fn what_changes_with_time_is_shared() {
    let quotations = ["Omnia vincit amor", "Carpe diem", "Errare humanum est", "Cui bono", "Festina lente"];
    is_shared("nothing", |_| "<p>x</p>".to_owned());
    is_shared("duration", |f| format!("<i>made in 0.{} s</i>", 20 + f.count % 2));
    is_shared("clock", |f| format!("<p>It is Sat, 28 Nov 2026 10:00:{:02}</p>", f.count * 7));
    is_shared("minute", |f| format!("<p>It is 10:{:02}</p>", 10 + f.count / 2));
    is_shared("views", |f| format!("<p>read {} times</p>", 1000 + f.count));
    is_shared("request id", |f| format!("<!-- request {} --><p>x", random(f.count)));
    is_shared("quotation", |f| format!("<q>{}</q>", quotations[f.count as usize % 5]));
    is_shared("ids", |f| {
        format!(
            "<label for=f-{0}>a</label><b id=f-{0} aria-labelledby=f-{0} data-target='#f-{0}'>x</b>",
            random(f.count)
        )
    });
    is_shared("version", |f| format!("<link rel=stylesheet href=/a.css?v={0}><img src=/logo?t={0}>", random(f.count)));
    is_shared("script", |f| format!("<script>var requestId = '{}', took = {};</script>", random(f.count), f.count));
    is_shared("search form", |f| {
        format!("<form action=/s method=get><input name=q><input type=hidden name=x value={}></form>", random(f.count))
    });
    is_shared("clock in a form", |_| {
        format!("<form method=post><input type=hidden name=t0 value={}></form>", NOW.unix_seconds())
    });
    is_shared("rows in any order", |f| {
        (0..6)
            .map(|at| {
                format!("<p>{}</p>\n", ["one", "two", "three", "four", "five", "six"][(at + f.count as usize * 2) % 6])
            })
            .collect()
    });
    is_shared("two rows that tie, each visitor's own order by chance, twice", |f| {
        let is_first = f.count >= 8 || f.count % 2 == 0;
        if is_first { "<p>one</p>\n<p>two</p>" } else { "<p>two</p>\n<p>one</p>" }.to_owned()
    });
    is_shared("rows that come and go", |f| {
        (0..4)
            .map(|at| {
                format!(
                    "<p>{}</p>\n",
                    ["one", "two", "three", "four", "five", "six", "seven"][(at * 3 + f.count as usize * 2) % 7]
                )
            })
            .collect()
    });
    // AWStats: rows with equal counts come in any order, and the bars behind them have few widths.
    is_shared("bars of rows that tie", |f| {
        let bar = |row: u64| 258 + drawn(row + 100 * f.count) % 2;
        (0..40).map(|row| format!("<tr><td>10</td><td><img width={} height=4></td></tr>\n", bar(row))).collect()
    });
    is_shared("links of rows that tie", |f| {
        let row = |at: u64| drawn(at + 100 * f.count) % 200;
        (0..10).map(|at| format!("<tr><td><a href='/boats/{0}'>boat {0}</a></td></tr>\n", row(at))).collect()
    });
    is_shared("a comment that is written meanwhile", |f| if f.count > 1 { "<p>new comment</p>".to_owned() } else { String::new() } + if f.count == 2 { "<p>!</p>" } else { "" });
}

#[test]
fn what_a_request_sends_back_is_a_token_wherever_it_stands() {
    type In = fn(&str) -> String;
    let all: [(&str, In); 14] = [
        ("field", |t| format!("<form method=post><input type=hidden name=csrf value={t}></form>")),
        ("unnamed field", |t| format!("<form method=post><input type=hidden name=q1 value={t}></form>")),
        ("action", |t| format!("<form method=post action='/post?token={t}'></form>")),
        ("meta", |t| format!("<meta name=\"csrf-token\" content=\"{t}\">")),
        ("script", |t| format!("<script>var token = \"{t}\";</script>")),
        ("script by call", |t| format!("<script>ajax.set('X-CSRF-Token', '{t}')</script>")),
        ("data", |t| format!("<div data-token='{t}'>x</div>")),
        ("link", |t| format!("<a href='/x?PHPSESSID={t}'>x</a>")),
        ("path parameter", |t| format!("<a href='/x;jsessionid={t}'>x</a>")),
        ("entities", |t| {
            format!("<div data-page=\"{{&quot;props&quot;:{{&quot;csrf&quot;:&quot;{t}&quot;}}}}\">x</div>")
        }),
        ("hx-headers", |t| format!("<body hx-headers='{{\"X-CSRFToken\": \"{t}\"}}'>")),
        ("html in json", |t| {
            format!(
                r#"<script type=application/json>{{"html":"<input type=\"hidden\" name=\"_token\" value=\"{t}\">"}}</script>"#
            )
        }),
        ("json in a string", |t| format!(r#"<script>push("{{\"csrf\":\"{t}\"}}")</script>"#)),
        ("textarea", |t| format!("<form method=post><textarea name=sig>{t}</textarea></form>")),
    ];
    for (name, makes) in all {
        is_token(name, |fetch| makes(&random(fetch.count)));
        is_token(&format!("{name}, digits"), |fetch| makes(&(100_017 + fetch.count).to_string()));
        is_token(&format!("{name}, of a session"), |fetch| makes(&random(u64::from(fetch.is_other))));
        is_shared(&format!("{name}, the same for all"), |_| makes(&random(5)));
    }
    is_visitors("an order", |fetch| {
        if fetch.is_other { "<p>one</p>\n<p>two</p>" } else { "<p>two</p>\n<p>one</p>" }.to_owned()
    });
    is_visitors("numbered links of one use", |fetch| {
        (0..3).map(|at| format!("<a href='/get/{}'>x</a>\n", 100 + 10 * fetch.count + at)).collect()
    });
    is_token("link of one use", |fetch| format!("<a href='/get/{}/file'>x</a>", random(fetch.count)));
}

#[test]
fn what_depends_on_who_asks_is_a_visitors() {
    let by = |f: Fetch, one: &str, other: &str| if f.is_other { other.to_owned() } else { one.to_owned() };
    is_visitors("language", |f| by(f, "<p>Good morning</p>", "<p>Guten Morgen</p>"));
    is_visitors("a line more", |f| by(f, "", "<p>Get the app</p>"));
    is_visitors("a line less", |f| by(f, "<p>Get the desktop</p>", ""));
    is_visitors("number", |f| by(f, "<p>Cart: 17</p>", "<p>Cart: 18</p>"));
    is_visitors("beside a clock", |f| {
        by(f, "<p>Cart: 17</p>", "<p>Cart: 18</p>") + &format!("<p>10:00:{:02}</p>", f.count)
    });
    is_visitors("beside a quotation", |f| {
        format!("<q>{}</q>\n", ["a", "b", "c", "d"][f.count as usize % 4]) + &by(f, "<p>desktop</p>", "<p>mobile</p>")
    });
    let cells = |f: Fetch, own: u64| {
        let ticks = (0..20).map(|row| format!("<td>{}</td>\n", 1000 + 50 * row + f.count * 7));
        ticks.collect::<String>() + &format!("<td>{own}</td>\n")
    };
    is_visitors("a cell among others that tick", |f| cells(f, if f.is_other { 3 } else { 0 }));
    is_visitors("a cell with a value that another cell has", |f| {
        (0..20).map(|row| format!("<td>{}</td>\n", row % 4)).collect::<String>()
            + &format!("<td>{}</td>\n", if f.is_other { 3 } else { 0 })
    });
    is_visitors("class", |f| by(f, "<b class=a>x</b>", "<b class=b>x</b>"));
    is_visitors("first visit", |f| if f.is_second { String::new() } else { "<p>Welcome, stranger</p>".to_owned() });
    is_visitors("articles left", |f| format!("<p>{} articles left</p>", if f.is_second { 2 } else { 3 }));
}

#[test]
fn heads_are_compared_like_pages() {
    let redirect = |makes: fn(Fetch) -> String| {
        let fetches = [(false, false), (true, false), (false, true), (true, true)];
        let heads: Vec<ResponseHead> = fetches
            .iter()
            .zip(0..)
            .map(|((is_other, is_second), count)| {
                ok().with("Location", makes(Fetch { is_other: *is_other, is_second: *is_second, count }))
            })
            .collect();
        let looks: Vec<Outline<'_>> = heads
            .iter()
            .map(|head| Outline::of(head, b"", &AnswerFacts::default(), &[], &mut KnownPieces::default()))
            .collect();
        compare(&looks, false)
    };
    assert!(
        matches!(redirect(|f| if f.is_other { "/de/".to_owned() } else { "/en/".to_owned() }), LooksVerdict { differences, .. } if differences[0].place == DifferencePlace::Head)
    );
    assert!(
        matches!(redirect(|f| format!("/login?state={}", random(f.count))), LooksVerdict { places, .. } if places[0].difference.is_some())
    );
    assert!(
        matches!(redirect(|_| "/start".to_owned()), LooksVerdict { places, differences, .. } if places.is_empty() && differences.is_empty())
    );
}

#[test]
fn a_nonce_of_the_answers_own_policy_is_time() {
    let nonce = |count: u64| format!("<script nonce=\"{0}\">var a = 1;</script>", random(count));
    assert!(matches!(verdict(|f| nonce(f.count)), Verdict::Token(_)), "no policy names it");
    is_shared("meta", |f| {
        format!("<meta http-equiv=Content-Security-Policy content=\"script-src 'nonce-{}'\">", random(f.count))
            + &nonce(f.count)
    });
}

#[test]
fn pictures_and_json_are_compared() {
    let json = ok().with("Content-Type", "application/json");
    let of = |makes: fn(Fetch) -> String| checked(&json, &[], makes);
    assert!(matches!(of(|f| format!("{{\"took\":{},\"hits\":[1,2]}}", f.count)), Verdict::Shared));
    assert!(matches!(of(|f| format!("{{\"token\":\"{}\"}}", random(f.count))), Verdict::Token(_)));
    assert!(matches!(of(|f| format!("{{\"viewer\":{}}}", 17 + u64::from(f.is_other))), Verdict::Differs(_)));
    let picture = ok().with("Content-Type", "image/png");
    assert!(matches!(checked(&picture, &[], |f| f.is_other.to_string()), Verdict::Differs(_)));
}

#[test]
fn listed_noise_is_no_difference() {
    let noise = [Noise::parse("seen by {word}").unwrap()];
    let makes = |f: Fetch| page(&format!("<p>seen by {}</p>", ["ann", "bob"][usize::from(f.is_other)]), false);
    assert!(matches!(checked(&html(), &[], makes), Verdict::Differs(_)));
    assert!(matches!(checked(&html(), &noise, makes), Verdict::Shared));
}

#[test]
fn two_looks_tell_whether_certain_places_change() {
    let of = |token: &str| format!("<form method=post><input type=hidden name=csrf value={token}></form>");
    let (first, second) = (of(&random(1)), of(&random(2)));
    let outline = |body: &'static str| {
        Outline::of(&html(), body.as_bytes(), &AnswerFacts::default(), &[], &mut KnownPieces::default())
    };
    let [one, other] = [first, second].map(|body| outline(body.leak()));
    assert!(compare_places(&one, &other, |_| true)[0].difference.is_some());
    assert!(compare_places(&one, &one, |_| true)[0].difference.is_none());
    assert!(compare_places(&one, &other, |_| false).is_empty());
}

#[test]
fn a_body_is_read_by_its_type() {
    for (media_type, markup) in [
        ("text/html; charset=utf-8", Some(Markup::Html)),
        ("application/rss+xml", Some(Markup::Xml)),
        ("application/ld+json", Some(Markup::Script)),
        ("application/javascript", Some(Markup::Script)),
        ("text/csv", Some(Markup::Text)),
        ("text/event-stream", None),
        ("image/png", None),
    ] {
        assert_eq!(Markup::of(&ok().with("Content-Type", media_type)), markup, "{media_type}");
    }
    assert_eq!(Markup::of(&ok()), Some(Markup::Html), "browsers may take it for a page");
}

#[test]
fn a_token_of_letters_alone_is_found_by_its_name_or_its_length() {
    let field =
        |name: &str, value: &str| format!("<form method=post><input type=hidden name={name} value={value}></form>");
    let letters = ["Qwertyuiopasdfgh", "Zxcvbnmlkjhgfdsa", "Poiuytrewqlkjhgf", "Mnbvcxzasdfghjkl"];
    for name in ["form_key", "q1"] {
        is_token(name, |fetch| field(name, letters[fetch.count as usize % 4]));
    }
    is_shared("a choice", |fetch| field("sort", ["name", "date", "size"][fetch.count as usize % 3]));
}
