//! Keeps secrets out of reports.
//!
//! A report quotes the line it complains about, and reports end up in logs and tickets. Two kinds of text are masked before a line
//! is shown: the user information of a URL (`http://user:password@host`), and the value of a key whose name says that it is a
//! secret. Kasoku has only one such setting (`guard-cookie`), but people paste lines of other programs, and the report quotes
//! unknown keys. Hiding too much is fine here.
//!
//! Each masked byte becomes one `*`, so that spans into the text stay true.

/// Parts of a key's name that make its value a secret.
const SECRET_NAMES: [&str; 7] = ["password", "passwd", "secret", "token", "credential", "api-key", "guard-cookie"];

/// The text with its secrets starred out; as long in bytes as before.
pub(crate) fn mask(text: &str) -> String {
    text.split_inclusive('\n').map(|line| mask_assignment(&mask_user_information(line))).collect()
}

/// `scheme://…@` and `…:…@`: what stands before the `@` is hidden, word by word.
fn mask_user_information(line: &str) -> String {
    let between_words = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
    line.split_inclusive(between_words).map(mask_word).collect()
}

fn mask_word(word: &str) -> String {
    let Some((user, host)) = word.rsplit_once('@') else { return word.to_owned() };
    match user.split_once("://") {
        Some((scheme, user)) => format!("{scheme}://{}@{host}", stars(user)),
        None if user.contains(':') => format!("{}@{host}", stars(user)),
        None => word.to_owned(),
    }
}

/// `…password… = value`: the rest of the line is hidden.
fn mask_assignment(line: &str) -> String {
    let names = line.to_ascii_lowercase().replace('_', "-");
    let Some(name) = SECRET_NAMES.iter().filter_map(|secret| names.find(secret)).min() else { return line.to_owned() };
    let equals = line.get(name..).and_then(|rest| rest.find('=')).map(|offset| name + offset + 1);
    match equals.and_then(|end| line.split_at_checked(end)) {
        Some((key, value)) => format!("{key}{}", stars(value)),
        None => line.to_owned(),
    }
}

/// A `*` for each byte; white space stays, so that lines and columns do.
fn stars(text: &str) -> String {
    let star = |c: char| if c.is_whitespace() { c.to_string() } else { "*".repeat(c.len_utf8()) };
    text.chars().map(star).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credentials_of_a_url_are_hidden() {
        assert_eq!(mask("origin = \"http://tom:pa@ss@app:80\"\n"), "origin = \"http://*********@app:80\"\n");
        assert_eq!(mask("[\"http://x\", 'http://u@y']"), "[\"http://x\", 'http://*@y']");
        assert_eq!(mask("origin = \"tom:secr/t@app\""), "origin = \"**********@app\"");
    }

    #[test]
    fn what_is_assigned_to_a_secret_key_is_hidden() {
        assert_eq!(mask("redis_password = \"hé\"\nsize = 1"), "redis_password = *****\nsize = 1");
        assert_eq!(mask("redis = { Password = 'x' }"), "redis = { Password = *** *");
    }

    #[test]
    fn what_is_no_secret_stays() {
        let text = "origin = \"http://127.0.0.1:8000\" # mail me@example.org\n";
        assert_eq!(mask(text), text);
    }
}
