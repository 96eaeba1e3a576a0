//! `kasoku purge`: drops what is stored, or makes it stale.

use crate::operator::{Operator, OperatorError, OperatorFlags, in_query};
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;

/// The arguments of `kasoku purge`.
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("target").required(true).multiple(true))]
pub(crate) struct PurgeFlags {
    /// The URLs to purge, in all variants, under http and https
    #[arg(
        value_name = "URL",
        group = "target",
        help = "The URLs to purge, in all variants, under http and https, such as http://example.org/blog/"
    )]
    urls: Vec<String>,
    /// Purge all URLs that begin like this one
    #[arg(
        long,
        value_name = "URL",
        group = "target",
        help = "Purge all URLs that begin like this one, such as http://example.org/blog/"
    )]
    prefix: Vec<String>,
    /// Purge all URLs of a host, such as example.org; if there is only one site, its name will do (`default` for a site without hosts)
    #[arg(long, value_name = "HOST", group = "target")]
    site: Vec<String>,
    /// Purge all responses with this tag (`tags` in the configuration), such as board-free
    #[arg(long, value_name = "TAG", group = "target")]
    tag: Vec<String>,
    /// With --tag: only in the site that serves this host
    #[arg(long = "in", value_name = "HOST", requires = "tag")]
    host: Option<String>,
    /// Purge everything
    #[arg(long, group = "target")]
    all: bool,
    /// Make responses stale instead of dropping them: they are validated before they are used, and may be served stale meanwhile
    #[arg(long)]
    soft: bool,
    #[command(flatten)]
    operator: OperatorFlags,
}

/// The exit code of a purge that was carried out here, and that no other front end can hear of yet.
const NOBODY_TOLD: u8 = 2;

pub(crate) fn purge(flags: &PurgeFlags) -> ExitCode {
    match purge_each(flags) {
        Ok(Others::Told) => ExitCode::SUCCESS,
        Ok(Others::NoneTold) => ExitCode::from(NOBODY_TOLD),
        Err(error) => {
            eprintln!("kasoku purge: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether other front ends can hear of the purges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// They can, or there are none.
    Told,
    /// One of the purges has reached no server and no peer.
    NoneTold,
}

fn purge_each(flags: &PurgeFlags) -> Result<Others, OperatorError> {
    let operator = Operator::new(&flags.operator)?;
    let soft = if flags.soft { "&soft" } else { "" };
    let done = if flags.soft { "made stale" } else { "purged" };
    let mut others = Others::Told;
    let mut ask = |query: &str, what: &dyn Fn(&Value) -> String| {
        let said = operator.ask_for("POST", &format!("/purge?{query}{soft}"))?;
        let said = serde_json::from_str::<Value>(&said).unwrap_or_default();
        let (told, is_told) = told(&said);
        if !is_told {
            others = Others::NoneTold;
        }
        println!("{}{told}", what(&said));
        Ok::<_, OperatorError>(())
    };
    for url in &flags.urls {
        ask(&format!("url={}", in_query(url)), &|said| match said.get("was_stored") {
            Some(Value::Bool(true)) => format!("{done}: {url}"),
            // Other front ends may have had something.
            Some(Value::Null) => format!("{done}: {url} (nothing was stored for it at this front end)"),
            _ => format!("nothing was stored for {url}"),
        })?;
    }
    for prefix in &flags.prefix {
        ask(&format!("prefix={}", in_query(prefix)), &|_| format!("{done}: all URLs that begin with {prefix}"))?;
    }
    for host in &flags.site {
        ask(&format!("site={}", in_query(host)), &|_| format!("{done}: all of {host}"))?;
    }
    let of_host = flags.host.as_ref().map(|host| format!("&in={}", in_query(host))).unwrap_or_default();
    for tag in &flags.tag {
        ask(&format!("tag={}{of_host}", in_query(tag)), &|_| format!("{done}: all responses with the tag {tag}"))?;
    }
    if flags.all {
        ask("all", &|_| format!("{done}: everything"))?;
    }
    Ok(others)
}

/// What an answer says of the servers of the shared tier, or of the peers; and whether one of them has got the purge, if there are any.
fn told(said: &Value) -> (String, bool) {
    let Some((others, reach)) = ["servers", "peers"].iter().find_map(|name| Some((*name, said.get(name)?))) else {
        return (String::new(), true);
    };
    let count = |name: &str| reach.get(name).and_then(Value::as_u64).unwrap_or_default();
    let (told, all) = (count("told"), count("of"));
    let missing = reach.get("missing").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = missing.collect();
    if missing.is_empty() {
        return (format!(" ({told} of {all} {others} told)"), true);
    }
    let here = if told == 0 { "only here: " } else { "" };
    (format!(" ({here}{told} of {all} {others} told; {} when back)", missing.join(", ")), told > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_who_was_told() {
        let of = |servers: &str| told(&serde_json::from_str(&format!("{{\"purged\":\"all\"{servers}}}")).unwrap());
        assert_eq!(of(""), (String::new(), true));
        let all = ",\"servers\":{\"told\":2,\"of\":2,\"missing\":[]}";
        assert_eq!(of(all), (" (2 of 2 servers told)".to_owned(), true));
        let some = ",\"peers\":{\"told\":1,\"of\":2,\"missing\":[\"b:1\"]}";
        assert_eq!(of(some), (" (1 of 2 peers told; b:1 when back)".to_owned(), true));
        let none = ",\"servers\":{\"told\":0,\"of\":2,\"missing\":[\"a:1\",\"b:1\"]}";
        assert_eq!(of(none), (" (only here: 0 of 2 servers told; a:1, b:1 when back)".to_owned(), false));
    }
}
