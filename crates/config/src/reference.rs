//! Writes docs/configuration.md: the table of settings as a page.

use crate::bounds;
use crate::table::{Default, SECTIONS, Section, Setting, SettingKind, SettingScope};
use std::fmt::Write;

const INTRO: &str = "\
<!-- Made from the table of settings: cargo run -p kasoku-config --example reference > docs/configuration.md -->

# Configuration

Kasoku reads one TOML file: `kasoku serve --config kasoku.toml`. Every key has a default, or says what holds without it;
only a site's `origin` must be given. The few settings that are also flags are marked; a flag wins over the file.
`kasoku check kasoku.toml` says what is wrong, with line, column and the fix, and exits with 1.

The whole configuration of a small site:

```toml
";

const AFTER_SAMPLE: &str = "```

- A **size** is a number of bytes, or a text with a unit: `\"64KiB\"` (1024), `\"10MB\"` (1000).
- A **duration** is a text with a unit: `\"500ms\"`, `\"5s\"`, `\"10m\"`, `\"1h30m\"`, `\"7d\"`.
- Where a list is expected, one text alone is a list of one.
- A key that may stand at the top, in a `[[site]]` and in a `[[site.rule]]` holds for everything below it; the innermost wins.
";

/// The configuration of a small site, as the reference page shows it.
pub const SAMPLE: &str = r#"listen  = ["127.0.0.1:8080"]            # also "unix:/run/kasoku.sock", "fd:3"
admin   = "unix:/run/kasoku/admin.sock" # also "127.0.0.1:8081", with admin-token-file
profile = "safe"                        # or "rfc"

[memory]
size = "1GiB"

[[site]]                                # first whose hosts match; no hosts: any
hosts  = ["example.org", "*.example.org"]
origin = "http://127.0.0.1:8000"        # or a list

[[site.rule]]                           # first that matches
path = "/admin/*"
pass = true

[[site.rule]]
path = "/static/*"
origin = "http://127.0.0.1:8001"
"#;

/// The reference page in Markdown.
pub fn reference_markdown() -> String {
    let mut page = format!("{INTRO}{SAMPLE}{AFTER_SAMPLE}");
    for section in SECTIONS {
        write_section(section, &mut page);
    }
    page
}

fn write_section(section: &Section, page: &mut String) {
    let _ = write!(page, "\n## {}\n", section.title);
    if !section.intro.is_empty() {
        let _ = write!(page, "\n{}\n", section.intro);
    }
    for setting in section.settings {
        let _ = write!(page, "\n### `{}`\n\n{}", title(setting), setting.summary);
        if !setting.details.is_empty() {
            let _ = write!(page, " {}", setting.details);
        }
        let _ = write!(page, "\n\n{}\n\n```toml\n{}\n```\n", facts(setting), example(setting));
    }
}

/// The key in full, or below "top, site or rule" when there are several.
fn title(setting: &Setting) -> String {
    match setting.scopes {
        [scope] => format!("{}{}", scope.prefix(), setting.path),
        _ => setting.path.to_owned(),
    }
}

fn facts(setting: &Setting) -> String {
    let mut facts = vec![format!("- Takes {}", takes(setting.kind))];
    facts.push(match setting.default {
        Default::Value(value) => format!("- Default: `{value}`"),
        Default::Unset(words) => format!("- Default: {words}"),
        Default::Required => "- Required".to_owned(),
    });
    if let [_, _, ..] = setting.scopes {
        let places: Vec<_> = setting.scopes.iter().map(|scope| words(*scope)).collect();
        facts.push(format!("- May stand {}", places.join(", ")));
    }
    facts.extend(setting.flag.map(|flag| format!("- Flag: `{flag}`")));
    facts.extend(
        setting.is_read_at_start.then(|| "- A change takes effect at the next start, not at a reload".to_owned()),
    );
    facts.join("\n")
}

fn takes(kind: SettingKind) -> String {
    let words = match kind {
        SettingKind::OneOf(allowed) => {
            allowed.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(" or ")
        }
        _ => bounds::words(kind),
    };
    bounds::range(kind).map_or_else(|| words.clone(), |range| format!("{words}: {range}"))
}

const fn words(scope: SettingScope) -> &'static str {
    match scope {
        SettingScope::Top => "at the top of the file",
        SettingScope::Site => "in a `[[site]]`",
        SettingScope::Rule => "in a `[[site.rule]]`",
        SettingScope::Listen => "in a listener",
        SettingScope::Origin => "in an origin",
    }
}

/// The example as it would stand in a file, below the header of its table.
fn example(setting: &Setting) -> String {
    let line = format!("{} = {}", setting.name(), setting.example);
    let group = setting.path.rsplit_once('.').map(|(group, _)| group);
    match (setting.scopes.first(), group) {
        (Some(SettingScope::Listen), _) => match setting.name() {
            "address" => format!("listen = [{{ {line} }}]"),
            _ => format!("listen = [{{ address = \"127.0.0.1:8080\", {line} }}]"),
        },
        (Some(SettingScope::Origin), _) => match setting.name() {
            "url" => format!("[[site]]\norigin = [{{ {line} }}]"),
            _ => format!("[[site]]\norigin = [{{ url = \"http://127.0.0.1:8001\", {line} }}]"),
        },
        (Some(SettingScope::Site), None) => format!("[[site]]\n{line}"),
        (Some(SettingScope::Rule), None) => format!("[[site.rule]]\n{line}"),
        (_, Some(group)) => format!("[{group}]\n{line}"),
        (_, None) => line,
    }
}
