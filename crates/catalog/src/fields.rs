//! A row as a flat list of fields: what `show` prints and `diff` compares.
//!
//! Invariant: every part of a row that says anything is in the list once, under a path that does not
//! depend on where in a list it stands, as long as it has a name there.

use serde_json::Value;

use crate::Entry;

/// What names an item of a list, the first that it has; its first day tells it from others of that name.
const NAMES: [&str; 4] = ["name", "tier", "title", "label"];

impl Entry {
    /// Path and text of every field that says anything, in the order of the row.
    pub fn fields(&self) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        // A row is made of texts, integers, booleans, lists and maps with text keys: that cannot fail.
        let row = serde_json::to_value(self).unwrap_or_default();
        flatten(&row, String::new(), &mut fields);
        fields
    }
}

fn flatten(value: &Value, path: String, fields: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Null => {}
        Value::Object(object) => {
            for (name, value) in object {
                flatten(value, below(name), fields);
            }
        }
        Value::Array(items) if items.iter().all(Value::is_string) => {
            for (at, item) in items.iter().enumerate() {
                fields.push((below(&(at + 1).to_string()), text(item)));
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                flatten(item, below(&item_name(item).unwrap_or_else(|| (at + 1).to_string())), fields);
            }
        }
        plain => fields.push((path, text(plain))),
    }
}

fn item_name(item: &Value) -> Option<String> {
    let name = NAMES.iter().find_map(|name| item.get(name)).map(text)?;
    match item.get("from").filter(|from| item.is_object() && !from.is_null() && item.get("label").is_none()) {
        Some(from) => Some(format!("{name} from {}", text(from))),
        None => Some(name),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
