//! Known programs: what their cookies mean, which of their pages are everybody's, and where a visitor becomes somebody.
//!
//! Each is a file in `applications/`, in the words of a `[[site]]`, with its rules as `[[rule]]`. It is read by the reader of configurations, laid
//! under the site that names it, and its rules stand behind the site's own. Whether a file is sound is a question for this crate's
//! tests: what is wrong in one is no fault of whoever names it.

use crate::document;
use crate::issue::Issue;
use crate::line_numbers::LineNumbers;
use crate::raw::{RawRoute, RawRule};
use crate::reader;
use crate::suggest;
use crate::table::SettingScope;

/// Their names, in the order of [`TEXTS`].
pub(crate) const NAMES: [&str; 9] =
    ["drupal", "gnuboard5", "mediawiki", "movable-type", "phpbb", "rhymix", "woocommerce", "wordpress", "xe"];

/// Their files.
const TEXTS: [&str; 9] = [
    include_str!("../applications/drupal.toml"),
    include_str!("../applications/gnuboard5.toml"),
    include_str!("../applications/mediawiki.toml"),
    include_str!("../applications/movable-type.toml"),
    include_str!("../applications/phpbb.toml"),
    include_str!("../applications/rhymix.toml"),
    include_str!("../applications/woocommerce.toml"),
    include_str!("../applications/wordpress.toml"),
    include_str!("../applications/xe.toml"),
];

/// The applications' names, each with what is known of it, as TOML with a comment for each line: for people.
pub fn applications() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.into_iter().zip(TEXTS)
}

/// The application that was meant by a name that none has.
pub fn meant_application(name: &str) -> Option<&'static str> {
    suggest::meant(name, &NAMES)
}

/// What is known of a program.
pub(crate) struct Application {
    /// What holds for the whole site.
    pub(crate) route: RawRoute,
    /// What holds for some paths.
    pub(crate) rules: Vec<RawRule>,
    /// Where all that stands in its file.
    pub(crate) lines: LineNumbers,
}

impl Application {
    /// The one of that number; `None` where there is none.
    pub(crate) fn read(number: usize) -> Option<Self> {
        Self::read_with(number, &mut Vec::new())
    }

    fn read_with(number: usize, issues: &mut Vec<Issue>) -> Option<Self> {
        let (name, text) = (*NAMES.get(number)?, *TEXTS.get(number)?);
        let lines = LineNumbers::new(&format!("{name}.toml"), text);
        let (route, rules) = document::parse_as(text, issues, |document, issues| {
            reader::read(document, issues, |keys| {
                (RawRoute::read(keys), keys.tables("rule", SettingScope::Rule, RawRule::read))
            })
        })?;
        Some(Self { route, rules, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_text;

    #[test]
    fn each_is_sound_by_itself_and_as_a_site() {
        for (number, name) in NAMES.iter().enumerate() {
            let mut issues = Vec::new();
            assert!(Application::read_with(number, &mut issues).is_some());
            assert!(issues.is_empty(), "{name}: {issues:#?}");
            let (options, issues) =
                check_text(&format!("[[site]]\norigin = \"http://127.0.0.1:1\"\napplication = \"{name}\"\n"));
            assert!(options.is_some() && issues.is_empty(), "{name}: {issues:#?}");
        }
    }
}
