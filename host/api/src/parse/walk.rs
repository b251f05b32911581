//! Walks a tree against the schema: every error in one go, and the document as JSON when there is none.
//! Not a judge of meaning: rules over several fields are checked later, on the typed spec.

use serde_json::{Map, Value as Json};

use super::hint;
use super::node::{Key, Node, Position, Value, escape, number};
use super::schema::DOCUMENT;
use super::shape::{Field, Need, Shape};
use crate::problem::FieldError;

/// Checks a whole document.
pub(super) fn document(root: &Node) -> Result<Json, Vec<FieldError>> {
    let mut walk = Walk { errors: Vec::new(), pointer: String::new() };
    let json = walk.value(root, DOCUMENT);
    if walk.errors.is_empty() {
        return Ok(json.unwrap_or(Json::Null));
    }
    walk.errors.sort_by_key(|error| (error.line, error.column));
    Err(walk.errors)
}

struct Walk {
    errors: Vec<FieldError>,
    pointer: String,
}

impl Walk {
    /// The value as JSON; `None` when it is left out or wrong, and what is wrong is in `errors`.
    fn value(&mut self, node: &Node, shape: Shape) -> Option<Json> {
        match (shape, &node.value) {
            (Shape::Ignored, _) => None,
            (Shape::Object(fields), Value::Object(entries)) => {
                Some(self.object(node, entries, fields))
            }
            (Shape::Map { dropped }, Value::Object(entries)) => Some(self.map(entries, dropped)),
            (Shape::List(item), Value::List(items)) => Some(self.list(items, *item)),
            (Shape::Text(check) | Shape::Scalar(check), Value::Text(text)) => {
                self.checked(node, text, check(text))
            }
            (Shape::Scalar(check), Value::Integer(value)) => {
                let text = value.to_string();
                self.checked(node, &text, check(&text))
            }
            (Shape::Scalar(check), Value::Float(value)) => {
                let text = value.to_string();
                self.checked(node, &text, check(&text))
            }
            (Shape::Words(words) | Shape::Choice { words, .. }, Value::Text(text)) => {
                self.word(node, text, words, shape)
            }
            (Shape::Integer { min, max }, Value::Integer(value)) => {
                if (min..=max).contains(value) {
                    number(*value)
                } else {
                    self.wrong(node, shape)
                }
            }
            (Shape::Flag, Value::Flag(flag)) => Some(Json::Bool(*flag)),
            (Shape::Choice { fields, .. }, Value::Object(entries)) => {
                self.choice(node, entries, fields)
            }
            _ => self.wrong(node, shape),
        }
    }

    fn object(&mut self, node: &Node, entries: &[(Key, Node)], fields: &[Field]) -> Json {
        let mut object = Map::new();
        self.repeated(entries);
        for (key, child) in entries {
            let Some(field) = fields.iter().find(|field| field.name == key.name) else {
                self.unknown(key, fields);
                continue;
            };
            if matches!(child.value, Value::Null) {
                continue;
            }
            if let Some(json) = self.below(&key.name, |walk| walk.value(child, field.shape)) {
                object.insert(key.name.clone(), json);
            }
        }
        for field in fields.iter().filter(|field| field.need == Need::Must) {
            let written = entries
                .iter()
                .any(|(key, child)| key.name == field.name && !matches!(child.value, Value::Null));
            if !written {
                self.error(node.at, format!("the field `{}` is missing", field.name), None);
            }
        }
        Json::Object(object)
    }

    /// Exactly one of the fields.
    fn choice(&mut self, node: &Node, entries: &[(Key, Node)], fields: &[Field]) -> Option<Json> {
        let json = self.object(node, entries, fields);
        let known = json.as_object().map_or(0, Map::len);
        let written =
            entries.iter().filter(|(_, child)| !matches!(child.value, Value::Null)).count();
        if known == 1 {
            return Some(json);
        }
        // One that was written and is wrong has been reported; none or several have not.
        if written != 1 {
            let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
            let message = format!("expected exactly one of {}, saw {written}", names.join(", "));
            self.error(node.at, message, None);
        }
        None
    }

    fn map(&mut self, entries: &[(Key, Node)], dropped: &str) -> Json {
        let mut object = Map::new();
        self.repeated(entries);
        for (key, child) in entries {
            if !dropped.is_empty() && key.name.starts_with(dropped) {
                continue;
            }
            let json = match &child.value {
                Value::Null => Some(Json::Null),
                Value::Text(text) => Some(Json::String(text.clone())),
                _ => self.below(&key.name, |walk| walk.wrong(child, Shape::Text(|_| Ok(())))),
            };
            if let Some(json) = json {
                object.insert(key.name.clone(), json);
            }
        }
        Json::Object(object)
    }

    fn list(&mut self, items: &[Node], shape: Shape) -> Json {
        let values = items.iter().enumerate().filter_map(|(index, item)| {
            self.below(&index.to_string(), |walk| walk.value(item, shape))
        });
        Json::Array(values.collect())
    }

    fn checked(
        &mut self,
        node: &Node,
        text: &str,
        outcome: Result<(), pliant_types::text::InvalidText>,
    ) -> Option<Json> {
        match outcome {
            Ok(()) => Some(Json::String(text.to_owned())),
            Err(error) => {
                self.error(node.at, error.message, None);
                None
            }
        }
    }

    fn word(&mut self, node: &Node, text: &str, words: &[&str], shape: Shape) -> Option<Json> {
        if words.contains(&text) {
            return Some(Json::String(text.to_owned()));
        }
        let hint = hint::nearest(text, words.iter().copied()).map(hint::did_you_mean);
        let message = format!("expected {}, saw {}", shape.words_for(), node.seen());
        self.error(node.at, message, hint);
        None
    }

    fn wrong(&mut self, node: &Node, shape: Shape) -> Option<Json> {
        let quoted = match (&node.value, shape) {
            (Value::Integer(value), Shape::Text(_)) => Some(value.to_string()),
            (Value::Float(value), Shape::Text(_)) => Some(value.to_string()),
            (Value::Flag(value), Shape::Text(_)) => Some(value.to_string()),
            _ => None,
        };
        let hint = quoted.map(|text| format!("put it in quotes: \"{text}\""));
        let message = format!("expected {}, saw {}", shape.words_for(), node.seen());
        self.error(node.at, message, hint);
        None
    }

    fn repeated(&mut self, entries: &[(Key, Node)]) {
        for (index, (key, _)) in entries.iter().enumerate() {
            let first = entries[..index].iter().find(|(earlier, _)| earlier.name == key.name);
            if let Some((earlier, _)) = first {
                let line = earlier.at.line;
                let message = format!("the key `{}` was already written in line {line}", key.name);
                self.below(&key.name, |walk| {
                    walk.error(key.at, message, Some("keep one of them".to_owned()));
                });
            }
        }
    }

    fn unknown(&mut self, key: &Key, fields: &[Field]) {
        let names = fields.iter().filter(|field| !matches!(field.shape, Shape::Ignored));
        let hint = hint::nearest(&key.name, names.map(|field| field.name))
            .map(hint::did_you_mean)
            .or_else(|| hint::elsewhere(&key.name));
        let message = format!("there is no field `{}` here", key.name);
        self.below(&key.name, |walk| walk.error(key.at, message, hint));
    }

    fn below<T>(&mut self, step: &str, act: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&escape(step));
        let outcome = act(self);
        self.pointer.truncate(length);
        outcome
    }

    fn error(&mut self, at: Position, message: String, hint: Option<String>) {
        let mut error = FieldError::at(&self.pointer, at, message);
        error.hint = hint;
        self.errors.push(error);
    }
}
