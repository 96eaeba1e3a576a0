//! The URLs of the session tests' application, and the claim with which each of its bodies begins.
//!
//! A claim states which page the body is, for which visitor the application made it (by the session, and by anything else of the request),
//! what is in the cart, and which session it names. All bytes that follow are derived from the claim, so the checker derives them again and
//! notices each byte of another body.

use kasoku_oracle::random::{Random, hash};
use std::fmt::Write;

/// The three sites, which differ in how Kasoku finds out that a session is anonymous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Site {
    /// By a probe. Kasoku expires the cookies of anonymous sessions.
    Probed,
    /// By a cookie that the application sets.
    Told,
    /// Only by a log-out: no other session is taken for anonymous.
    Plain,
}

impl Site {
    pub(crate) const ALL: [Self; 3] = [Self::Probed, Self::Told, Self::Plain];

    /// The site's host name.
    pub(crate) fn host(self) -> &'static str {
        match self {
            Self::Probed => "probed.test",
            Self::Told => "told.test",
            Self::Plain => "plain.test",
        }
    }

    /// The site with that host name.
    pub(crate) fn of(host: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|site| site.host() == host)
    }
}

/// The kinds of pages. Each opens a session, except [`Kind::File`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The same page for all anonymous visitors, with `no-store`, as PHP sends while a session is open.
    Board,
    /// As [`Kind::Board`], but with `public, must-revalidate`, as XE sends.
    Listed,
    /// As [`Kind::Board`], but with an entity tag. A 304 sometimes sets a cookie, and sometimes says `private`.
    Tagged,
    /// Open to all visitors, or only to those who are logged in; this changes during a run.
    SometimesMembersOnly,
    /// Differs by class of devices and language.
    Device,
    /// Has the session's id in a form, for every visitor.
    Form,
    /// Has the session's id in its links, if the request had no session cookie.
    Linked,
    /// Says `private`.
    Private,
    /// A page whose path ends like that of a style sheet.
    Deceptive,
    /// A style sheet, without a session.
    File,
    /// Redirects visitors who are not logged in to the log-in form.
    Account,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Board,
        Self::Listed,
        Self::Tagged,
        Self::SometimesMembersOnly,
        Self::Device,
        Self::Form,
        Self::Linked,
        Self::Private,
        Self::Deceptive,
        Self::File,
        Self::Account,
    ];

    /// The first segment of the path.
    fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::Listed => "listed",
            Self::Tagged => "tagged",
            Self::SometimesMembersOnly => "club",
            Self::Device => "device",
            Self::Form => "form",
            Self::Linked => "linked",
            Self::Private => "private",
            Self::Deceptive => "notes",
            Self::File => "file",
            Self::Account => "account",
        }
    }

    /// The number of pages of this kind.
    fn count(self) -> u64 {
        match self {
            Self::Board => 24,
            Self::Listed => 8,
            Self::Tagged | Self::SometimesMembersOnly | Self::Device | Self::File => 4,
            Self::Form | Self::Linked | Self::Private | Self::Deceptive | Self::Account => 2,
        }
    }

    /// The share of reads for this kind, in percent.
    fn weight(self) -> u64 {
        match self {
            Self::Board => 50,
            Self::Listed => 20,
            Self::Tagged => 8,
            Self::SometimesMembersOnly | Self::Device => 6,
            Self::File => 5,
            Self::Form | Self::Linked | Self::Account | Self::Private | Self::Deceptive => 1,
        }
    }

    /// Whether the cache must never answer a second request with the same response.
    pub(crate) fn is_for_one(self) -> bool {
        matches!(self, Self::Form | Self::Private | Self::Deceptive | Self::Account)
    }
}

/// A page that visitors read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Page {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
}

impl Page {
    /// A random page, by the weights of the kinds.
    pub(crate) fn any(random: &mut Random) -> Self {
        let mut left = random.below(Kind::ALL.iter().map(|kind| kind.weight()).sum());
        let is_it = |kind: &&Kind| match left.checked_sub(kind.weight()) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        };
        let kind = *Kind::ALL.iter().find(is_it).unwrap();
        Self { kind, number: random.below(kind.count()) }
    }

    /// The page's path.
    pub(crate) fn path(self) -> String {
        let end = if matches!(self.kind, Kind::File | Kind::Deceptive) { ".css" } else { "" };
        format!("/{}/{}{end}", self.kind.name(), self.number)
    }

    /// Whether the application sometimes answers with 503, and with a page for that visitor.
    pub(crate) fn is_failing(self) -> bool {
        self.kind == Kind::Board && self.number < 2
    }

    /// The page with that path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let (name, number) = path.strip_prefix('/')?.split_once('/')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name)?;
        let number = number.trim_end_matches(".css").parse().ok()?;
        Some(Self { kind, number })
    }
}

