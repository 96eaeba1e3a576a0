//! Whether a page has a form that is sent by POST: what it sends is often checked against the session in which the page was shown, and
//! that is dropped from what is kept.
//!
//! A hint for people, so tags are looked for as they are usually written: no HTML is parsed, scripts and comments count as well, and
//! a form that a script sends is not seen.

const TAG: &[u8] = b"<form";
/// No tag is longer, in bytes.
const TAG_BYTES_MAX: usize = 4096;

/// Whether there is a `<form>` whose method is POST.
pub(super) fn is_sent_back(page: &[u8]) -> bool {
    let starts = page.windows(TAG.len()).enumerate().filter(|(_, window)| window.eq_ignore_ascii_case(TAG));
    starts.filter_map(|(start, _)| page.get(start + TAG.len()..)).any(|rest| is_post(tag(rest)))
}

/// What stands before the end of a tag.
fn tag(rest: &[u8]) -> &[u8] {
    let rest = rest.get(..TAG_BYTES_MAX).unwrap_or(rest);
    rest.split(|byte| *byte == b'>').next().unwrap_or_default()
}

fn is_post(attributes: &[u8]) -> bool {
    let plain: Vec<u8> = attributes
        .iter()
        .filter(|byte| !matches!(**byte, b'"' | b'\'') && !byte.is_ascii_whitespace())
        .map(u8::to_ascii_lowercase)
        .collect();
    let wanted = b"method=post";
    plain.windows(wanted.len()).any(|window| window == wanted)
}

/// Whether a name of a token against forgery stands in it: in a field of a form, a `<meta>` or a script.
pub(super) fn names_forgery_token(page: &[u8]) -> bool {
    [b"csrf", b"xsrf"].iter().any(|name| page.windows(name.len()).any(|window| window.eq_ignore_ascii_case(*name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_sent_by_post_is_found_however_it_is_written() {
        for page in [
            "<p><form action=\"/a\" method=\"post\">",
            "<FORM METHOD=POST>",
            "<form\n  method = 'Post'\n  action=x>",
            "<form><form method=post>",
        ] {
            assert!(is_sent_back(page.as_bytes()), "{page}");
        }
        let field = b"<input type=hidden name=csrfmiddlewaretoken value=x>";
        assert!(names_forgery_token(field) && names_forgery_token(b"var XSRF = 1") && !names_forgery_token(b"<form>"));
        for page in ["", "<form", "<form action=/search>", "<form method=get>", "<form> method=post", "method=post"] {
            assert!(!is_sent_back(page.as_bytes()), "{page}");
        }
    }
}
