//! Sorts visitors into classes that an application tells apart: by their device, and by their language.
//!
//! Where a page differs by User-Agent or Accept-Language, browsers send far too many values to have each in a key. The operator may
//! have one of a few classes there instead. Kasoku reads the class from the client's field, and sends the origin one value that
//! stands for the whole class instead of the client's own. That value is in the same class, so the request selects the same variant
//! as it was received and as it is sent on.
//!
//! Some applications let a visitor choose ("PC version") and keep the choice in a session, which a shared page does not know. So
//! Kasoku can also keep the choice in a cookie of its own ([`Device::cookie`]), which outweighs User-Agent. A client that forges
//! the cookie only chooses among the same pages.
//!
//! There are two classes of devices, as in the tests of WordPress (`wp_is_mobile`) and gnuboard5: devices with a small screen, and
//! the rest. A tablet whose User-Agent says Android counts as mobile, as there.

use crate::cookies;
use kasoku_wire::Fields;
use kasoku_wire::field::quality_list::preferences;
use memchr::memmem;

/// The field that tells the device.
pub const DEVICE_FIELD: &str = "user-agent";

/// The field that tells languages.
pub const LANGUAGE_FIELD: &str = "accept-language";

/// The User-Agent that the origin gets for each class of devices: that of most browsers, with our name behind it. Programs tell robots from
/// people by what is no browser's (Fossil gives robots pages without links), and by words such as `compatible;` and `bot`.
const MOBILE: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36 Kasoku";
pub(crate) const DESKTOP: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Kasoku";

/// Parts of the names of programs on small devices, in lower case.
const MOBILE_PARTS: [&[u8]; 9] =
    [b"mobi", b"android", b"iphone", b"ipod", b"windows phone", b"blackberry", b"opera mini", b"kindle", b"silk/"];

/// The cookie that keeps the visitor's own choice.
pub const DEVICE_COOKIE: &str = "kasoku-device";

/// A class of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Devices with a small screen.
    Mobile,
    /// All others.
    Desktop,
}

impl Device {
    const ALL: [Self; 2] = [Self::Mobile, Self::Desktop];

    fn name(self) -> &'static str {
        match self {
            Self::Mobile => "mobile",
            Self::Desktop => "desktop",
        }
    }

    /// The value of Set-Cookie that keeps the choice for as long as a session.
    pub fn cookie(self) -> String {
        format!("{DEVICE_COOKIE}={}; Path=/; SameSite=Lax", self.name())
    }

    /// The User-Agent that stands for the class.
    fn user_agent(self) -> &'static str {
        match self {
            Self::Mobile => MOBILE,
            Self::Desktop => DESKTOP,
        }
    }

    /// The class that the visitor has chosen.
    fn chosen(request: &Fields) -> Option<Self> {
        // Few visitors have chosen, and one search for the name is faster than a look at each cookie.
        if !request.all("cookie").any(|line| memmem::find(line, DEVICE_COOKIE.as_bytes()).is_some()) {
            return None;
        }
        let is_choice = |pair: &&[u8]| cookies::name(pair) == DEVICE_COOKIE.as_bytes();
        let pair = cookies::pairs(request).find(is_choice)?;
        Self::ALL.into_iter().find(|device| cookies::value(pair) == device.name().as_bytes())
    }
}

/// The most bytes of a User-Agent that are read.
const USER_AGENT_BYTES_MAX: usize = 512;

/// The User-Agent that stands for the class of a request.
pub fn device(request: &Fields) -> &'static str {
    device_of(request).user_agent()
}

/// The name of the class of devices of a request.
pub fn device_name(request: &Fields) -> &'static str {
    device_of(request).name()
}

fn device_of(request: &Fields) -> Device {
    Device::chosen(request).unwrap_or_else(|| by_user_agent(request))
}