/// The state of a session as a page shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// The visitor who is logged in.
    pub(crate) user: Option<usize>,
    /// Whether the visitor has entered the password of a post. The application still takes such a visitor for a guest.
    pub(crate) has_opened: bool,
    /// The things in the cart. The name of each contains the number of the visitor who put it there.
    pub(crate) cart: Vec<String>,
}

impl View {
    /// Whether no visitor is logged in and the cart is empty, which the application calls anonymous.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.user.is_none() && self.cart.is_empty()
    }

    /// Whether this is the view of an unknown visitor.
    pub(crate) fn is_shareable(&self) -> bool {
        self.is_anonymous() && !self.has_opened
    }
}

/// The statements of a body about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) host: String,
    pub(crate) path: String,
    /// The version of a club; 0 for other pages.
    pub(crate) version: u64,
    pub(crate) view: View,
    /// The visitor whom another part of the request than the session named.
    pub(crate) by: Option<usize>,
    /// The id of a session that the body shows.
    pub(crate) session: Option<String>,
    /// The token that a form must send back.
    pub(crate) token: Option<String>,
    /// The class of devices and the language for which the page was made.
    pub(crate) variant: Option<String>,
    /// The number of the answer, unique for each answer of the application.
    pub(crate) serial: u64,
}

/// Stands for an empty field in the claim's line.
const NOTHING: &str = "-";

impl Claim {
    /// Whether the body contains nothing about one visitor.
    pub(crate) fn is_shareable(&self) -> bool {
        self.view.is_shareable() && self.by.is_none() && self.session.is_none() && self.token.is_none()
    }

    fn first_line(&self) -> String {
        let or_nothing = |text: Option<&String>| text.cloned().unwrap_or_else(|| NOTHING.to_owned());
        let number = |visitor: Option<usize>| or_nothing(visitor.map(|visitor| visitor.to_string()).as_ref());
        format!(
            "{} {} {} {} {} {} {} {} {} {} {}\n",
            self.host,
            self.path,
            self.version,
            number(self.view.user),
            or_nothing((!self.view.cart.is_empty()).then(|| self.view.cart.join(",")).as_ref()),
            if self.view.has_opened { "opened" } else { NOTHING },
            number(self.by),
            or_nothing(self.session.as_ref()),
            or_nothing(self.token.as_ref()),
            or_nothing(self.variant.as_ref()),
            self.serial,
        )
    }

    fn of_first_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [host, path, version, user, cart, opened, by, session, token, variant, serial] = words[..] else {
            return None;
        };
        let text = |word: &str| (word != NOTHING).then(|| word.to_owned());
        let visitor = |word: &str| text(word).map(|word| word.parse::<usize>()).transpose().ok();
        let cart = text(cart).map(|cart| cart.split(',').map(str::to_owned).collect());
        Some(Self {
            host: host.to_owned(),
            path: path.to_owned(),
            version: version.parse().ok()?,
            view: View { user: visitor(user)?, has_opened: opened == "opened", cart: cart.unwrap_or_default() },
            by: visitor(by)?,
            session: text(session),
            token: text(token),
            variant: text(variant),
            serial: serial.parse().ok()?,
        })
    }

    /// The whole body.
    pub(crate) fn body(&self) -> String {
        let mut body = self.first_line();
        let numbers: Vec<u64> = body.bytes().map(u64::from).collect();
        let seed = hash(&numbers);
        for line in 0..4 + seed % 24 {
            let _ = writeln!(body, "{line:02} {:016x}{:016x}", hash(&[seed, line]), hash(&[seed, line, 1]));
        }
        body
    }

    /// Reads the claim of a body; an error if any byte of the body does not follow from its first line.
    pub(crate) fn read(body: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(body).map_err(|_| "mixed: the body is no text".to_owned())?;
        let first = text.lines().next().unwrap_or_default();
        let claim = Self::of_first_line(first).ok_or_else(|| format!("mixed: the body begins with {first:?}"))?;
        let whole = claim.body();
        if whole == text {
            return Ok(claim);
        }
        let at = whole.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
        let lengths = (text.len(), whole.len());
        Err(format!("mixed: byte {at} of {first:?} belongs to something else (bytes there and due: {lengths:?})"))
    }
}
