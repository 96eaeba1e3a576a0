//! Draws the addresses that anonymous requests tell in the place of a client's ([`kasoku_semantics::stand_in`]).

use crate::sites::ActiveRoute;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;

impl ActiveRoute {
    /// A stand-in from the route's range. No client can predict it: the hasher has a key that the operating system made up.
    pub(crate) fn draw_stand_in(&self) -> IpAddr {
        let random = || u128::from(RandomState::new().build_hasher().finish());
        self.stand_ins.address(random() << 64 | random())
    }
}
