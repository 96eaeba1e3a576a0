//! What a program finds out about who asks: language, device, robot, country, words of a search, address.

/// The traits of a request, by the fields that programs look at.
pub(crate) struct Traits {
    language: String,
    device: &'static str,
    robot: &'static str,
    country: String,
    pub(crate) words: String,
    pub(crate) address: String,
    /// Whether the address has never asked before.
    pub(crate) first: bool,
}

impl Traits {
    pub(crate) fn of<'a>(field: impl Fn(&str) -> Option<&'a str>, first: bool) -> Self {
        let agent = field("user-agent").unwrap_or_default();
        let yes = |is: bool| if is { "yes" } else { "no" };
        let forwarded = field("x-forwarded-for").and_then(|addresses| addresses.split(',').next());
        Self {
            language: field("accept-language").unwrap_or_default().chars().take(2).collect(),
            device: if agent.contains("Mobile") { "phone" } else { "desktop" },
            robot: yes(agent.to_lowercase().contains("bot")),
            country: field("cf-ipcountry").unwrap_or_default().to_owned(),
            words: field("referer").and_then(words).unwrap_or_default(),
            address: field("x-real-ip").or(forwarded).unwrap_or_default().trim().to_owned(),
            first,
        }
    }

    /// Which of these alternatives (`de=Hallo|*=Hello`) fits.
    pub(crate) fn choose<'a>(&self, class: &str, alternatives: &'a str) -> &'a str {
        let value = self.value(class);
        let pairs = || alternatives.split('|').filter_map(|pair| pair.split_once('='));
        let own = pairs().find(|(name, _)| *name == value);
        own.or_else(|| pairs().find(|(name, _)| *name == "*")).map_or("", |(_, text)| text)
    }

    pub(crate) fn value(&self, class: &str) -> &str {
        match class {
            "language" => &self.language,
            "device" => self.device,
            "robot" => self.robot,
            "country" => &self.country,
            "words" => &self.words,
            "address" => &self.address,
            "searched" if self.words.is_empty() => "no",
            "first" if !self.first => "no",
            "searched" | "first" => "yes",
            other => panic!("no such class: {other}"),
        }
    }
}

/// The words of a search, from the URL of its results.
fn words(referrer: &str) -> Option<String> {
    let words = referrer.split_once("?q=").or_else(|| referrer.split_once("&q="))?.1.split('&').next()?;
    Some(words.replace('+', " "))
}
