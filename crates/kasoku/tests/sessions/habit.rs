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
    UnlistedCookie,
    /// Accepts no cookies: the session id is in the URLs.
    Cookieless,
    /// The application knows the visitor by `Authorization`.
    Basic,
}

/// The session with which a visitor arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialSession {
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
    pub(crate) fn of(number: usize) -> (Self, InitialSession) {
        match number / 3 % 20 {
            0..=6 => (Self::Reader, InitialSession::Nothing),
            7 => (Self::Reader, InitialSession::Empty),
            8 => (Self::Reader, InitialSession::Forgotten),
            9 | 10 => (Self::Member, InitialSession::Nothing),
            11 => (Self::Member, InitialSession::Empty),
            12 => (Self::Member, InitialSession::LoggedIn),
            13 | 14 => (Self::Shopper, InitialSession::Nothing),
            15 => (Self::SignedOn, InitialSession::Nothing),
            16 => (Self::SignedOn, InitialSession::Empty),
            17 => (Self::UnlistedCookie, InitialSession::Nothing),
            18 => (Self::Cookieless, InitialSession::Nothing),
            _ => (Self::Basic, InitialSession::Nothing),
        }
    }
}
