//! What the application's URLs are, and what each of its bodies says of itself.
//!
//! A body begins with a claim: which page it is, whom the application believes to serve (by the session, and by whatever else came
//! with the request), what is in the cart, and which session it names. All bytes that follow are made from that claim, so a reader who
//! makes them again sees each byte that belongs to another body.

use kasoku_oracle::random::{Random, hash};
use std::fmt::Write;

/// The three sites, which differ in how an anonymous session is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Site {
    /// By a probe. Sessions are expired where nothing is in them.
    Probed,
    /// By a cookie that the application sets.
    Told,
    /// Not before it has logged out.
    Plain,
}

impl Site {
    pub(crate) const ALL: [Self; 3] = [Self::Probed, Self::Told, Self::Plain];

    /// Its host name.
    pub(crate) fn host(self) -> &'static str {
        match self {
            Self::Probed => "probed.test",
            Self::Told => "told.test",
            Self::Plain => "plain.test",
        }
    }

    /// The site of that name.
    pub(crate) fn of(host: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|site| site.host() == host)
    }
}

/// What is behind a URL; each of them opens a session, but for [`Kind::File`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The same for all who are anonymous: says `no-store`, as PHP does where a session is open.
    Board,
    /// The same with `public, must-revalidate`, as XE says it.
    Listed,
    /// The same with a tag: what confirms it sets a cookie, or says `private`, each now and then.
    Tagged,
    /// Open to all, or to those who are logged in: it changes.
    Club,
    /// For a class of devices and a language.
    Device,
    /// Has the session's id in a form, whoever asks.
    Form,
    /// Has the session's id in its links where no cookie came.
    Linked,
    /// Says `private`.
    Private,
    /// A page under the name of a style sheet.
    Deceptive,
    /// A style sheet, without a session.
    File,
    /// Sends those away who are not logged in.
    Account,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Board,
        Self::Listed,
        Self::Tagged,
        Self::Club,
        Self::Device,
        Self::Form,
        Self::Linked,
        Self::Private,
        Self::Deceptive,
        Self::File,
        Self::Account,
    ];

    /// The first part of its path.
    fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::Listed => "listed",
            Self::Tagged => "tagged",
            Self::Club => "club",
            Self::Device => "device",
            Self::Form => "form",
            Self::Linked => "linked",
            Self::Private => "private",
            Self::Deceptive => "notes",
            Self::File => "file",
            Self::Account => "account",
        }
    }

    /// How many there are.
    fn count(self) -> u64 {
        match self {
            Self::Board => 24,
            Self::Listed => 8,
            Self::Tagged | Self::Club | Self::Device | Self::File => 4,
            Self::Form | Self::Linked | Self::Private | Self::Deceptive | Self::Account => 2,
        }
    }

    /// How often one of a hundred reads is of that kind.
    fn weight(self) -> u64 {
        match self {
            Self::Board => 50,
            Self::Listed => 20,
            Self::Tagged => 8,
            Self::Club | Self::Device => 6,
            Self::File => 5,
            Self::Form | Self::Linked | Self::Account | Self::Private | Self::Deceptive => 1,
        }
    }

    /// Whether no answer may serve a second request.
    pub(crate) fn is_for_one(self) -> bool {
        matches!(self, Self::Form | Self::Private | Self::Deceptive | Self::Account)
    }
}

/// One of the pages that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Page {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
}

impl Page {
    /// Some page.
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

    /// Its path.
    pub(crate) fn path(self) -> String {
        let end = if matches!(self.kind, Kind::File | Kind::Deceptive) { ".css" } else { "" };
        format!("/{}/{}{end}", self.kind.name(), self.number)
    }

    /// Whether the application fails at it now and then, with a page for whoever asks.
    pub(crate) fn is_failing(self) -> bool {
        self.kind == Kind::Board && self.number < 2
    }

    /// The page of that path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let (name, number) = path.strip_prefix('/')?.split_once('/')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name)?;
        let number = number.trim_end_matches(".css").parse().ok()?;
        Some(Self { kind, number })
    }
}

/// Whom a page is for, as far as the session says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Who is logged in.
    pub(crate) user: Option<usize>,
    /// Whether a password was typed that opens a post, which the application does not take for being somebody.
    pub(crate) has_opened: bool,
    /// Things in the cart; each has the number of the visitor who put it there.
    pub(crate) cart: Vec<String>,
}

impl View {
    /// Nobody is logged in, and nothing is in the cart: what the application calls anonymous.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.user.is_none() && self.cart.is_empty()
    }

    /// What those see of whom nothing is known.
    pub(crate) fn is_nobodys(&self) -> bool {
        self.is_anonymous() && !self.has_opened
    }
}

/// What a body says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) host: String,
    pub(crate) path: String,
    /// Of a page that changes.
    pub(crate) version: u64,
    pub(crate) view: View,
    /// The visitor whom something else than the session named.
    pub(crate) by: Option<usize>,
    /// The session whose id it shows.
    pub(crate) session: Option<String>,
    /// What a form has to send back.
    pub(crate) token: Option<String>,
    /// The class of devices and the language it is made for.
    pub(crate) variant: Option<String>,
    /// Each answer of the application has its own.
    pub(crate) serial: u64,
}

/// What stands for nothing.
const NOTHING: &str = "-";

impl Claim {
    /// Whether nothing in it is about one visitor.
    pub(crate) fn is_nobodys(&self) -> bool {
        self.view.is_nobodys() && self.by.is_none() && self.session.is_none() && self.token.is_none()
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

    /// Reads a body; an error where any byte of it does not belong to what its first line says.
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
