//! What the operator sets for the leak guard: whether it compares pages, what counts as noise, and the cookies of a test account.

use kasoku_semantics::difference::Noise;
use kasoku_wire::field::list;
use std::fmt;

/// The longest text of cookies, in bytes.
const COOKIE_BYTES_MAX: usize = 4096;

/// The shortest cookie value that is masked in reports, in bytes: a shorter one would occur anywhere.
const SECRET_BYTES_MIN: usize = 4;

/// Whether pages are compared before they are shared, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GuardRules {
    /// Whether pages are compared. Default false; a configuration's default is true.
    pub is_enabled: bool,
    /// Pages that depend on who asks are reported, and shared all the same. Pages with tokens are not.
    pub only_warns: bool,
    /// Parts that may differ between two pages that are the same for all visitors. At most
    /// [`NOISE_MAX`](kasoku_semantics::difference::NOISE_MAX).
    pub noise: Vec<Noise>,
    /// The cookies of a test account, with which the guard finds out what members see and others must not.
    pub cookie: Option<GuardCookie>,
}

/// Cookies as a request has them: `name=value; name2=value2`. Only the application gets to see them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GuardCookie(String);

impl GuardCookie {
    /// Reads cookies; `None`: a pair has no name, or a character that can't stand in Cookie.
    pub fn parse(text: &str) -> Option<Self> {
        let is_value = |value: &str| value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
        let is_pair = |pair: &str| {
            let (name, value) = pair.trim().split_once('=').unwrap_or_default();
            list::is_token(name.as_bytes()) && is_value(value)
        };
        let is_sound = text.len() <= COOKIE_BYTES_MAX && text.split(';').all(is_pair);
        is_sound.then(|| Self(text.split(';').map(str::trim).collect::<Vec<_>>().join("; ")))
    }

    /// The cookies as a value of Cookie.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// A text with the values of these cookies masked.
    pub fn mask(&self, text: &str) -> String {
        let values = self.0.split("; ").filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
        let secrets = values.filter(|value| value.len() >= SECRET_BYTES_MIN);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

impl fmt::Debug for GuardCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardCookie(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_read_and_never_shown() {
        let cookie = GuardCookie::parse("sid=hunter2;b=1; c=").unwrap();
        assert_eq!(cookie.text(), "sid=hunter2; b=1; c=");
        assert_eq!(format!("{cookie:?}"), "GuardCookie(***)");
        assert_eq!(cookie.mask("for hunter2 and 1"), "for *** and 1");
        for wrong in ["", "a", "=b", "a=b;", "a=b c", "a=\r\nb", "a=b,c=d", "a=\u{fc}"] {
            assert_eq!(GuardCookie::parse(wrong), None, "{wrong:?}");
        }
    }
}
