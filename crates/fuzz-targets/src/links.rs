//! Fuzz target for the links of a page. Input: the bytes of the page.

use kasoku_semantics::links::{LINKS_MAX, targets};

const PAGE: &str = "http://a.example/bbs/board.php?id=5";

pub(crate) fn run(data: &[u8]) {
    let found: Vec<String> = targets(PAGE, data, |host| host == "a.example").collect();
    assert!(found.len() <= LINKS_MAX);
    assert_eq!(targets(PAGE, data, |_| false).count(), 0, "a link that leads to no host of ours");
    for target in &found {
        let is_target = target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        assert!(is_target, "{target:?} is no request-target");
    }
    // A path that begins with two slashes would be read as a host.
    let plain: Vec<&String> = found.iter().filter(|target| !target.starts_with("//")).collect();
    let written: String = plain.iter().map(|target| format!("<a href=\"{}\">", target.replace('&', "&amp;"))).collect();
    let again: Vec<String> = targets(PAGE, written.as_bytes(), |host| host == "a.example").collect();
    let is_short = plain.iter().all(|target| target.len() <= 256);
    if is_short {
        assert!(again.iter().eq(plain), "written again, they lead elsewhere: {written}");
    }
}
