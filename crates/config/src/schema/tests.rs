//! Compares the schema with what the reader of configurations takes and refuses.

use super::schema_json;
use crate::drift::{file_with, rows};
use crate::table::{Default, SettingKind};
use crate::{Issue, SAMPLE, check_text};
use jsonschema::Validator;
use std::fs;
use std::path::{Path, PathBuf};

fn validator() -> Validator {
    jsonschema::validator_for(&serde_json::from_str(&schema_json()).unwrap()).unwrap()
}

fn document(text: &str) -> serde_json::Value {
    serde_json::to_value(text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

#[track_caller]
fn takes(validator: &Validator, text: &str) {
    let said: Vec<String> =
        validator.iter_errors(&document(text)).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(said.is_empty(), "{said:#?}\n{text}");
}

fn at_the_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The files in a folder with that extension.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(at_the_root(folder)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

#[test]
fn packaging_kasoku_schema_json_is_the_table() {
    let written = fs::read_to_string(at_the_root("packaging/kasoku.schema.json")).unwrap_or_default();
    assert!(
        written == schema_json(),
        "packaging/kasoku.schema.json has drifted from the table of settings; write it anew:\n\
         cargo run -p kasoku-config --example schema > packaging/kasoku.schema.json"
    );
}

#[test]
fn editors_that_know_older_drafts_understand_it() {
    let schema = serde_json::from_str(&schema_json()).unwrap();
    assert!(jsonschema::draft4::meta::is_valid(&schema));
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    let validator = jsonschema::draft4::new(&schema).unwrap();
    takes(&validator, SAMPLE);
    assert!(!validator.is_valid(&document("[[rule]]\npath = \"/\"\n")));
}

#[test]
fn each_example_and_each_default_fits_wherever_it_may_stand() {
    let validator = validator();
    takes(&validator, SAMPLE);
    for (setting, scope) in rows() {
        takes(&validator, &file_with(setting, scope, setting.example));
        if let Default::Value(value) = setting.default {
            takes(&validator, &file_with(setting, scope, value));
        }
    }
}

#[test]
fn a_value_of_another_type_fits_nowhere() {
    let validator = validator();
    for (setting, scope) in rows() {
        let wrong = if matches!(setting.kind, SettingKind::Flag | SettingKind::FlagOr(_)) { "\"yes\"" } else { "true" };
        let text = file_with(setting, scope, wrong);
        assert!(!validator.is_valid(&document(&text)), "{text}");
    }
}

#[test]
fn a_number_outside_its_bounds_does_not_fit() {
    let validator = validator();
    let mut numbers = 0;
    for (setting, scope) in rows() {
        let (SettingKind::Integer { max, .. } | SettingKind::IntegerOrAuto { max, .. } | SettingKind::Size { max, .. }) =
            setting.kind
        else {
            continue;
        };
        // TOML itself has no larger numbers.
        let Ok(above) = i64::try_from(max + 1) else { continue };
        numbers += 1;
        let text = file_with(setting, scope, &above.to_string());
        assert!(!validator.is_valid(&document(&text)), "{text}");
    }
    assert!(numbers > 30, "{numbers}");
}

#[test]
fn all_that_the_reader_takes_fits() {
    let validator = validator();
    let mut fitting = 0;
    let mut see = |text: &str| {
        if check_text(text).0.is_some() {
            takes(&validator, text);
            fitting += 1;
        }
    };
    for mistake in files("crates/config/tests/mistakes", "toml") {
        see(&fs::read_to_string(mistake).unwrap());
    }
    for page in files("docs", "md").into_iter().chain([at_the_root("README.md")]) {
        let page = fs::read_to_string(page).unwrap();
        for block in page.split("```toml\n").skip(1) {
            see(block.split("```").next().unwrap());
        }
    }
    assert!(fitting > 40, "{fitting}");
}

#[test]
fn what_a_schema_can_see_does_not_fit() {
    let validator = validator();
    let site = "[[site]]\norigin = \"http://a\"\n";
    for text in [
        "[[rule]]\npath = \"/\"\n".to_owned(),
        format!("listn = \"127.0.0.1:1\"\n{site}"),
        format!("{site}application = \"wordpres\"\n"),
        format!("{site}hit-headers = [\"X-Cache-Hit\"]\n"),
        format!("[memory]\nsize = \"1g\"\n{site}"),
        format!("{site}ttl = \"1\"\n"),
        format!("workers = \"many\"\n{site}"),
        "[[site]]\nhosts = \"a\"\n".to_owned(),
        format!("{site}[[site.rule]]\npass = true\n"),
        "[[site]]\norigin = [{ weight = 2 }]\n".to_owned(),
        "[site]\norigin = \"http://a\"\n".to_owned(),
    ] {
        let errors = check_text(&text).1.iter().filter(|issue| Issue::is_error(issue)).count();
        assert!(errors > 0, "the reader takes it: {text}");
        assert!(!validator.is_valid(&document(&text)), "{text}");
    }
}
