//! Short addresses of real applications, paths that try to get around them, and lines that are no rewrites.

use super::*;

fn parsed(text: &str) -> Rewrite {
    Rewrite::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn target(rule: &str, path_and_query: &str) -> Option<String> {
    rewritten(&[parsed(rule)], path_and_query)
}

#[track_caller]
fn expect(rule: &str, rows: &[(&str, Option<&str>)]) {
    for (path, expected) in rows {
        assert_eq!(target(rule, path).as_deref(), *expected, "{rule} for {path}");
    }
}

/// The rules that gnuboard5 writes into its .htaccess, the shop's first.
fn gnuboard() -> Vec<Rewrite> {
    [
        "/shop/list-{ca_id:alnum} => /shop/list.php?ca_id={ca_id}&rewrite=1",
        "/shop/{it_id:id} => /shop/item.php?it_id={it_id}&rewrite=1",
        "/shop/{title}/ => /shop/item.php?it_seo_title={title}&rewrite=1",
        "/{bo_table:word} => /bbs/board.php?bo_table={bo_table}&rewrite=1",
        "/{bo_table:word}/write => /bbs/write.php?bo_table={bo_table}&rewrite=1",
        "/{bo_table:word}/{title}/ => /bbs/board.php?bo_table={bo_table}&wr_seo_title={title}&rewrite=1",
        "/{bo_table:word}/{wr_id:digits} => /bbs/board.php?bo_table={bo_table}&wr_id={wr_id}&rewrite=1",
    ]
    .map(parsed)
    .to_vec()
}

#[test]
fn a_short_address_leads_to_its_script_and_the_clients_query_goes_behind() {
    let rules = gnuboard();
    for (path, expected) in [
        ("/free", "/bbs/board.php?bo_table=free&rewrite=1"),
        ("/free/12", "/bbs/board.php?bo_table=free&wr_id=12&rewrite=1"),
        ("/free/12?page=2&sfl=a", "/bbs/board.php?bo_table=free&wr_id=12&rewrite=1&page=2&sfl=a"),
        ("/free/write", "/bbs/write.php?bo_table=free&rewrite=1"),
        ("/free/%EA%B0%80-b/", "/bbs/board.php?bo_table=free&wr_seo_title=%EA%B0%80-b&rewrite=1"),
        ("/shop/list-10a?", "/shop/list.php?ca_id=10a&rewrite=1"),
        // The first that fits wins: an item may have such a name as well.
        ("/shop/list-", "/shop/item.php?it_id=list-&rewrite=1"),
        ("/shop/a%20b/?x=%26", "/shop/item.php?it_seo_title=a%20b&rewrite=1&x=%26"),
    ] {
        assert_eq!(rewritten(&rules, path).as_deref(), Some(expected), "{path}");
    }
    for path in ["/", "/free/", "/free/12/x", "/a-b", "/free/a", "/bbs/board.php", "*", ""] {
        assert_eq!(rewritten(&rules, path), None, "{path}");
    }
}

#[test]
fn each_kind_of_placeholder_takes_its_characters_and_at_least_one() {
    for (kind, takes) in [("digits", "19"), ("alnum", "1aZ"), ("word", "1aZ_"), ("id", "1aZ_-")] {
        let rule = format!("/x/{{a:{kind}}} => /y?a={{a}}");
        for byte in (b'!'..=b'~').filter(|byte| !b"/%?#".contains(byte)) {
            let (letter, is_fit) = (char::from(byte), target(&rule, &format!("/x/1{}", char::from(byte))).is_some());
            let class = match byte {
                b'0'..=b'9' => '1',
                b'a'..=b'z' => 'a',
                b'A'..=b'Z' => 'Z',
                other => char::from(other),
            };
            assert_eq!(is_fit, takes.contains(class), "{letter} as {kind}");
        }
        assert_eq!(target(&rule, "/x/"), None);
    }
    expect("/x/{a} => /y?a={a}", &[("/x/..1.", Some("/y?a=..1.")), ("/x/", None), ("/x", None), ("/x/a/b", None)]);
}

#[test]
fn a_placeholder_takes_as_much_as_leaves_a_way_for_the_rest() {
    expect(
        "/{slug:id}-t{topic:digits}.html => /viewtopic.php?t={topic}&s={slug}",
        &[
            ("/a-topic-t15.html", Some("/viewtopic.php?t=15&s=a-topic")),
            ("/a-t1-t15.html", Some("/viewtopic.php?t=15&s=a-t1")),
            ("/-t15.html", None),
            ("/a-t15.htm", None),
            ("/a-t.html", None),
        ],
    );
    expect(
        "/{a}-{b}.{c:digits} => /y?a={a}&b={b}&c={c}",
        &[("/1-2-3.4.5", Some("/y?a=1-2&b=3.4&c=5")), ("/1-2.x", None), ("/-1.2", None)],
    );
    expect("/{title}.html => /y?t={title}", &[("/a.html.html", Some("/y?t=a.html")), ("/.html", None)]);
    expect("/v{a:digits} => /y?a={a}", &[("/v12", Some("/y?a=12")), ("/w12", None), ("/v", None), ("/v12x", None)]);
}

/// An attacker would try to make two parameters of one, or a fragment.
#[test]
fn what_was_captured_stays_one_value() {
    expect(
        "/{b:word}/{title}/ => /y?b={b}&title={title}&r=1",
        &[
            ("/x/a&r=2/", Some("/y?b=x&title=a%26r%3D2&r=1")),
            ("/x/a;r=2/", Some("/y?b=x&title=a%3Br%3D2&r=1")),
            ("/x/a+b/", Some("/y?b=x&title=a%2Bb&r=1")),
            ("/x/a%26r%3d2/", Some("/y?b=x&title=a%26r%3d2&r=1")),
            ("/x/a%23b%2B%25/", Some("/y?b=x&title=a%23b%2B%25&r=1")),
            ("/x/\"<>\\^`{|}/", Some("/y?b=x&title=%22%3C%3E%5C%5E%60%7B%7C%7D&r=1")),
            ("/x/~!$'()*,:@-._/", Some("/y?b=x&title=~!$'()*,:@-._&r=1")),
            ("/x/%ff/", Some("/y?b=x&title=%ff&r=1")),
        ],
    );
}

#[test]
fn no_spelling_of_a_path_gets_around_a_pattern() {
    expect(
        "/free/{id:digits} => /y?id={id}",
        &[
            ("/%66ree/%31%32", Some("/y?id=%31%32")),
            ("//free//12", Some("/y?id=12")),
            ("/./free/./12", Some("/y?id=12")),
            ("/a/../free/b/%2e%2E/12", Some("/y?id=12")),
            ("/free/12/.", None),
            ("/free/12/..", None),
            // These could be read in two ways, or in none.
            ("/free%2f12", None),
            ("/free/12%00", None),
            ("/free/12%0a", None),
            ("/free/12%", None),
            ("/free/12%zz", None),
            ("/../free/12", None),
            ("/Free/12", None),
        ],
    );
    expect(
        "/{a}/{b} => /y?a={a}&b={b}",
        &[("/x/..", None), ("/x/%2e%2e", None), ("/x/..%5c..", Some("/y?a=x&b=..%5c.."))],
    );
    expect("/\u{ac00}/{a:digits} => /y?a={a}", &[("/%EA%b0%80/1", Some("/y?a=1"))]);
    expect("/%EA%B0%80/{a:digits} => /y?a={a}", &[("/%EA%b0%80/1", Some("/y?a=1"))]);
}

#[test]
fn a_placeholder_in_the_path_is_written_without_encoding() {
    expect(
        "/{lang:word}/{page:id} => /{lang}/page-{page}.php?l={lang}",
        &[("/en/a-1", Some("/en/page-a-1.php?l=en")), ("/e%6E/a", Some("/en/page-a.php?l=e%6E"))],
    );
    expect("/old => /new", &[("/old", Some("/new")), ("/old?a", Some("/new?a"))]);
    expect("/old => /new/?", &[("/old?a", Some("/new/?a"))]);
}

#[test]
fn a_rewrite_is_written_as_it_was_read() {
    let rule = parsed(" /{a:word}/x   =>/y?a={a}&b=%20 ");
    assert_eq!(rule.to_string(), "/{a:word}/x => /y?a={a}&b=%20");
    assert_eq!(parsed(&rule.to_string()), rule);
}

#[test]
fn a_percent_sign_before_a_placeholder_does_not_make_one_character_with_what_is_captured() {
    for line in
        ["/{a:digits} => /y?b=%{a}", "/{a:digits} => /y?b=%2{a}", "/{a:digits} => /y%{a}", "/{a:digits} => /y%2{a}"]
    {
        assert_eq!(Rewrite::parse(line), Err(RewriteError::TargetEncoding), "{line}");
    }
    expect("/{a:digits} => /y?b=%25{a}", &[("/26", Some("/y?b=%2526"))]);
}

#[test]
fn what_is_no_rewrite_is_refused_in_words() {
    use RewriteError::*;
    let many = |count: usize| (0..count).map(|number| format!("/{{a{number}:word}}")).collect::<String>();
    let nine = format!("{} => /y", many(9));
    let uses = format!("/{{a}} => /y?{}", "a={a}&".repeat(9));
    for (text, expected) in [
        ("/a /b", NoArrow),
        ("a => /b", RelativePattern),
        (" => /b", RelativePattern),
        ("/a?b=1 => /b", PatternWithQuery),
        ("^/([0-9a-z]+)$ => /b?c=$1", RegularExpression),
        ("/\\d => /b", RegularExpression),
        ("/{a} => /b?c=$1", RegularExpression),
        ("/a//b => /c", UnreachablePattern),
        ("/a/../b => /c", UnreachablePattern),
        ("/%2e => /c", UnreachablePattern),
        ("/a%2fb => /c", UnreachablePattern),
        ("/a%zz => /c", UnreachablePattern),
        ("/a%00 => /c", UnreachablePattern),
        ("/{a => /c", Brace),
        ("/a} => /c", Brace),
        ("/{a/b} => /c", Brace),
        ("/{a} => /c?{a", Brace),
        ("/{} => /c", Name),
        ("/{a-b} => /c", Name),
        ("/{a:int} => /c", Kind),
        ("/{a:} => /c", Kind),
        ("/{a}/{a} => /c", Twice("a".to_owned())),
        ("/{a:word}{b} => /c", SideBySide),
        (&*nine, TooMany),
        (&*uses, TooMany),
        ("/a => c.php", RelativeTarget),
        ("/a => ", RelativeTarget),
        ("/a => http://x/", RelativeTarget),
        ("/a => /../c", UnsafeTarget),
        ("/a => /b/./c", UnsafeTarget),
        ("/a => //evil.example/", UnsafeTarget),
        ("/a => /b%2fc", UnsafeTarget),
        ("/a => /b\\c", UnsafeTarget),
        ("/a => /b%2e%2e/%2e%2e", UnsafeTarget),
        ("/a => /b c", TargetCharacter),
        ("/a => /b?c#d", TargetCharacter),
        ("/a => /\u{ac00}", TargetCharacter),
        ("/a => /b%zz", TargetEncoding),
        ("/{a:word} => /b?c={a:word}", KindInTarget),
        ("/{a} => /b?c={d}", Unknown("d".to_owned())),
        ("/{a} => /{a}.php", AnyInPath("a".to_owned())),
    ] {
        let error = Rewrite::parse(text).expect_err(text);
        assert_eq!(error, expected, "{text}");
        assert!(!error.to_string().is_empty() && !error.help().is_empty());
    }
    assert_eq!(Rewrite::parse(&format!("/{} => /b", "a".repeat(TEXT_BYTES_MAX))), Err(TooLong));
    assert!(Rewrite::parse(&format!("{} => /y?a={{a7}}", many(8))).is_ok());
}

#[test]
fn a_hostile_path_takes_no_more_than_its_length_in_time_and_room() {
    // A regular expression would try all ways. The capture occurs eight times in the target.
    let rule = format!("/{{a}}-{{b}}-{{c}}-{{d}}-{{e}}-{{f}}-{{g}}-{{h}}x => /y?{}", "a={a}&".repeat(8));
    let path = format!("/{}", "-".repeat(16_000));
    assert_eq!(target(&rule, &path), None);
    assert!(target(&rule, "/1-2-3-4-5-6-7-8x").is_some());
    assert_eq!(target(&rule, &format!("{path}x")), None, "the result would be longer than it may be");
    assert_eq!(target(&rule, &format!("/{}", "/".repeat(16_000))), None);
}

#[test]
fn what_was_rewritten_before_leaves_nothing_behind() {
    let mut rules = gnuboard();
    rules.push(parsed("/t/{slug:id}-t{topic:digits}.html => /viewtopic.php?t={topic}"));
    let mut rewriter = Rewriter::default();
    let mut target = String::from("kept");
    for path in ["/free/%EA%B0%80-b/?x=1", "/t/a-t1-t15.html", "/%66ree", "/x/y", "/a%zz", "/t/b-t2.html", "/free/12"] {
        let fits = rewriter.write(&rules, path, &mut target);
        let alone = rewritten(&rules, path);
        assert_eq!((fits, &target[4..]), (alone.is_some(), alone.as_deref().unwrap_or_default()), "{path}");
        target.truncate(4);
    }
}

/// Another implementation of a segment: it tries each way, the longest first.
fn tried(segment: &Segment, text: &[u8]) -> Option<Vec<Range<usize>>> {
    fn rest(placeholders: &[segment::Placeholder], text: &[u8], at: usize) -> Option<Vec<Range<usize>>> {
        let Some((first, others)) = placeholders.split_first() else { return (at == text.len()).then(Vec::new) };
        let word = |byte: &u8| matches!(first.kind, segment::PlaceholderKind::Any) || byte.is_ascii_digit();
        let ends = (at + 1..=text.len()).rev().filter(|end| text[at..*end].iter().all(word));
        ends.filter(|end| text[*end..].starts_with(&first.behind)).find_map(|end| {
            let others = rest(others, text, end + first.behind.len())?;
            Some(std::iter::once(at..end).chain(others).collect())
        })
    }
    text.starts_with(&segment.prefix).then(|| rest(&segment.placeholders, text, segment.prefix.len()))?
}

proptest::proptest! {
    #[test]
    fn a_segment_is_filled_as_if_each_way_were_tried(
        prefix in "[a1]{0,2}",
        placeholders in proptest::collection::vec((proptest::bool::ANY, "[a1]{1,2}"), 0..4),
        text in "[a1]{0,9}",
    ) {
        let placeholder = |(is_any, behind): (bool, String)| segment::Placeholder {
            kind: if is_any { segment::PlaceholderKind::Any } else { segment::PlaceholderKind::Digits },
            behind: behind.into_bytes(),
        };
        let placeholders = placeholders.into_iter().map(placeholder).collect();
        let segment = Segment { prefix: prefix.into_bytes(), placeholders };
        let (mut taken, mut places) = (Vec::new(), vec![segment::MatchPosition::default(); 3]);
        let filled = segment.fill(text.as_bytes(), &mut places, |range| taken.push(range)).map(|()| taken);
        proptest::prop_assert_eq!(filled, tried(&segment, text.as_bytes()));
    }

    #[test]
    fn no_line_makes_reading_it_panic_and_what_is_read_is_written_alike(
        text in "/([a-z/{}:.%=>?&\\\\]|\\{[a-b]\\}|\\{[c-d]:word\\}| => /){0,12}",
        path in "/[a-z/.%?-]{0,12}",
    ) {
        if let Ok(rule) = Rewrite::parse(&text) {
            proptest::prop_assert_eq!(Rewrite::parse(&rule.to_string()), Ok(rule.clone()));
            if let Some(target) = rewritten(&[rule], &path) {
                proptest::prop_assert!(target.starts_with('/') && target.bytes().all(|b| b.is_ascii_graphic() && b != b'#'));
            }
        }
    }
}
