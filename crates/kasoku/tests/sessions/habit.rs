//! The kinds of visitors, and the number of each.

/// What a visitor does, and how the application knows the visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Only reads, and gets a session by accident at most.
    Reader,
    /// Logs in with a form, and logs out.
    Member,
    /// Puts things into a cart, and logs in now and then.
    Shopper,
    /// Logs in by single sign-on, only with GET.
    SignedOn,
    /// The application knows the visitor by a cookie that no configuration names.
    Ticket,
    /// Accepts no cookies: the session id is in the URLs.
    Cookieless,
    /// The application knows the visitor by `Authorization`.
    Basic,
}

/// The session with which a visitor arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// A session without content.
    Empty,
    /// A session that is logged in.
    LoggedIn,
    /// The cookie of a session that the application no longer knows.
    Forgotten,
}

impl Habit {
    /// The habit and the first session of the visitor with that number, by a pattern of twenty on each site.
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
