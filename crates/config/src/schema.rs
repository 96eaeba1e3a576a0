//! Writes the table of settings as a JSON Schema (draft 7, with only the words of draft 4), by which editors complete keys and
//! underline mistakes.
//!
//! The schema says what a value looks like: types, words, bounds of numbers, which keys may stand where and which are required.
//! `kasoku check` checks the rest: the bounds of sizes and durations that are texts, what a pattern or an address means, and what
//! must fit together. The schema refuses nothing that the reader takes (tests walk over all examples of the table), but may be less
//! strict.
//!
//! packaging/kasoku.schema.json is its output.

#[cfg(test)]
mod tests;

use crate::bounds;
use crate::reader::LIST_LEN_MAX;
use crate::table::{self, Default, Setting, SettingKind, SettingScope};
use serde_json::{Map, Value, json};

/// A size: bytes, or with a unit. Case does not matter there.
const SIZE_PATTERN: &str = r"^\s*[0-9]+\s*([KkMmGgTt][Ii]?[Bb]|[Bb])?\s*$";

/// A duration: numbers, each with its unit.
const DURATION_PATTERN: &str = r"^\s*([0-9]+\s*(ms|s|m|h|d)\s*)+$";

/// The schema, as text.
pub fn schema_json() -> String {
    let mut top = SchemaTable::of(SettingScope::Top);
    let mut site = SchemaTable::of(SettingScope::Site);
    site.properties.insert(
        "rule".to_owned(),
        json!({
            "description": "Each `[[site.rule]]` belongs to the `[[site]]` above it. The first rule whose path matches decides.",
            "type": "array",
            "maxItems": LIST_LEN_MAX,
            "items": { "$ref": "#/definitions/rule" },
        }),
    );
    top.properties.insert(
        "site".to_owned(),
        json!({
            "description": "Each `[[site]]` serves some hosts. The first site whose hosts match serves the request.",
            "type": "array",
            "maxItems": LIST_LEN_MAX,
            "items": { "$ref": "#/definitions/site" },
        }),
    );
    let tables = [
        ("site", site.schema()),
        ("rule", SchemaTable::of(SettingScope::Rule).schema()),
        ("listener", SchemaTable::of(SettingScope::Listen).schema()),
        ("origin-table", SchemaTable::of(SettingScope::Origin).schema()),
    ];
    let shared = table::settings().filter(|setting| is_shared(setting));
    let shared = shared.map(|setting| (setting.path.to_owned(), described(setting)));
    let definitions: Map<String, Value> =
        shared.chain(tables.map(|(name, schema)| (name.to_owned(), schema))).collect();
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Kasoku's configuration",
        "description": "Made from the table of settings; `kasoku check` finds more mistakes than a schema can.",
        "definitions": definitions,
    });
    if let (Value::Object(schema), Value::Object(top)) = (&mut schema, top.schema()) {
        schema.extend(top);
    }
    format!("{schema:#}\n")
}

/// The keys of one table of the file, and of the tables within it.
struct SchemaTable {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
}

impl SchemaTable {
    fn of(scope: SettingScope) -> Self {
        let mut table = Self { properties: Map::new(), required: Vec::new() };
        for setting in table::settings().filter(|setting| setting.scopes.contains(&scope)) {
            match setting.path.split_once('.') {
                None => {
                    table.properties.insert(setting.path.to_owned(), property(setting));
                    table.required.extend(setting.is_required().then_some(setting.path));
                }
                Some((group, name)) => {
                    let group = table.properties.entry(group).or_insert_with(
                        || json!({ "type": "object", "properties": {}, "additionalProperties": false }),
                    );
                    if let Some(Value::Object(keys)) = group.get_mut("properties") {
                        keys.insert(name.to_owned(), property(setting));
                    }
                }
            }
        }
        table
    }

    fn schema(self) -> Value {
        let Self { properties, required } = self;
        // Draft 4, which Taplo knows, takes no empty list of required keys.
        match required.is_empty() {
            true => json!({ "type": "object", "properties": properties, "additionalProperties": false }),
            false => {
                json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
            }
        }
    }
}

/// Whether a setting stands in the schema once, for all places where it may stand in a file.
fn is_shared(setting: &Setting) -> bool {
    setting.scopes.len() > 1
}

/// The schema of the value of a key.
fn property(setting: &Setting) -> Value {
    if is_shared(setting) {
        return json!({ "$ref": format!("#/definitions/{}", setting.path) });
    }
    described(setting)
}

/// The schema of a setting's values, with its description.
fn described(setting: &Setting) -> Value {
    let mut property = value(setting.kind, setting.path);
    let Value::Object(fields) = &mut property else { return property };
    let mut words = vec![setting.summary.to_owned()];
    words.extend((!setting.details.is_empty()).then(|| setting.details.to_owned()));
    words.extend(bounds::range(setting.kind).map(|range| format!("Takes {range}.")));
    match setting.default {
        Default::Value(written) => fields.extend(of_toml(written).map(|value| ("default".to_owned(), value))),
        Default::Unset(said) => words.push(format!("Default: {said}.")),
        Default::Required => {}
    }
    fields.extend(of_toml(setting.example).map(|value| ("examples".to_owned(), json!([value]))));
    fields.insert("description".to_owned(), json!(words.join(" ")));
    property
}

/// The schema of the values of that kind.
fn value(kind: SettingKind, path: &str) -> Value {
    let one_or_several = |one: Value| {
        let several = json!({ "type": "array", "items": one.clone(), "maxItems": LIST_LEN_MAX });
        json!({ "anyOf": [one, several] })
    };
    match kind {
        SettingKind::Text(_) => json!({ "type": "string" }),
        SettingKind::Texts(_) => one_or_several(json!({ "type": "string" })),
        SettingKind::TextsOrTables(_) => {
            let table = if path == "listen" { "#/definitions/listener" } else { "#/definitions/origin-table" };
            one_or_several(json!({ "anyOf": [{ "type": "string" }, { "$ref": table }] }))
        }
        SettingKind::OneOf(words) => json!({ "enum": words }),
        SettingKind::Flag => json!({ "type": "boolean" }),
        SettingKind::FlagOr(word) => json!({ "enum": [true, false, word] }),
        SettingKind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        SettingKind::IntegerOrAuto { min, max } => json!({
            "anyOf": [
                { "type": "integer", "minimum": min, "maximum": max },
                { "type": "string", "pattern": "^(auto|[0-9]+)$" },
            ]
        }),
        SettingKind::Size { min, max } => json!({
            "anyOf": [
                { "type": "integer", "minimum": min, "maximum": max },
                { "type": "string", "pattern": SIZE_PATTERN },
            ]
        }),
        SettingKind::Duration { .. } | SettingKind::Seconds { .. } => duration(),
        SettingKind::Map(..) => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        SettingKind::Statuses { .. } => json!({ "type": "object", "additionalProperties": duration() }),
    }
}

fn duration() -> Value {
    json!({ "type": "string", "pattern": DURATION_PATTERN })
}

/// A value of the table as JSON.
fn of_toml(value: &str) -> Option<Value> {
    let document: toml::Table = format!("it = {value}").parse().ok()?;
    serde_json::to_value(document.get("it")?).ok()
}
