//! The policies of known applications: what their cookies mean, which of their pages may be shared, and where visitors log in.
//!
//! Each policy is a file in `applications/`, written like a `[[site]]`, with its rules as `[[rule]]`. The reader of configurations
//! reads it. Its settings are laid under those of the site that names it, and its rules come after the site's own. This crate's
//! tests check the files, since an operator could not fix them.

use crate::document;
use crate::issue::Issue;
use crate::line_numbers::LineNumbers;
use crate::raw::{RawRoute, RawRule};
use crate::reader;
use crate::suggest;
use crate::table::SettingScope;

/// The names of the applications, in the order of [`TEXTS`].
pub(crate) const NAMES: [&str; 9] =
    ["drupal", "gnuboard5", "mediawiki", "movable-type", "phpbb", "rhymix", "woocommerce", "wordpress", "xe"];

/// The files of the applications.
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

/// The names of the applications, each with its policy as TOML, commented for people.
pub fn applications() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.into_iter().zip(TEXTS)
}

/// The application that an unknown name probably means.
pub fn meant_application(name: &str) -> Option<&'static str> {
    suggest::meant(name, &NAMES)
}

/// The policy of an application.
pub(crate) struct Application {
    /// The settings of the whole site.
    pub(crate) route: RawRoute,
    /// The rules for some paths.
    pub(crate) rules: Vec<RawRule>,
    /// The lines of its file, to show where a setting stands.
    pub(crate) lines: LineNumbers,
}

impl Application {
    /// The application of that number in [`NAMES`]; `None`: there is none.
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
