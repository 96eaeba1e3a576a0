//! What kinds of visitors there are, and how many of each.

/// By what a visitor is known, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Reads. Gets a session by accident at most.
    Reader,
    /// Logs in with a form, and out.
    Member,
    /// Puts things into a cart, and logs in now and then.
    Shopper,
    /// Is logged in by single sign-on, with GET alone.
    SignedOn,
    /// Is known by a cookie that no configuration names.
    Ticket,
    /// Takes no cookies: the session travels in URLs.
    Cookieless,
    /// Is known by Authorization.
    Basic,
}

/// What they had before there was a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// A session that holds nothing.
    Empty,
    /// One that is logged in.
    LoggedIn,
    /// A cookie of a session that is known no more.
    Forgotten,
}

impl Habit {
    /// Of each twenty visitors.
    pub(crate) fn of(number: usize) -> (Self, Before) {
        match number / 3 % 20 {
            0..=6 => (Self::Reader, Before::Nothing),
            7 => (Self::Reader, Before::Empty),
            8 => (Self::Reader, Before::Forgotten),
            9 | 10 => (Self::Member, Before::Nothing),
            11 => (Self::Member, Before::Empty),
            12 => (Self::Member, Before::LoggedIn),
            13 | 14 => (Self::Shopper, Before::Nothing),
            15 => (Self::SignedOn, Before::Nothing),
            16 => (Self::SignedOn, Before::Empty),
            17 => (Self::Ticket, Before::Nothing),
            18 => (Self::Cookieless, Before::Nothing),
            _ => (Self::Basic, Before::Nothing),
        }
    }
}
