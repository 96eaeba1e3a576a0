//! Finds credentials in URLs: a session, a token or a password in the query or in a parameter of the path, and ASP.NET's sessions
//! without cookies.
//!
//! A URL with a credential belongs to one visitor, so its page is not for others, whatever the response says: the request passes.
//! The parameter's name decides (for `ticket`, its value as well). The names are those of sessions (PHP, Java servlets, ASP,
//! ColdFusion, shops) and of tokens. A name that has a plain meaning as well (`session` of a conference, `key`, `auth`) is not
//! listed. A parameter that a rule removes from key and request (`query.ignore`, `strip-path-parameters`) is gone before this
//! check.
//!
//! The answers of a login service are credentials as well: those of OAuth 1 (RFC 5849), OpenID and SAML by their names, and those
//! of OAuth 2 and OpenID Connect by `state` beside `code` or `error` (RFC 6749 section 4.1.2), since each of these alone has a
//! plain meaning.
//!
//! In profile `rfc` this holds only where a lifetime is granted: without a grant, an application that says `public` is believed.

use crate::glob::is_match;
use crate::policy::Policy;
use crate::query::{any_pair, name_and_value, pairs, path_and_query, read_name};
use crate::reason::Reason;

/// Names of parameters that are credentials, as [`folded`] writes them.
const NAMES: [&str; 66] = [
    "__requestverificationtoken",
    "_csrf",
    "_session_id",
    "_token",
    "_wpnonce",
    "_xsrf",
    "access_token",
    "accesstoken",
    "api_key",
    "api_token",
    "apikey",
    "apitoken",
    "asp_net_sessionid",
    "auth_token",
    "authenticity_token",
    "authtoken",
    "cftoken",
    "client_secret",
    "clientsecret",
    "confirmation_token",
    "csrf",
    "csrf_token",
    "csrfmiddlewaretoken",
    "csrftoken",
    "id_token",
    "idtoken",
    "invitation_token",
    "jsessionid",
    "jwt",
    "login_token",
    "logintoken",
    "nonce",
    "oauth_nonce",
    "oauth_token",
    "oauth_verifier",
    "oauthtoken",
    "oscsid",
    "otp",
    "passwd",
    "password",
    "phpsessid",
    "pwd",
    "refresh_token",
    "refreshtoken",
    "remember_token",
    "reset_password_token",
    "reset_token",
    "resettoken",
    "samlart",
    "samlrequest",
    "samlresponse",
    "secret",
    "sessid",
    "session_id",
    "session_key",
    "session_token",
    "sessionid",
    "sessiontoken",
    "sid",
    "token",
    "unlock_token",
    "user_token",
    "usertoken",
    "xsrf_token",
    "xsrftoken",
    "zenid",
];

/// The length of the longest name.
const LENGTH_MAX: usize = 26;

/// Characters with which programs may read a target otherwise than it is written.
const ODD: [u8; 5] = *b";(%+[";

/// Beginnings of names, as [`folded`] writes them. Each server adds something to ASP's; OpenID and HybridAuth have many names with theirs.
const BEGINNINGS: [&str; 3] = ["aspsessionid", "openid_", "hauth_"];

/// Why a request for that target passes because of a credential in its URL, if it does. `sessions`: globs over the names of the site's
/// session cookies.
pub fn passes(target: &str, policy: &Policy, sessions: &[String]) -> Option<Reason> {
    (policy.protects_visitors() && are_in(target, sessions)).then_some(Reason::PassCredentialInUrl)
}

/// Whether a target has a credential. `sessions`: globs over the names of the site's session cookies.
pub fn are_in(target: &str, sessions: &[String]) -> bool {
    let (path, query) = path_and_query(target);
    let mut answer = AuthorizationResponse::default();
    if is_plain(target.as_bytes()) {
        query.is_some_and(|query| {
            let mut pairs = pairs(query).map(name_and_value);
            pairs.any(|(name, value)| is_credential(name, value, sessions) || answer.is_complete_with(name))
        })
    } else {
        let mut is_credential = |pair: &str| is_credential_as_read(pair, sessions, &mut answer);
        // Perl's CGI.pm, and programs that follow HTML 4.01 appendix B.2.2, read `;` as `&`.
        query.is_some_and(|query| any_pair(query, &mut is_credential)) || is_in_path(path, is_credential)
    }
}

