//! The meta-variables of RFC 3875 section 4.1, by which a gateway protocol tells a program about the request. CGI passes them as
//! its environment, FastCGI and SCGI as parameters.
//!
//! The list begins with the standard's own names, then those that Apache and nginx add and programs rely on (REQUEST_URI,
//! SCRIPT_FILENAME, DOCUMENT_ROOT, REQUEST_SCHEME, HTTPS, SERVER_ADDR, REMOTE_PORT), then `HTTP_*`, one for each name of a field.
//! No name occurs twice, and no value holds a NUL.
//!
//! **Fields that do not become `HTTP_*`:**
//! * `Proxy`: as HTTP_PROXY it would send the program's own requests through a server of the client's choice (httpoxy,
//!   CVE-2016-5385).
//! * Names with other characters than letters, digits and `-`. `X_Forwarded_For` and `X-Forwarded-For` would become the same
//!   variable, and no proxy in front of the program checks the former.
//! * Proxy-Authorization, and Authorization unless the configuration passes it on: other users of the machine may read a
//!   process's environment (RFC 3875 section 9.2; Apache's CGIPassAuth).
//! * Content-Length and Content-Type, which have variables of their own, and fields about the connection, which Kasoku consumes:
//!   Connection, Keep-Alive, TE, Trailer, Transfer-Encoding, Upgrade, Expect and the like.
//!
//! AUTH_TYPE, REMOTE_USER and REMOTE_IDENT are never set: they tell whom a server has authenticated, and Kasoku authenticates no
//! users. REMOTE_HOST is left out, since it would need a DNS look-up. The authority comes from Host, so SERVER_NAME and
//! SERVER_PORT are what the client asked for (Apache's `UseCanonicalName Off`), and HTTP_HOST keeps the port.

use http::Version;
use kasoku_options::Gateway;
use kasoku_semantics::anonymous_request::ANONYMOUS_ADDRESS;
use kasoku_wire::RequestHead;
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

/// The request, and how its URL divides at the script.
#[derive(Clone, Debug)]
pub(crate) struct ScriptRequest<'a> {
    /// The request; its target is path and query.
    pub(crate) head: &'a RequestHead,
    /// Whether the client used https.
    pub(crate) is_https: bool,
    /// The address that the client has connected to.
    pub(crate) local: Option<SocketAddr>,
    /// The client's address; `None` where the answer may be shared.
    pub(crate) remote: Option<SocketAddr>,
    /// The address that takes the place of the client's there.
    pub(crate) stand_in: Option<IpAddr>,
    /// The length of the request's body in bytes; `None` without a body, or if its length is unknown.
    pub(crate) body_bytes: Option<u64>,
    /// Whether Authorization is passed on.
    pub(crate) passes_authorization: bool,
    /// The URL path of the script, decoded.
    pub(crate) script_name: &'a str,
    /// The part of the URL path behind the script's, decoded.
    pub(crate) path_info: &'a str,
    /// The file that `path_info` would name below the document root.
    pub(crate) path_translated: Option<&'a [u8]>,
    /// The query, if it differs from the request's own (short addresses).
    pub(crate) query: Option<&'a str>,
    /// The script's file.
    pub(crate) script_filename: Option<&'a [u8]>,
    /// The document root.
    pub(crate) document_root: Option<&'a [u8]>,
}

/// The variables of one request. See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct MetaVariables<'a>(Vec<(Cow<'a, str>, Cow<'a, [u8]>)>);

/// SERVER_SOFTWARE.
const SOFTWARE: &str = concat!("kasoku/", env!("CARGO_PKG_VERSION"));

impl<'a> MetaVariables<'a> {
    /// The variables of a request, in the order of the [module](self)'s list.
    pub(crate) fn of(subject: &ScriptRequest<'a>) -> Self {
        let mut all = Self(Vec::with_capacity(32 + subject.head.fields.len()));
        all.standard(subject);
        all.customary(subject);
        all.fields(subject);
        all
    }

