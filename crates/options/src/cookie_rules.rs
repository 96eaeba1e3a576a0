//! How cookies are treated where a lifetime is granted.

use crate::anonymous_cookie::AnonymousCookie;

/// How cookies that are not in the key are treated, where a lifetime is granted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CookieRules {
    /// Cookies in no list. None: [`OtherCookies::Pass`] where a lifetime is granted; elsewhere the origin gets them.
    pub others: Option<OtherCookies>,
    /// Cookies that change no page, and never reach the origin of an answer that may be shared: globs over names.
    pub noise: Vec<String>,
    /// Cookies that make a request pass, whatever the other lists say of them: globs over names.
    pub pass: Vec<String>,
    /// Cookies that Kasoku adds to each anonymous request.
    pub anonymous: Vec<AnonymousCookie>,
}

impl Default for CookieRules {
    fn default() -> Self {
        Self { others: None, noise: NOISE_COOKIES.map(str::to_owned).to_vec(), pass: Vec::new(), anonymous: Vec::new() }
    }
}

/// See [`CookieRules::others`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OtherCookies {
    /// The request passes with all its cookies.
    Pass,
    /// They are removed, and the answer is shared.
    Remove,
}

/// Cookies that analytics, advertisements and networks in front of sites set, and that applications do not read: Google Analytics,
/// Tag Manager and advertising, Meta, Matomo, Hotjar, Clarity, Bing, HubSpot, Yandex, LinkedIn, Pinterest, TikTok, Cloudflare. And
/// Kasoku's own, which is in the key as a class where the configuration says so.
pub const NOISE_COOKIES: [&str; 33] = [
    "_ga",
    "_ga_*",
    "_gid",
    "_gat",
    "_gat_*",
    "_gac_*",
    "_gcl_*",
    "_dc_gtm_*",
    "__utm*",
    "__gads",
    "__gpi",
    "__eoi",
    "_fbp",
    "_fbc",
    "_pk_*",
    "_hj*",
    "_clck",
    "_clsk",
    "_uetsid",
    "_uetvid",
    "__hstc",
    "__hssc",
    "__hssrc",
    "hubspotutk",
    "_ym_*",
    "_li_*",
    "_pin_unauth",
    "_tt_*",
    "_ttp",
    "__cf_bm",
    "_cfuvid",
    "__cflb",
    kasoku_semantics::classes::DEVICE_COOKIE,
];
