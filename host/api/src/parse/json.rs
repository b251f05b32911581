//! JSON text to nodes. The JSON crate does not say where values are, but it hands out slices of the
//! text, and a slice knows where it is.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::MAX_DEPTH;
use super::node::{Key, Node, Position, Value};
use super::text::Lines;
use crate::problem::FieldError;

/// Reads a whole text: one job.
pub(super) fn read(text: &str) -> Result<Node, FieldError> {
    let whole = serde_json::from_str::<&RawValue>(text).map_err(|error| located(&error))?;
    let reader = Reader { text, lines: Lines::new(text) };
    reader.node(whole, 0)
}

/// The JSON crate's words, with its place as a place.
fn located(error: &serde_json::Error) -> FieldError {
    let count = |value: usize| u32::try_from(value.max(1)).unwrap_or(u32::MAX);
    let at = Position { line: count(error.line()), column: count(error.column()) };
    let words = error.to_string();
    let end = words.rfind(" at line ").unwrap_or(words.len());
    FieldError::at("", at, &words[..end])
}

struct Reader<'a> {
    text: &'a str,
    lines: Lines<'a>,
}

impl<'a> Reader<'a> {
    fn node(&self, raw: &'a RawValue, depth: usize) -> Result<Node, FieldError> {
        let at = self.lines.position(self.offset(raw.get()));
        if depth > MAX_DEPTH {
            return Err(FieldError::at("", at, format!("nested deeper than {MAX_DEPTH}")));
        }
        // Every slice has passed the JSON crate once; what can still fail is a value that it
        // has not looked into, such as half a surrogate pair.
        let wrong = |error: serde_json::Error| {
            let words = located(&error).message;
            FieldError::at("", at, words)
        };
        let text = raw.get();
        let value = match text.as_bytes().first() {
            Some(b'{') => {
                let entries: Entries<'a> = serde_json::from_str(text).map_err(wrong)?;
                self.object(text, entries, depth)?
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(wrong)?;
                let nodes = items.into_iter().map(|item| self.node(item, depth + 1));
                Value::List(nodes.collect::<Result<_, _>>()?)
            }
            Some(b'"') => Value::Text(serde_json::from_str(text).map_err(wrong)?),
            Some(b't') => Value::Flag(true),
            Some(b'f') => Value::Flag(false),
            Some(b'n') => Value::Null,
            _ => match text.parse() {
                Ok(integer) => Value::Integer(integer),
                Err(_) => Value::Float(serde_json::from_str(text).map_err(wrong)?),
            },
        };
        Ok(Node { at, value })
    }

    fn object(
        &self,
        text: &'a str,
        entries: Entries<'a>,
        depth: usize,
    ) -> Result<Value, FieldError> {
        let mut object = Vec::with_capacity(entries.0.len());
        let mut after = self.offset(text) + 1;
        for (name, child) in entries.0 {
            // Between the end of the entry before and a key stand blanks and a comma only.
            let blanks = self.text[after..].find('"').unwrap_or(0);
            let key = Key { at: self.lines.position(after + blanks), name };
            after = self.offset(child.get()) + child.get().len();
            object.push((key, self.node(child, depth + 1)?));
        }
        Ok(Value::Object(object))
    }

    /// Where a slice of the text starts in it, in bytes.
    fn offset(&self, slice: &str) -> usize {
        slice.as_ptr().addr() - self.text.as_ptr().addr()
    }
}

/// The entries of one object in their order, repeated keys too.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key()? {
                    entries.push((key, map.next_value()?));
                    if entries.len() > MAX_ENTRIES {
                        return Err(A::Error::custom("too many entries in one object"));
                    }
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

/// Most entries of one object; no field takes that many.
const MAX_ENTRIES: usize = 50_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_keys_know_where_they_are() {
        let node = read(" {\"ü\" :\n\t[1, {\"b,\\\"\"\n:true , \"c\": null}]}").unwrap();
        let Value::Object(entries) = &node.value else { panic!("an object") };
        assert_eq!(entries[0].0.at, Position { line: 1, column: 3 });
        let inner = node.nearest("/ü/1");
        assert_eq!(inner.at, Position { line: 2, column: 6 });
        let Value::Object(entries) = &inner.value else { panic!("an object") };
        assert_eq!(entries[0].0.name, "b,\"");
        assert_eq!(entries[0].1.at, Position { line: 3, column: 2 });
        assert_eq!(entries[1].0.at, Position { line: 3, column: 9 });
    }

    #[test]
    fn what_is_too_deep_or_half_a_character_is_told() {
        assert!(read(&format!("{}{}", "[".repeat(40), "]".repeat(40))).is_err());
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read("[\"\\ud800\"]").is_err());
    }
}
