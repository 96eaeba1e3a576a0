//! What the operator has chosen to see in `kasoku top`: order, filter and position; and the keys that change them.

use super::snapshot::{ResultKind, TopRow, TopSnapshot};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The longest filter, in characters.
const FILTER_CHARACTERS_MAX: usize = 60;

/// How many URLs Page Down and Page Up move.
const PAGE: usize = 10;

/// What the list of URLs is sorted by, the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Requests,
    Misses,
    Time,
    Bytes,
}

impl Order {
    fn of(self, url: &TopRow) -> f64 {
        match self {
            Self::Requests => url.requests,
            Self::Misses => url.misses,
            Self::Time => url.origin_max.unwrap_or(0.0),
            Self::Bytes => url.body_bytes,
        }
    }
}

/// What the keys do at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Watching,
    /// The operator is writing a filter.
    Filtering,
    Help,
}

/// What a key leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyResult {
    GoOn,
    End,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct View {
    pub(super) order: Order,
    pub(super) filter: String,
    pub(super) mode: Mode,
    /// How many URLs are above the first that is shown.
    pub(super) skipped: usize,
    /// The address of the program that is watched.
    pub(super) program: String,
}

impl Default for View {
    fn default() -> Self {
        Self { order: Order::Requests, filter: String::new(), mode: Mode::Watching, skipped: 0, program: String::new() }
    }
}

impl View {
    /// Handles a key.
    pub(super) fn press(&mut self, key: KeyEvent) -> KeyResult {
        if key.kind == KeyEventKind::Release {
            return KeyResult::GoOn;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { KeyResult::End } else { KeyResult::GoOn };
        }
        match self.mode {
            Mode::Watching => return self.watch(key.code),
            Mode::Filtering => self.write_filter(key.code),
            Mode::Help if matches!(key.code, KeyCode::Char('q' | 'Q')) => return KeyResult::End,
            Mode::Help => self.mode = Mode::Watching,
        }
        KeyResult::GoOn
    }

    fn watch(&mut self, key: KeyCode) -> KeyResult {
        match key {
            KeyCode::Char('q' | 'Q') => return KeyResult::End,
            KeyCode::Char('?' | 'h') => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filtering,
            KeyCode::Char('r') => self.sort(Order::Requests),
            KeyCode::Char('m') => self.sort(Order::Misses),
            KeyCode::Char('t') => self.sort(Order::Time),
            KeyCode::Char('b') => self.sort(Order::Bytes),
            KeyCode::Down | KeyCode::Char('j') => self.skipped = self.skipped.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.skipped = self.skipped.saturating_sub(1),
            KeyCode::PageDown => self.skipped = self.skipped.saturating_add(PAGE),
            KeyCode::PageUp => self.skipped = self.skipped.saturating_sub(PAGE),
            KeyCode::Home => self.skipped = 0,
            KeyCode::Esc => self.filter.clear(),
            _ => {}
        }
        KeyResult::GoOn
    }

    fn sort(&mut self, order: Order) {
        self.order = order;
        self.skipped = 0;
    }

