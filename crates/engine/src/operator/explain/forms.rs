//! Finds forms in a page that are sent by POST. An application often checks what such a form sends against the session in which
//! it showed the page, and a stored page is kept without that session.
//!
//! This is a hint for people, so tags are looked for as they are usually written: no HTML is parsed, tags in scripts and comments
//! count as well, and a form that a script sends is not seen.

const TAG: &[u8] = b"<form";
/// How much of a tag is looked at, in bytes.
const TAG_BYTES_MAX: usize = 4096;

/// Whether there is a `<form>` whose method is POST.
pub(super) fn is_sent_back(page: &[u8]) -> bool {
    let starts = page.windows(TAG.len()).enumerate().filter(|(_, window)| window.eq_ignore_ascii_case(TAG));
    starts.filter_map(|(start, _)| page.get(start + TAG.len()..)).any(|rest| is_post(tag(rest)))
}

/// The part before the end of the tag.
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

/// Whether the page has the name of an anti-forgery token: in a field of a form, a `<meta>` or a script.
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