/// Whether a target reads as it is written. Most targets do, and need no second look.
fn is_plain(target: &[u8]) -> bool {
    // A table: most targets are shorter than what a search has to set up.
    #[expect(clippy::indexing_slicing, reason = "what is not there does not compile")]
    static IS_ODD: [bool; 256] = {
        let mut is_ambiguous = [false; 256];
        let mut number = 0;
        while number < ODD.len() {
            is_ambiguous[ODD[number] as usize] = true;
            number += 1;
        }
        is_ambiguous
    };
    !target.iter().any(|byte| IS_ODD.get(usize::from(*byte)).is_some_and(|is_ambiguous| *is_ambiguous))
}

fn is_in_path(path: &str, is_credential: impl FnMut(&str) -> bool) -> bool {
    let mut parameters = path.split('/').flat_map(|segment| segment.split(';').skip(1));
    parameters.any(is_credential) || path.split('/').any(is_cookieless)
}

/// The parts of an OAuth 2 authorization response that have been found.
#[derive(Default)]
struct AuthorizationResponse {
    has_state: bool,
    has_result: bool,
}

impl AuthorizationResponse {
    /// Whether the response is complete with this parameter.
    fn is_complete_with(&mut self, name: &str) -> bool {
        self.has_state |= name.eq_ignore_ascii_case("state");
        self.has_result |= name.eq_ignore_ascii_case("code") || name.eq_ignore_ascii_case("error");
        self.has_state && self.has_result
    }
}

fn is_credential_as_read(pair: &str, sessions: &[String], answer: &mut AuthorizationResponse) -> bool {
    let (name, value) = name_and_value(pair);
    let name = read_name(name);
    // PHP reads `sid[0]` as an element of `sid`.
    let name = name.split('[').next().unwrap_or_default();
    is_credential(name, value, sessions) || answer.is_complete_with(name)
}

fn is_credential(name: &str, value: &str, sessions: &[String]) -> bool {
    let is_session = || sessions.iter().any(|glob| is_match(glob.as_bytes(), name.as_bytes()));
    // CAS: a service ticket.
    let is_ticket = || name.eq_ignore_ascii_case("ticket") && value.get(..3).is_some_and(|start| start == "ST-");
    is_named(name) || is_session() || is_ticket()
}

/// Whether a segment of a path is what ASP.NET writes there in the place of a cookie: `(S(…))` for a session, and the like for tickets.
fn is_cookieless(segment: &str) -> bool {
    ["(S(", "(A(", "(F(", "(X("].iter().any(|start| segment.starts_with(start)) && segment.ends_with("))")
}

fn is_named(name: &str) -> bool {
    let begins_with = |one: &&str| name.get(..one.len()).is_some_and(|start| is_the_same(start, one));
    let may_begin = name.as_bytes().first().is_some_and(|first| matches!(folded(*first), b'a' | b'o' | b'h'));
    (may_be_named(name.as_bytes()) && NAMES.iter().any(|one| is_the_same(name, one)))
        || (may_begin && BEGINNINGS.iter().any(begins_with))
}

fn is_the_same(name: &str, one: &str) -> bool {
    name.len() == one.len() && name.bytes().map(folded).eq(one.bytes())
}

/// A character of a name as it is compared: in lower case, and `_` for each character that joins words. `access-token` is another
/// spelling of the same name, and PHP reads `access.token` and `access token` as `access_token`.
const fn folded(byte: u8) -> u8 {
    match byte {
        b'-' | b'.' | b' ' => b'_',
        _ => byte.to_ascii_lowercase(),
    }
}