    /// Sets a variable. It replaces one of the same name.
    pub(crate) fn set(&mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, [u8]>>) {
        let (name, value) = (name.into(), value.into());
        self.0.retain(|(known, _)| *known != name);
        self.push(name, value);
    }

    /// Sets the variables of the configuration, which win over all others.
    pub(crate) fn set_further(&mut self, gateway: &'a Gateway) {
        for name in &gateway.inherited_environment {
            if let Some(value) = std::env::var_os(name) {
                self.set(name.as_str(), value.into_encoded_bytes());
            }
        }
        for (name, value) in &gateway.environment {
            self.set(name.as_str(), value.as_bytes());
        }
    }

    /// The names and values.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    fn push(&mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, [u8]>>) {
        let value = value.into();
        debug_assert!(!value.contains(&0));
        if !value.contains(&0) {
            self.0.push((name.into(), value));
        }
    }

    fn push_text(&mut self, name: &'static str, value: impl ToString) {
        self.push(name, value.to_string().into_bytes());
    }

    /// The variables of RFC 3875 section 4.1, in its order.
    fn standard(&mut self, subject: &ScriptRequest<'a>) {
        let head = subject.head;
        let (host, port) = authority(head, subject.is_https);
        if let Some(bytes) = subject.body_bytes {
            self.push_text("CONTENT_LENGTH", bytes);
        }
        if let Some(media_type) = head.fields.first("content-type") {
            self.push("CONTENT_TYPE", media_type);
        }
        self.push("GATEWAY_INTERFACE", &b"CGI/1.1"[..]);
        if !subject.path_info.is_empty() {
            self.push("PATH_INFO", subject.path_info.as_bytes());
        }
        if let Some(path) = subject.path_translated {
            self.push("PATH_TRANSLATED", path);
        }
        let own_query = || head.target.split_once('?').map_or("", |(_, query)| query);
        self.push("QUERY_STRING", subject.query.unwrap_or_else(own_query).as_bytes());
        match subject.remote.map(|address| address.ip().to_canonical()).or(subject.stand_in) {
            Some(address) => self.push_text("REMOTE_ADDR", address),
            // RFC 3875 section 4.1.8 requires the variable, also for the client of a Unix socket.
            None => self.push("REMOTE_ADDR", ANONYMOUS_ADDRESS.as_bytes()),
        }
        self.push("REQUEST_METHOD", head.method.as_str().as_bytes());
        self.push("SCRIPT_NAME", subject.script_name.as_bytes());
        self.push("SERVER_NAME", host);
        self.push("SERVER_PORT", port);
        self.push("SERVER_PROTOCOL", if head.version == Version::HTTP_10 { &b"HTTP/1.0"[..] } else { b"HTTP/1.1" });
        self.push("SERVER_SOFTWARE", SOFTWARE.as_bytes());
    }

    fn customary(&mut self, subject: &ScriptRequest<'a>) {
        if let Some(root) = subject.document_root {
            self.push("DOCUMENT_ROOT", root);
        }
        if subject.is_https {
            self.push("HTTPS", &b"on"[..]);
        }
        if let Some(address) = subject.remote {
            self.push_text("REMOTE_PORT", address.port());
        }
        self.push("REQUEST_SCHEME", if subject.is_https { &b"https"[..] } else { b"http" });
        self.push("REQUEST_URI", subject.head.target.as_bytes());
        if let Some(file) = subject.script_filename {
            self.push("SCRIPT_FILENAME", file);
        }
        if let Some(address) = subject.local {
            self.push_text("SERVER_ADDR", address.ip().to_canonical());
        }
    }

    /// `HTTP_*`.
    //= RFC 3875 section 4.1.18
    //# If multiple header fields with the same field-name are received then the server MUST rewrite them as a single value
    //# having the same semantics.
    fn fields(&mut self, subject: &ScriptRequest<'a>) {
        let first = self.0.len();
        for (name, value) in subject.head.fields.iter() {
            if !is_told(name, subject.passes_authorization) {
                continue;
            }
            let variable = variable(name);
            let between: &[u8] = if variable == "HTTP_COOKIE" { b"; " } else { b", " };
            match self.0.iter_mut().skip(first).find(|(known, _)| *known == variable) {
                Some((_, known)) => {
                    known.to_mut().extend_from_slice(between);
                    known.to_mut().extend_from_slice(value);
                }
                None => self.push(variable, value),
            }
        }
    }
}

