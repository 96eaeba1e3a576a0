//! What a front end shows to its peers: a password that is made of the token, so that somebody who listens on the network can't seal purges.

use crate::hex;
use crate::sealed::SecretTooShort;
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderValue;
use sha2::Sha256;
use std::fmt;

/// What the HMAC is over: another text than any item begins with.
const PURPOSE: &[u8] = b"the password of Kasoku's peers";

/// The value of `Authorization`.
#[derive(Clone)]
pub(super) struct Password(HeaderValue);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl Password {
    pub(super) fn of(token: &[u8]) -> Result<Self, SecretTooShort> {
        let keyed = Hmac::<Sha256>::new_from_slice(token).map_err(|_| SecretTooShort)?;
        let mut value = "Bearer ".to_owned();
        value.extend(hex::digits(&keyed.chain_update(PURPOSE).finalize().into_bytes()));
        let mut value = HeaderValue::try_from(value).map_err(|_| SecretTooShort)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    pub(super) fn authorization(&self) -> HeaderValue {
        self.0.clone()
    }

    /// Whether `Authorization` shows this password. The time of the comparison does not tell where the first difference is.
    pub(super) fn is_shown_by(&self, authorization: &HeaderValue) -> bool {
        let (own, shown) = (self.0.as_bytes(), authorization.as_bytes());
        let differences = own.iter().zip(shown).fold(0, |differences, (one, other)| differences | (one ^ other));
        own.len() == shown.len() && differences == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_of_the_same_token_is_accepted() {
        let own = Password::of(b"0123456789abcdef").unwrap();
        let shown = own.authorization();
        assert!(own.is_shown_by(&shown) && Password::of(b"0123456789abcdef").unwrap().is_shown_by(&shown));
        assert!(!Password::of(b"0123456789abcdeg").unwrap().is_shown_by(&shown));
        let text = shown.to_str().unwrap();
        for other in ["", "Bearer ", "Bearer 0123456789abcdef", &text[..text.len() - 1], &format!("{text}0")] {
            assert!(!own.is_shown_by(&HeaderValue::from_str(other).unwrap()), "{other}");
        }
        assert!(!text.contains("0123456789abcdef"), "the token is on no wire");
        assert!(!format!("{own:?} {shown:?}").contains(&text[7..]), "nor in a log");
    }
}