    fn write_filter(&mut self, key: KeyCode) {
        self.skipped = 0;
        match key {
            KeyCode::Enter => self.mode = Mode::Watching,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Watching;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c @ ' '..='~') if self.filter.len() < FILTER_CHARACTERS_MAX => self.filter.push(c),
            _ => {}
        }
    }

    /// The URLs that have the filter in their address, kind or reason, in the chosen order. Limits `skipped` to their number.
    pub(super) fn urls<'m>(&mut self, moment: &'m TopSnapshot) -> Vec<&'m TopRow> {
        let wanted = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let is_wanted = |url: &&TopRow| {
            has(&url.url) || url.last.is_some_and(|kind: ResultKind| has(kind.name())) || has(&url.reason)
        };
        let mut urls: Vec<&TopRow> = moment.urls.iter().filter(is_wanted).collect();
        urls.sort_by(|a, b| self.order.of(b).total_cmp(&self.order.of(a)).then_with(|| a.url.cmp(&b.url)));
        self.skipped = self.skipped.min(urls.len().saturating_sub(1));
        urls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(view: &mut View, keys: &str) -> KeyResult {
        keys.chars().fold(KeyResult::GoOn, |_, key| view.press(KeyEvent::from(KeyCode::Char(key))))
    }

    fn urls(view: &mut View) -> String {
        let url = |url: &str, requests, misses, body_bytes, time, last| TopRow {
            url: format!("http://a.example/{url}"),
            requests,
            misses,
            body_bytes,
            origin_max: time,
            last: Some(last),
            reason: if last == ResultKind::Pass { "set-cookie".to_owned() } else { String::new() },
            ..TopRow::default()
        };
        let moment = TopSnapshot {
            urls: vec![
                url("Cart", 9.0, 0.0, 5.0, Some(0.1), ResultKind::Pass),
                url("page", 5.0, 5.0, 900.0, None, ResultKind::Miss),
                url("slow", 5.0, 1.0, 0.0, Some(2.0), ResultKind::Miss),
            ],
            ..TopSnapshot::default()
        };
        let shown = view.urls(&moment);
        shown.iter().map(|url| url.url.rsplit('/').next().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_sort() {
        let mut view = View::default();
        assert_eq!(urls(&mut view), "Cart page slow");
        for (key, order) in
            [("m", "page slow Cart"), ("t", "slow Cart page"), ("b", "page Cart slow"), ("r", "Cart page slow")]
        {
            assert_eq!(press(&mut view, key), KeyResult::GoOn);
            assert_eq!(urls(&mut view), order, "{key}");
        }
    }

    #[test]
    fn a_filter_is_of_the_url_the_kind_or_the_reason() {
        let mut view = View::default();
        press(&mut view, "/carx");
        view.press(KeyEvent::from(KeyCode::Backspace));
        assert_eq!(urls(&mut view), "Cart", "whatever its case");
        assert_eq!(press(&mut view, "q"), KeyResult::GoOn, "a letter like others");
        view.press(KeyEvent::from(KeyCode::Esc));
        assert_eq!((view.mode, urls(&mut view).as_str()), (Mode::Watching, "Cart page slow"));
        press(&mut view, "/miss");
        view.press(KeyEvent::from(KeyCode::Enter));
        assert_eq!(urls(&mut view), "page slow");
        view.press(KeyEvent::from(KeyCode::Esc));
        press(&mut view, "/set-cookie");
        assert_eq!(urls(&mut view), "Cart");
        press(&mut view, &"x\u{1b}\u{e9}".repeat(100));
        assert_eq!(view.filter.len(), FILTER_CHARACTERS_MAX, "printable ASCII alone");
        assert!(view.filter.bytes().all(|byte| byte.is_ascii_graphic()));
    }

    #[test]
    fn no_key_goes_beyond_the_list() {
        let mut view = View::default();
        (0..9).for_each(|_| _ = view.press(KeyEvent::from(KeyCode::PageDown)));
        urls(&mut view);
        assert_eq!(view.skipped, 2);
        press(&mut view, "kkkk");
        assert_eq!(view.skipped, 0);
    }

    #[test]
    fn q_and_ctrl_c_end_it_and_any_key_ends_the_help() {
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let mut view = View::default();
        assert_eq!((press(&mut view, "q"), view.press(ctrl_c)), (KeyResult::End, KeyResult::End));
        press(&mut view, "?");
        assert_eq!(view.mode, Mode::Help);
        assert_eq!((press(&mut view, "x"), view.mode), (KeyResult::GoOn, Mode::Watching));
        press(&mut view, "/");
        assert_eq!(view.press(ctrl_c), KeyResult::End, "also while a filter is written");
    }
}
