//! The role and the history of a server: what `INFO replication` says.

use super::commands::unexpected;
use crate::failure::Failure;
use crate::history::History;
use redis::Value;

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replication {
    pub(super) is_primary: bool,
    pub(super) history: History,
}

/// Reads the reply.
pub(super) fn read(reply: Value) -> Result<Replication, Failure> {
    let Value::BulkString(text) = reply else { return Err(unexpected(reply)) };
    parse(&text).ok_or_else(|| Failure::Protocol("INFO replication lacks the role or the history".into()))
}

fn parse(text: &[u8]) -> Option<Replication> {
    let text = std::str::from_utf8(text).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let is_primary = match field("role")? {
        "master" => true,
        "slave" => false,
        _ => return None,
    };
    Some(Replication { is_primary, history: History::read(field("master_replid")?)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_and_history_are_read_and_nothing_is_guessed() {
        let id = "8371b4fb1155b71f4a04d3e1bc3e18c4a990aeeb";
        let info = format!(
            "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:{id}\r\nmaster_replid2:{}\r\n",
            "0".repeat(40)
        );
        let history = History(0x8371_b4fb_1155_b71f_4a04_d3e1_bc3e_18c4);
        assert_eq!(parse(info.as_bytes()), Some(Replication { is_primary: true, history }));
        let replica = info.replace("master\r", "slave\r");
        assert_eq!(parse(replica.as_bytes()), Some(Replication { is_primary: false, history }));
        for broken in [
            "",
            "role:master\r\n",
            "role:sentinel\r\nmaster_replid:8371b4fb1155b71f4a04d3e1bc3e18c4\r\n",
            "role:master\r\nmaster_replid:\r\n",
        ] {
            assert_eq!(parse(broken.as_bytes()), None, "{broken:?}");
        }
        assert_eq!(parse(b"\xff"), None);
    }
}