fn by_user_agent(request: &Fields) -> Device {
    let value = request.first(DEVICE_FIELD).unwrap_or_default();
    let value = value.get(..USER_AGENT_BYTES_MAX).unwrap_or(value);
    let is_mobile = has_beginning(value) && MOBILE_PARTS.iter().any(|part| has(value, part));
    if is_mobile { Device::Mobile } else { Device::Desktop }
}

/// Whether a User-Agent contains a part, in any case.
fn has(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// Whether a User-Agent contains the beginning of one of [`MOBILE_PARTS`]. Each hit of a page that differs by device asks this. One
/// pass follows all beginnings at once, with a bit for each place in each of them: that takes a thirtieth of the instructions of a
/// search for each part.
fn has_beginning(value: &[u8]) -> bool {
    let (mut reached, mut ever_reached) = (0_u64, 0);
    for byte in value {
        let stands_at = STANDS_AT.get(usize::from(*byte)).copied().unwrap_or(0);
        reached = (reached << 1 | FIRST_PLACES) & stands_at;
        ever_reached |= reached;
    }
    ever_reached & LAST_PLACES != 0
}

/// How many bytes of each of [`MOBILE_PARTS`] are its beginning: the length of the shortest part.
const BEGINNING_BYTES: usize = 4;

/// A bit for the first byte of each beginning. The next higher bits are for the bytes that follow.
const FIRST_PLACES: u64 = {
    let (mut places, mut part) = (0, 0);
    while part < MOBILE_PARTS.len() {
        places |= 1 << (part * BEGINNING_BYTES);
        part += 1;
    }
    places
};

/// A bit for the last byte of each beginning.
const LAST_PLACES: u64 = FIRST_PLACES << (BEGINNING_BYTES - 1);

/// For each byte, the places in the beginnings at which it stands, in any case.
#[expect(clippy::indexing_slicing, reason = "a part that is too short, or too many of them, do not compile")]
static STANDS_AT: [u64; 256] = {
    let mut stands_at = [0; 256];
    let mut place = 0;
    while place < MOBILE_PARTS.len() * BEGINNING_BYTES {
        let byte = MOBILE_PARTS[place / BEGINNING_BYTES][place % BEGINNING_BYTES];
        stands_at[byte as usize] |= 1 << place;
        if byte.is_ascii_lowercase() {
            stands_at[byte.to_ascii_uppercase() as usize] |= 1 << place;
        }
        place += 1;
    }
    stands_at
};

/// The language of `languages` (lower case) that a request likes best; the first of them where it likes none. A request for `de-AT`
/// is content with `de` (RFC 4647 section 3.4), and one for `de` with `de-AT`.
pub fn language<'l>(request: &Fields, languages: &'l [String]) -> &'l str {
    let fits = |wanted: &[u8], offered: &str| {
        let starts_with = |long: &[u8], short: &[u8]| {
            long.len() > short.len()
                && long.get(..short.len()).is_some_and(|start| start.eq_ignore_ascii_case(short))
                && long.get(short.len()) == Some(&b'-')
        };
        let offered = offered.as_bytes();
        wanted.eq_ignore_ascii_case(offered) || starts_with(wanted, offered) || starts_with(offered, wanted)
    };
    let mut best: Option<(&str, u16)> = None;
    for wanted in request.all(LANGUAGE_FIELD).flat_map(preferences).filter(|wanted| wanted.quality > 0) {
        let found = languages.iter().find(|offered| fits(wanted.value, offered));
        // Of equal qualities the first counts, as in servers.
        if let Some(found) = found.filter(|_| best.is_none_or(|(_, quality)| wanted.quality > quality)) {
            best = Some((found, wanted.quality));
        }
    }
    best.map(|(found, _)| found).or(languages.first().map(String::as_str)).unwrap_or_default()
}

