//! Recognises URLs that may work only once: links that confirm an address, set a password or end a subscription.
//!
//! It looks for words in the path and in the names of parameters. A word that is there by chance (`keyboard`) costs a proposal,
//! and a missed word may cost a visitor their link. So a word counts anywhere in the text.

use kasoku_semantics::query::{any_pair, name_and_value, path_and_query, read_name};
use kasoku_semantics::url_credentials;
use percent_encoding::percent_decode_str;

/// Words in such links, in lower case.
const WORDS: [&str; 18] = [
    "activat", "approve", "certif", "code", "confirm", "delete", "hash", "invit", "key", "logout", "md5", "nonce",
    "optin", "reset", "subscri", "token", "valid", "verif",
];

/// Whether a URL may have been made to be requested once. `target`: path and query.
pub(super) fn is_one_time(target: &str) -> bool {
    let has_word = |text: &str| {
        let text = text.to_ascii_lowercase();
        WORDS.iter().any(|word| text.contains(word))
    };
    let (path, query) = path_and_query(target);
    has_word(&percent_decode_str(path).decode_utf8_lossy())
        || query.is_some_and(|query| any_pair(query, |pair| has_word(&read_name(name_and_value(pair).0))))
        || url_credentials::are_in(target, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_work_once_are_told_by_their_words() {
        for target in [
            "/bbs/password_lost_certify.php?mb_no=1&mb_nonce=2",
            "/bbs/email_certify.php?mb_id=a&mb_md5=0f",
            "/wp-login.php?action=rp&key=1",
            "/wp-activate.php",
            "/account/ReSet/17",
            "/%72eset",
            "/user?a=1;Activation=2",
            "/x?%63ode=1",
            "/newsletter/unsubscribe/17",
            "/x?sid=1",
            "/verify-email/17",
            "/comments/approve/5",
            "/mail?hash[]=1",
        ] {
            assert!(is_one_time(target), "{target}");
        }
        for target in ["/", "/bbs/board.php?bo_table=free&wr_id=5", "/search?q=reset+code", "/2026/11/a-day-out", "*"] {
            assert!(!is_one_time(target), "{target}");
        }
    }
}
