//! One tree for all three languages: values that know where they were written. Knows no schema.

use serde_json::Value as Json;

/// A place in a text; both count from 1, columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line of the whole text, also when it holds several jobs.
    pub line: u32,
    /// Character in the line.
    pub column: u32,
}

/// A value and where it starts.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

/// What was written. Objects keep every entry, repeated keys too, so that all of them can be named.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(Key, Node)>),
}

/// The key of an entry.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) at: Position,
    pub(crate) name: String,
}

impl Node {
    /// What this is, for the sentence "expected …, saw …".
    pub(crate) fn seen(&self) -> String {
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Flag(flag) => format!("{flag}"),
            Value::Integer(number) => format!("the number {number}"),
            Value::Float(number) => format!("the number {number}"),
            Value::Text(text) => format!("{:?}", shortened(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        }
    }

    /// The node that a JSON pointer leads to, or the last one on the way that exists: an absent field
    /// is reported at the object that lacks it.
    pub(crate) fn nearest(&self, pointer: &str) -> &Self {
        let mut node = self;
        for step in pointer.split('/').skip(1) {
            let step = unescape(step);
            let next = match &node.value {
                Value::Object(entries) => {
                    entries.iter().find(|(key, _)| key.name == step).map(|(_, child)| child)
                }
                Value::List(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            };
            let Some(next) = next else { break };
            node = next;
        }
        node
    }
}

/// The value of a number as JSON, when JSON can hold it.
pub(crate) fn number(value: i128) -> Option<Json> {
    i64::try_from(value).map(Json::from).or_else(|_| u64::try_from(value).map(Json::from)).ok()
}

/// Longest text that an error repeats, in characters.
const MAX_SEEN_CHARS: usize = 80;

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_SEEN_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_SEEN_CHARS).chain("…".chars()).collect()
}

/// Escapes a step of a JSON pointer (RFC 6901).
pub(crate) fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// A JSON pointer in the spelling of people: `/spec/ports/0/name` is `spec.ports[0].name`.
#[must_use]
pub fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let step = unescape(step);
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{step}]"));
        } else if step.contains(['.', '/']) || step.is_empty() {
            path.push_str(&format!("[{step:?}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&step);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_shown_as_people_write_them() {
        assert_eq!(dotted(""), "");
        assert_eq!(dotted("/spec/ports/0/name"), "spec.ports[0].name");
        assert_eq!(
            dotted("/metadata/labels/shop.example~1team"),
            "metadata.labels[\"shop.example/team\"]"
        );
    }
}