/// `X-Forwarded-For` as HTTP_X_FORWARDED_FOR.
fn variable(name: &[u8]) -> String {
    let letter = |byte: &u8| if *byte == b'-' { '_' } else { char::from(byte.to_ascii_uppercase()) };
    "HTTP_".chars().chain(name.iter().map(letter)).collect()
}

/// Whether a field becomes a variable.
fn is_told(name: &[u8], passes_authorization: bool) -> bool {
    const SPENT: [&str; 13] = [
        "connection",
        "content-length",
        "content-type",
        "expect",
        "http2-settings",
        "keep-alive",
        "proxy",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    let is_plain = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    is_plain && !SPENT.iter().any(|spent| is(spent)) && (passes_authorization || !is("authorization"))
}

/// SERVER_NAME and SERVER_PORT, from Host, which the engine has checked.
fn authority(head: &RequestHead, is_https: bool) -> (&[u8], &[u8]) {
    let host = head.fields.first("host").unwrap_or_default();
    // The colons of an IPv6 literal stand within its brackets.
    let name_end = host.iter().rposition(|byte| *byte == b']').map_or(0, |bracket| bracket + 1);
    let colon = host.iter().skip(name_end).position(|byte| *byte == b':').map(|colon| name_end + colon);
    let (name, port) = host.split_at_checked(colon.unwrap_or(host.len())).unwrap_or((host, b""));
    let default: &[u8] = if is_https { b"443" } else { b"80" };
    (name, port.strip_prefix(b":").filter(|port| !port.is_empty()).unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    fn subject(head: &RequestHead) -> ScriptRequest<'_> {
        ScriptRequest {
            head,
            is_https: false,
            local: Some(([127, 0, 0, 1], 8080).into()),
            remote: Some(([192, 0, 2, 7], 40_000).into()),
            stand_in: None,
            body_bytes: None,
            passes_authorization: false,
            script_name: "/mt/search.cgi",
            path_info: "/a b",
            path_translated: Some(b"/srv/mt/a b"),
            query: None,
            script_filename: Some(b"/srv/mt/search.cgi"),
            document_root: Some(b"/srv/mt"),
        }
    }

    fn value(variables: &MetaVariables<'_>, name: &str) -> Option<String> {
        let mut all = variables.iter().filter(|(known, _)| *known == name);
        let found = all.next().map(|(_, value)| String::from_utf8(value.to_vec()).unwrap());
        assert!(all.next().is_none(), "{name} stands twice");
        found
    }

    fn assert_values(variables: &MetaVariables<'_>, expected: &[(&str, Option<&str>)]) {
        for (name, expected) in expected {
            assert_eq!(value(variables, name).as_deref(), *expected, "{name}");
        }
    }

    #[test]
    fn a_get_has_what_rfc_3875_lists_and_nothing_of_a_body() {
        let head = RequestHead::new(Method::GET, "/mt/search.cgi/a%20b?tag=x&n=1").with("Host", "Example.org:8080");
        let variables = MetaVariables::of(&subject(&head));
        assert_values(
            &variables,
            &[
                ("GATEWAY_INTERFACE", Some("CGI/1.1")),
                ("REQUEST_METHOD", Some("GET")),
                ("QUERY_STRING", Some("tag=x&n=1")),
                ("SCRIPT_NAME", Some("/mt/search.cgi")),
                ("PATH_INFO", Some("/a b")),
                ("PATH_TRANSLATED", Some("/srv/mt/a b")),
                ("SERVER_NAME", Some("Example.org")),
                ("SERVER_PORT", Some("8080")),
                ("SERVER_PROTOCOL", Some("HTTP/1.1")),
                ("SERVER_SOFTWARE", Some(SOFTWARE)),
                ("SERVER_ADDR", Some("127.0.0.1")),
                ("REMOTE_ADDR", Some("192.0.2.7")),
                ("REMOTE_PORT", Some("40000")),
                ("REQUEST_URI", Some("/mt/search.cgi/a%20b?tag=x&n=1")),
                ("REQUEST_SCHEME", Some("http")),
                ("SCRIPT_FILENAME", Some("/srv/mt/search.cgi")),
                ("DOCUMENT_ROOT", Some("/srv/mt")),
                ("HTTP_HOST", Some("Example.org:8080")),
                ("HTTPS", None),
                ("CONTENT_LENGTH", None),
                ("CONTENT_TYPE", None),
                ("AUTH_TYPE", None),
                ("REMOTE_USER", None),
            ],
        );
    }

    #[test]
    fn a_query_that_is_not_there_is_empty_and_no_path_info_is_no_variable() {
        let head = RequestHead::new(Method::GET, "/mt/search.cgi").with("Host", "a");
        let variables = MetaVariables::of(&ScriptRequest { path_info: "", path_translated: None, ..subject(&head) });
        let expected = [("QUERY_STRING", Some("")), ("PATH_INFO", None), ("PATH_TRANSLATED", None)];
        assert_values(&variables, &expected);
    }

    #[test]
    fn a_short_address_is_told_as_it_was_sent_beside_the_query_that_it_stands_for() {
        let head = RequestHead::new(Method::GET, "/free/12?page=2").with("Host", "a");
        let variables = MetaVariables::of(&ScriptRequest { query: Some("b=free&id=12&page=2"), ..subject(&head) });
        assert_values(
            &variables,
            &[("QUERY_STRING", Some("b=free&id=12&page=2")), ("REQUEST_URI", Some("/free/12?page=2"))],
        );
    }

    #[test]
    fn a_post_tells_the_length_and_type_of_its_body_by_their_own_names() {
        let head = RequestHead::new(Method::POST, "/a")
            .with("Host", "a")
            .with("Content-Type", "text/plain")
            .with("Content-Length", "3");
        let variables = MetaVariables::of(&ScriptRequest { body_bytes: Some(3), ..subject(&head) });
        let none = [("HTTP_CONTENT_LENGTH", None), ("HTTP_CONTENT_TYPE", None)];
        assert_values(&variables, &[("CONTENT_LENGTH", Some("3")), ("CONTENT_TYPE", Some("text/plain"))]);
        assert_values(&variables, &none);
    }

    #[test]
    fn a_client_that_is_not_told_has_the_address_of_no_client() {
        let head = RequestHead::new(Method::GET, "/").with("Host", "a");
        let variables = MetaVariables::of(&ScriptRequest { remote: None, ..subject(&head) });
        assert_values(&variables, &[("REMOTE_ADDR", Some("0.0.0.0")), ("REMOTE_PORT", None)]);
        let stand_in = Some([240, 1, 2, 3].into());
        let variables = MetaVariables::of(&ScriptRequest { remote: None, stand_in, ..subject(&head) });
        assert_values(&variables, &[("REMOTE_ADDR", Some("240.1.2.3")), ("REMOTE_PORT", None)]);
    }

    #[test]
    fn https_is_told_and_has_its_own_port() {
        let head = RequestHead::new(Method::GET, "/").with("Host", "[2001:db8::1]");
        let variables = MetaVariables::of(&ScriptRequest { is_https: true, ..subject(&head) });
        let expected = [
            ("HTTPS", Some("on")),
            ("REQUEST_SCHEME", Some("https")),
            ("SERVER_NAME", Some("[2001:db8::1]")),
            ("SERVER_PORT", Some("443")),
        ];
        assert_values(&variables, &expected);
        let head = RequestHead::new(Method::GET, "/").with("Host", "[2001:db8::1]:8443");
        assert_values(&MetaVariables::of(&subject(&head)), &[("SERVER_PORT", Some("8443"))]);
    }

    /// No field may set the variable of another field, or one that means something else to programs.
    #[test]
    fn no_field_poses_as_another_variable() {
        let head = RequestHead::new(Method::GET, "/")
            .with("Host", "a")
            .with("Proxy", "http://evil/")
            .with("pRoXy", "http://evil/")
            .with("X_Forwarded_For", "203.0.113.9")
            .with("X-Forwarded_For", "203.0.113.9")
            .with("X.Real.Ip", "203.0.113.9")
            .with("X-Forwarded-For", "198.51.100.1")
            .with("Authorization", "Basic c2VjcmV0")
            .with("Proxy-Authorization", "Basic c2VjcmV0")
            .with("Connection", "close")
            .with("TE", "trailers")
            .with("Upgrade", "h2c")
            .with("Transfer-Encoding", "chunked")
            .with("Expect", "100-continue");
        let variables = MetaVariables::of(&subject(&head));
        let names: Vec<&str> =
            variables.iter().map(|(name, _)| name).filter(|name| name.starts_with("HTTP_")).collect();
        assert_eq!(names, ["HTTP_HOST", "HTTP_X_FORWARDED_FOR"]);
        assert_values(&variables, &[("HTTP_X_FORWARDED_FOR", Some("198.51.100.1"))]);
    }

    #[test]
    fn authorization_is_passed_only_where_it_is_said() {
        let head = RequestHead::new(Method::GET, "/").with("Host", "a").with("Authorization", "Bearer x");
        let variables = MetaVariables::of(&ScriptRequest { passes_authorization: true, ..subject(&head) });
        assert_values(&variables, &[("HTTP_AUTHORIZATION", Some("Bearer x")), ("AUTH_TYPE", None)]);
    }

    //= RFC 3875 section 4.1.18
    //# If multiple header fields with the same field-name are received then the server MUST rewrite them as a single value
    //# having the same semantics.
    #[test]
    fn equal_names_are_one_value_and_cookies_stay_cookies() {
        let head = RequestHead::new(Method::GET, "/")
            .with("Host", "a")
            .with("Accept", "text/html")
            .with("Cookie", "a=1")
            .with("accept", "*/*")
            .with("cookie", "b=2");
        let variables = MetaVariables::of(&subject(&head));
        assert_values(&variables, &[("HTTP_ACCEPT", Some("text/html, */*")), ("HTTP_COOKIE", Some("a=1; b=2"))]);
    }

    #[test]
    fn further_variables_have_a_value_or_ours_and_win() {
        let head = RequestHead::new(Method::GET, "/").with("Host", "a").with("X-B", "client");
        let gateway = Gateway {
            environment: vec![("HTTP_X_B".to_owned(), "set".to_owned())],
            inherited_environment: vec!["CARGO_PKG_NAME".to_owned(), "KASOKU_NOBODY_SETS_THIS".to_owned()],
            ..Gateway::default()
        };
        let mut variables = MetaVariables::of(&subject(&head));
        variables.set_further(&gateway);
        let expected = [("HTTP_X_B", Some("set")), ("CARGO_PKG_NAME", Some("kasoku-programs"))];
        assert_values(&variables, &expected);
        assert_values(&variables, &[("KASOKU_NOBODY_SETS_THIS", None)]);
    }

    #[test]
    fn what_is_set_takes_the_place_of_what_was_there() {
        let head = RequestHead::new(Method::GET, "/").with("Host", "a");
        let mut variables = MetaVariables::of(&subject(&head));
        variables.set("SERVER_NAME", &b"b"[..]);
        variables.set("REDIRECT_STATUS", &b"200"[..]);
        assert_values(&variables, &[("SERVER_NAME", Some("b")), ("REDIRECT_STATUS", Some("200"))]);
    }
}
