//! The colours and symbols of `kasoku top`, and what replaces them on terminals without them.
//!
//! It uses the sixteen colours that the terminal's theme defines, so that they are legible on light and on dark backgrounds. With
//! `NO_COLOR` or `TERM=dumb` there are none, and letters replace what only a colour would tell. In a locale other than UTF-8, all is
//! ASCII.

use super::snapshot::ResultKind;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;

/// Sparklines in ASCII.
const ASCII_BARS: bar::Set = bar::Set {
    full: "#",
    seven_eighths: "*",
    three_quarters: "+",
    five_eighths: "=",
    half: "-",
    three_eighths: ":",
    one_quarter: ".",
    one_eighth: "_",
    empty: " ",
};

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) has_colours: bool,
    pub(super) is_ascii: bool,
}

impl Theme {
    /// The theme that the environment asks for.
    pub(super) fn of_environment() -> Self {
        let value = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            has_colours: value("NO_COLOR").is_none() && value("TERM").is_none_or(|terminal| terminal != "dumb"),
            is_ascii: !is_utf8(["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(value).as_deref()),
        }
    }

    fn colour(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn kind(self, kind: ResultKind) -> Style {
        self.colour(match kind {
            ResultKind::Hit => Color::Green,
            ResultKind::Revalidated => Color::Cyan,
            ResultKind::Miss => Color::Yellow,
            ResultKind::Pass => Color::Magenta,
            ResultKind::Error => Color::Red,
        })
    }

    /// The style of a class of statuses; only classes of errors have a colour.
    pub(super) fn class(self, class: &str) -> Style {
        match class.as_bytes().first() {
            Some(b'4') => self.colour(Color::Yellow),
            Some(b'5') => self.trouble(),
            _ => Style::new(),
        }
    }

    /// The style of a bar that is filled by this ratio, from 0 to 1.
    pub(super) fn fullness(self, ratio: f64) -> Style {
        self.colour(match ratio {
            ..0.75 => Color::Blue,
            ..0.95 => Color::Yellow,
            _ => Color::Red,
        })
    }

    pub(super) fn sparkline(self) -> Style {
        self.colour(Color::Blue)
    }

    pub(super) fn trouble(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Names of columns and numbers are dimmer than the numbers themselves.
    pub(super) fn label(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn bars(self) -> bar::Set<'static> {
        if self.is_ascii { ASCII_BARS } else { bar::Set { full: bar::SEVEN_EIGHTHS, ..bar::NINE_LEVELS } }
    }

    /// The symbols of the filled and of the empty part of a bar.
    pub(super) fn gauge(self) -> (&'static str, &'static str) {
        if self.is_ascii { ("#", ".") } else { ("\u{2501}", "\u{2500}") }
    }

    /// The symbol of a kind in the bar of kinds. It is lower than its line, so that the bars of adjacent lines do not touch.
    pub(super) fn part(self, kind: ResultKind) -> &'static str {
        match kind {
            _ if self.has_colours && !self.is_ascii => bar::SEVEN_EIGHTHS,
            ResultKind::Hit => "h",
            ResultKind::Revalidated => "r",
            ResultKind::Miss => "m",
            ResultKind::Pass => "p",
            ResultKind::Error => "E",
        }
    }

    /// The mark where a text was cut.
    pub(super) fn cut(self) -> &'static str {
        if self.is_ascii { "~" } else { "\u{2026}" }
    }

    /// The mark beside the name of the column that the list is sorted by.
    pub(super) fn sorted(self) -> &'static str {
        if self.is_ascii { "v" } else { "\u{25be}" }
    }
}

fn is_utf8(locale: Option<&str>) -> bool {
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_locale_of_utf_8_gets_more_than_ascii() {
        let locales = [Some("en_US.UTF-8"), Some("C.utf8"), Some("C"), Some("ko_KR.EUC-KR"), None];
        assert_eq!(locales.map(is_utf8), [true, true, false, false, false]);
    }

    #[test]
    fn without_colours_no_style_has_one() {
        let look = Theme { has_colours: false, is_ascii: false };
        for style in ResultKind::ALL.map(|kind| look.kind(kind)).into_iter().chain([look.trouble(), look.fullness(1.0)])
        {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        let letters: std::collections::HashSet<_> = ResultKind::ALL.map(|kind| look.part(kind)).into_iter().collect();
        assert_eq!(letters.len(), ResultKind::ALL.len(), "kinds are told apart by letters");
    }
}