/// The first letters of the names of each length, one bit for each letter: this rules out nearly all other parameters.
#[expect(clippy::indexing_slicing, reason = "a name that is too long does not compile")]
const FIRST_LETTERS: [u32; LENGTH_MAX + 1] = {
    let mut letters = [0; LENGTH_MAX + 1];
    let mut number = 0;
    while number < NAMES.len() {
        let name = NAMES[number].as_bytes();
        letters[name.len()] |= letter(name[0]);
        number += 1;
    }
    letters
};

/// The bit for a folded letter; both cases have the same bit.
const fn letter(byte: u8) -> u32 {
    1 << (byte & 0x1f)
}

fn may_be_named(name: &[u8]) -> bool {
    let letters = FIRST_LETTERS.get(name.len()).copied().unwrap_or(0);
    name.first().is_some_and(|first| letters & letter(folded(*first)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Profile;

    fn passes(target: &str, policy: &Policy) -> Option<Reason> {
        super::passes(target, policy, &["G5SESS*".to_owned()])
    }

    #[test]
    fn what_is_named_like_a_credential_passes() {
        let safe = Policy::new(Profile::Safe);
        for target in [
            "/?PHPSESSID=1",
            "/x?a=1&sid=2",
            "/x?Token=",
            "/x?%73id=2",
            "/x;jsessionid=1/y?a",
            "/x;v=1;JSESSIONID=1",
            "/?G5SESS1=x",
            "/?aspsessionidqabc=1",
            "/?a=1;sid=2",
            "/?sid%5B%5D=1",
            "/?+sid=1",
            "/shop/(S(lit3py55t21z5v55vlm25s55))/order.aspx",
            "/?reset_password_token=1",
            "/?sid%00x=1",
            "/?ticket=ST-1-abc",
            "/?_session_id=1",
            "/?accessToken=1",
            "/?access-token=1",
            "/?access.token=1",
            "/?access+token=1",
            "/?x=1&__RequestVerificationToken=1",
            "/?.csrf=1",
            "/?oauth_verifier=1",
            "/login?code=1&state=2",
            "/login?state=2&x=1&error=denied",
            "/login?state%3d=1&%63ode=2&state=1",
            "/?openid.mode=id_res",
            "/?openid_identity=1",
            "/plugin/social/?hauth.done=Kakao",
            "/?SAMLResponse=x",
        ] {
            assert_eq!(passes(target, &safe), Some(Reason::PassCredentialInUrl), "{target}");
        }
        for target in [
            "/",
            "/sid",
            "/?side=1",
            "/?a=sid",
            "/?session=5&key=2",
            "/sid/;v=1",
            "/?ticket=12",
            "/?s_id=1",
            "/?accesstokens=1",
            "/?code=EUR",
            "/?state=open&codes=1",
            "/?openid=1",
            "/a(S(b))/",
            "/?",
            "*",
        ] {
            assert_eq!(passes(target, &safe), None, "{target}");
        }
    }

    #[test]
    fn by_the_rfc_only_what_is_granted_is_guarded() {
        let mut rfc = Policy::new(Profile::Rfc);
        assert_eq!(passes("/?sid=1", &rfc), None);
        rfc.grant.ttl_seconds = 1;
        assert_eq!(passes("/?sid=1", &rfc), Some(Reason::PassCredentialInUrl));
    }

    #[test]
    fn all_names_are_found_in_either_case() {
        assert!(NAMES.is_sorted());
        for name in NAMES {
            assert!(name.len() <= LENGTH_MAX && name.bytes().all(|byte| folded(byte) == byte), "{name}");
            assert!(is_named(name) && is_named(&name.to_ascii_uppercase()), "{name}");
            assert!(['-', '.', ' '].iter().all(|joint| is_named(&name.replace('_', &joint.to_string()))), "{name}");
            assert!(!is_named(&format!("{name}x")) || NAMES.contains(&&*format!("{name}x")), "{name}");
        }
        assert!(!is_named("") && !is_named("bo_table") && !is_named(&"p".repeat(100)));
    }
}