/// Appends the class of a request, as the origin gets it in the field `name`. `languages`: those of which one is in the key.
pub(crate) fn write(name: &str, request: &Fields, languages: &[String], out: &mut Vec<u8>) {
    let class = if name == DEVICE_FIELD { device(request) } else { language(request, languages) };
    out.extend_from_slice(class.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::safe;
    use crate::vary::variant_key;

    fn of(name: &str, value: &str) -> Fields {
        [(name, value)].into_iter().collect()
    }

    #[test]
    fn what_a_visitor_has_chosen_outweighs_the_device() {
        let of = |cookie: &str, agent: &str| device(&[("Cookie", cookie), ("User-Agent", agent)].into_iter().collect());
        assert_eq!(of("a=1; kasoku-device=desktop", "iPhone"), DESKTOP);
        assert_eq!(of("kasoku-device=mobile", "Firefox"), MOBILE);
        for cookie in ["kasoku-device=x", "xkasoku-device=desktop", "kasoku-device"] {
            assert_eq!(of(cookie, "iPhone"), MOBILE, "{cookie}");
        }
        assert_eq!(Device::Mobile.cookie(), "kasoku-device=mobile; Path=/; SameSite=Lax");
    }

    #[test]
    fn a_device_is_small_or_not() {
        for agent in [
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1",
            "Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36",
            "BLACKBERRY9000/4.6",
            MOBILE,
        ] {
            assert_eq!(device(&of("User-Agent", agent)), MOBILE, "{agent}");
        }
        for agent in ["Mozilla/5.0 (X11; Linux x86_64) Firefox/132.0", "curl/8.5", "", DESKTOP] {
            assert_eq!(device(&of("User-Agent", agent)), DESKTOP, "{agent}");
        }
        assert_eq!(device(&Fields::new()), DESKTOP);
    }

    proptest::proptest! {
        #[test]
        fn a_beginning_is_found_wherever_a_part_stands(
            value in "([ /;a-zA-Z]{0,3}(mo|bi|andr|oid|iph|one|ipod|Windows P|hone|BLACK|berry|opera m|ini|kin|dle|SILK/|ip|o)?){0,6}",
        ) {
            let is_mobile = MOBILE_PARTS.iter().any(|part| has(value.as_bytes(), part));
            let expected = if is_mobile { MOBILE } else { DESKTOP };
            proptest::prop_assert_eq!(device(&of("User-Agent", &value)), expected);
        }
    }

    #[test]
    fn the_language_that_is_liked_best_is_the_class() {
        let offered = ["ko", "en", "zh-cn"].map(str::to_owned);
        for (wanted, class) in [
            ("en", "en"),
            ("de, en;q=0.5, ko;q=0.4", "en"),
            ("en-GB,en;q=0.9", "en"),
            ("zh", "zh-cn"),
            ("zh-CN;q=0.3, ko;q=0.2", "zh-cn"),
            ("de", "ko"),
            ("en;q=0", "ko"),
            ("", "ko"),
        ] {
            assert_eq!(language(&of("Accept-Language", wanted), &offered), class, "{wanted}");
        }
        for own in &offered {
            assert_eq!(language(&of("Accept-Language", own), &offered), own, "what is sent on reads as itself");
        }
    }

    #[test]
    fn who_says_nothing_selects_the_variant_of_the_class() {
        let mut policy = safe();
        policy.grant.ttl_seconds = 1;
        policy.grant.key_device = true;
        policy.grant.key_languages = ["ko", "en"].map(str::to_owned).to_vec();
        let nominated = policy.grant.key();
        assert_eq!(nominated, ["accept-language", "user-agent"]);
        let key = |fields: &[(&str, &str)]| {
            let mut out = Vec::new();
            variant_key(&nominated, &fields.iter().copied().collect(), &policy, &mut out);
            out
        };
        assert_eq!(key(&[]), key(&[("User-Agent", "curl/8"), ("Accept-Language", "ko-KR")]));
        assert_ne!(key(&[]), key(&[("User-Agent", "iPhone")]));
        assert_ne!(key(&[]), key(&[("Accept-Language", "en")]));
        assert_eq!(key(&[("User-Agent", "iPhone")]), key(&[("User-Agent", MOBILE), ("Accept-Language", "ko")]));
    }
}
