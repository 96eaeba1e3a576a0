//! Resolves traces: where spans are sent, and which requests have spans.

use crate::issue::{Issue, Located, quoted};
use crate::raw::RawTraces;
use kasoku_options::Traces;

/// The port and the path of a collector of OTLP over HTTP, if its URL names none.
const PORT: u16 = 4318;
const PATH: &str = "/v1/traces";

/// Does not check that a collector listens: that shows when spans are sent.
pub(super) fn traces(raw: &RawTraces, issues: &mut Vec<Issue>) -> Traces {
    let mut traces = Traces::default();
    if let Some(url) = &raw.otlp {
        match collector(&url.value) {
            Some(url) => traces.collector = Some(url),
            None => issues.push(not_a_collector(url)),
        }
    }
    super::set(&mut traces.sample_one_in, &raw.sample_one_in);
    if let Some(name) = &raw.service_name {
        if name.value.is_empty() {
            issues.push(Issue::error("`service-name` can't be empty").at(&name.place));
        }
        traces.service_name.clone_from(&name.value);
    }
    traces
}

/// The URL, with the default port and path where it names none.
fn collector(text: &str) -> Option<String> {
    let rest = text.strip_prefix("http://")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"@?#\"<>\\".contains(&byte);
    if authority.is_empty() || !rest.bytes().all(is_plain) {
        return None;
    }
    // A colon within brackets belongs to an IPv6 address.
    let behind_host = authority.rsplit_once(']').map_or(authority, |(_, behind)| behind);
    let port = match behind_host.rsplit_once(':') {
        Some((_, port)) => {
            port.parse::<u16>().ok().filter(|port| *port > 0)?;
            String::new()
        }
        None => format!(":{PORT}"),
    };
    let path = if matches!(path, "" | "/") { PATH } else { path };
    Some(format!("http://{authority}{port}{path}"))
}

fn not_a_collector(url: &Located<String>) -> Issue {
    let issue = Issue::error(format!("{} is no collector", quoted(&url.value))).at(&url.place);
    if url.value.starts_with("https://") {
        return issue
            .help("Kasoku sends spans by http: run a collector on this machine, which can send them on by https");
    }
    issue.help("write a URL like \"http://127.0.0.1:4318\"")
}

#[cfg(test)]
mod tests {
    use super::collector;

    #[test]
    fn a_url_gets_the_usual_port_and_path() {
        for (written, meant) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://collector/", "http://collector:4318/v1/traces"),
            ("http://[::1]", "http://[::1]:4318/v1/traces"),
            ("http://[::1]:80/otlp/traces", "http://[::1]:80/otlp/traces"),
        ] {
            assert_eq!(collector(written).as_deref(), Some(meant));
        }
        for wrong in [
            "",
            "collector:4318",
            "https://a",
            "http://",
            "http:///v1",
            "http://a:b",
            "http://u@a",
            "http://a b",
            "http://a:0",
        ] {
            assert_eq!(collector(wrong), None, "{wrong}");
        }
    }
}
