//! `kasoku purge`: drops what is stored, or makes it stale.

use crate::operator::{Operator, OperatorError, OperatorFlags, in_query};
use clap::Args;
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

pub(crate) fn purge(flags: &PurgeFlags) -> ExitCode {
    match purge_each(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kasoku purge: {error}");
            ExitCode::FAILURE
        }
    }
}

fn purge_each(flags: &PurgeFlags) -> Result<(), OperatorError> {
    let operator = Operator::new(&flags.operator)?;
    let soft = if flags.soft { "&soft" } else { "" };
    let done = if flags.soft { "made stale" } else { "purged" };
    for url in &flags.urls {
        let said = operator.ask_for("POST", &format!("/purge?url={}{soft}", in_query(url)))?;
        let said = serde_json::from_str::<serde_json::Value>(&said).unwrap_or_default();
        match said.get("was_stored") {
            Some(serde_json::Value::Bool(true)) => println!("{done}: {url}"),
            // Other front ends may have had something.
            Some(serde_json::Value::Null) => println!("{done}: {url} (nothing was stored for it at this front end)"),
            _ => println!("nothing was stored for {url}"),
        }
    }
    for prefix in &flags.prefix {
        operator.ask_for("POST", &format!("/purge?prefix={}{soft}", in_query(prefix)))?;
        println!("{done}: all URLs that begin with {prefix}");
    }
    for host in &flags.site {
        operator.ask_for("POST", &format!("/purge?site={}{soft}", in_query(host)))?;
        println!("{done}: all of {host}");
    }
    let of_host = flags.host.as_ref().map(|host| format!("&in={}", in_query(host))).unwrap_or_default();
    for tag in &flags.tag {
        operator.ask_for("POST", &format!("/purge?tag={}{of_host}{soft}", in_query(tag)))?;
        println!("{done}: all responses with the tag {tag}");
    }
    if flags.all {
        operator.ask_for("POST", &format!("/purge?all{soft}"))?;
        println!("{done}: everything");
    }
    Ok(())
}
