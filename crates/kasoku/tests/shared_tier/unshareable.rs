//! Tests that the servers have nothing that must not be shared: no page that the origin, a rule or the request keeps for one visitor.

use crate::fleet::{Fleet, Setup, WRITTEN_MAX, name_of};
use crate::origin::PRIVATE;
use crate::page::uri;
use crate::support::PATIENCE;

/// The requests by which a visitor is known.
const KNOWN: [&str; 3] = [
    "Cookie: session=secret\r\n",
    "Authorization: Basic YW5uYTpzZWNyZXQ=\r\n",
    "Cookie: a=1\r\nAuthorization: Bearer x\r\n",
];

/// Bytes that stand only in what is private.
const SECRETS: [&str; 4] = ["session=secret", "YW5uYTpzZWNyZXQ=", "Bearer x", "anna"];

/// Asks all front ends for pages of all kinds, in all ways, and looks at all that the servers have afterwards.
fn nothing_private_is_written(setup: Setup) {
    let fleet = Fleet::start(setup);
    let mut private = Vec::new();
    let mut shared = Vec::new();
    for round in 0..3 {
        for (kind, _) in PRIVATE {
            let target = format!("/{kind}/300/{round}?group=a");
            // RFC 9111 lets a page be shared without the fields that are private.
            let is_shared = setup.profile == "rfc" && kind == "private-field";
            if is_shared { shared.push(target) } else { private.push(target) }
        }
        for (number, fields) in KNOWN.iter().enumerate() {
            let target = format!("/page/300/known-{round}-{number}");
            // RFC 9111 says nothing of cookies of requests.
            let is_shared = setup.profile == "rfc" && !fields.contains("Authorization");
            if is_shared { shared.push(target) } else { private.push(target) }
        }
        shared.push(format!("/page/300/open-{round}"));
    }
    let fields = |target: &str| match target.rsplit_once("/known-") {
        Some((_, number)) => KNOWN[number.as_bytes()[2] as usize - usize::from(b'0')],
        None => "",
    };
    for turn in 0..3 {
        for target in private.iter().chain(&shared) {
            for front_end in &fleet.front_ends {
                let answer = front_end.ask("GET", target, fields(target));
                assert_eq!(answer.version(target, ""), 1, "{turn}");
                let is_private = private.contains(target);
                assert!(!(is_private && answer.is_shared()), "{target}: {}", answer.cache_status());
            }
        }
    }
    // What is written after its answer is written in the order of the answers.
    fleet.settle(PATIENCE);
    assert!(shared.iter().any(|target| fleet.holder(&name_of(&uri(target)), WRITTEN_MAX).is_some()));
    for server in &fleet.servers {
        let names = server.store.names();
        for target in &private {
            assert!(!names.contains(&name_of(&uri(target))), "{target} is in a server");
        }
        for name in names {
            // An item may be replaced while it is read; then it is one of those that follow.
            let Some(item) = server.store.get(&name) else { continue };
            let text = String::from_utf8_lossy(&item);
            for secret in SECRETS {
                assert!(!text.contains(secret), "{secret} is in {name}: {text}");
            }
            let Some((_, key)) = text.split_once("\r\nKey: ") else { continue };
            let key = key.split("\r\n").next().unwrap();
            let is_open = key.contains("/fresh-") || shared.iter().any(|target| uri(target) == key);
            assert!(is_open || text.contains("Kind: purge"), "{name} is {key}");
            assert!(!text.to_lowercase().contains("\nset-cookie:"), "{text}");
        }
    }
}

#[test]
fn no_server_has_what_must_not_be_shared() {
    nothing_private_is_written(Setup::PATIENT);
}

#[test]
fn no_server_has_what_must_not_be_shared_in_profile_rfc() {
    nothing_private_is_written(Setup { profile: "rfc", has_secret: true, ..Setup::PATIENT });
}
