//! Empties tokens of an anonymous page that its application does not ask of anonymous visitors.
//!
//! Some programs print a token against forgery on each page, also for guests, and let a guest's request go without it: what counts for a
//! guest is where the request comes from. A page with such a token belongs to one session. With an empty token it is right for all
//! guests. The operator, or a policy that was tried on the program, names the place: `<meta name="csrf-token" content="{token}"`.
//!
//! The value goes and spaces follow the closing quote, so that the page keeps its length. In a tag of HTML, in JSON and in a script, a
//! space there means nothing.

use memchr::memmem;

/// What stands for the value in a text.
const PLACEHOLDER: &str = "{token}";

/// The fewest bytes before the value: they must name it.
const BEFORE_BYTES_MIN: usize = 8;

/// The longest value that is emptied, in bytes.
const VALUE_BYTES_MAX: usize = 256;

/// A token that a shared page has empty: the text before its value, and the quote that ends the value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EmptyToken {
    before: String,
    quote: u8,
}

impl EmptyToken {
    /// Reads `TEXT"{token}"`, or the same with `'`. `None`: it is not that, or the text is too short to name a token.
    pub fn parse(text: &str) -> Option<Self> {
        let (before, after) = text.split_once(PLACEHOLDER)?;
        let quote = *before.as_bytes().last().filter(|quote| matches!(quote, b'"' | b'\''))?;
        let is_sound = after.as_bytes() == [quote] && before.len() >= BEFORE_BYTES_MIN;
        is_sound.then(|| Self { before: before.to_owned(), quote })
    }

    /// Empties this token wherever it stands in a page. A value that no token has (with blanks, tags, or too long) stays.
    pub fn empty_in(&self, page: &mut [u8]) {
        let mut from = 0;
        while let Some(found) = page.get(from..).and_then(|rest| memmem::find(rest, self.before.as_bytes())) {
            from += found + self.before.len();
            let Some(rest) = page.get_mut(from..) else { return };
            let length = rest.iter().take(VALUE_BYTES_MAX + 1).take_while(|byte| is_in_token(**byte)).count();
            if length > VALUE_BYTES_MAX || rest.get(length) != Some(&self.quote) {
                continue;
            }
            if let Some(value) = rest.get_mut(..=length) {
                value.fill(b' ');
                value.iter_mut().take(1).for_each(|first| *first = self.quote);
            }
        }
    }
}

fn is_in_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emptied(token: &str, page: &str) -> String {
        let mut page = page.as_bytes().to_vec();
        EmptyToken::parse(token).unwrap().empty_in(&mut page);
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn a_token_is_emptied_and_the_page_keeps_its_length() {
        let meta = r#"<meta name="csrf-token" content="{token}""#;
        for (page, expected) in [
            (r#"<meta name="csrf-token" content="a1B-2" /><p>"#, r#"<meta name="csrf-token" content=""      /><p>"#),
            (r#"<meta name="csrf-token" content="" />"#, r#"<meta name="csrf-token" content="" />"#),
        ] {
            assert_eq!(emptied(meta, page), expected);
        }
        let input = "name='_rx_csrf_token' value='{token}'";
        let page = "<input name='_rx_csrf_token' value='x1'><input name='_rx_csrf_token' value='y2'>";
        let expected = "<input name='_rx_csrf_token' value=''  ><input name='_rx_csrf_token' value=''  >";
        assert_eq!(emptied(input, page), expected);
    }

    #[test]
    fn what_is_no_token_stays() {
        let meta = r#"<meta name="csrf-token" content="{token}""#;
        let long = format!(r#"<meta name="csrf-token" content="{}" />"#, "a".repeat(VALUE_BYTES_MAX + 1));
        for page in [
            &*long,
            r#"<meta name="csrf-token" content="two words" />"#,
            r#"<meta name="csrf-token" content="a<b" />"#,
            r#"<meta name="csrf-token" content="cut"#,
            r#"<meta name="csrf-token" content=""#,
            r#"<meta name="description" content="a1B2" />"#,
        ] {
            assert_eq!(emptied(meta, page), page);
        }
    }

    #[test]
    fn a_text_names_the_token_and_ends_with_its_quote() {
        for text in [
            "",
            "{token}",
            "\"{token}\"",
            "value=\"{token}",
            "name=x value={token}",
            "name=\"x\" value=\"{token}'",
            "name=\"x\" value=\"{token}\" />",
        ] {
            assert_eq!(EmptyToken::parse(text), None, "{text}");
        }
        assert!(EmptyToken::parse("\"csrfToken\":\"{token}\"").is_some());
    }
}
