//! YAML text to nodes. Only this module and `render` know the YAML crate.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Location, Options, Spanned};

use super::node::{Key, Node, Position, Value};
use super::{MAX_DEPTH, MAX_TEXT_BYTES};
use crate::problem::FieldError;

/// Largest number of aliases, and of nodes that their expansion may add up to.
const MAX_ALIASES: usize = 256;
const MAX_NODES: usize = 50_000;

/// A value as the YAML crate hands it over.
enum Raw {
    Null,
    Flag(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Object(Vec<(Spanned<String>, Spanned<Raw>)>),
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Flag(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Integer(value))
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Raw, E> {
        i128::try_from(value).map(Raw::Integer).map_err(|_| E::custom("the number is too large"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut object = Vec::new();
        while let Some(key) = entries.next_key()? {
            object.push((key, entries.next_value()?));
        }
        Ok(Raw::Object(object))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Raw, E> {
        Err(E::custom("binary values are not used here"))
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_reader_input_bytes: Some(MAX_TEXT_BYTES),
        max_depth: MAX_DEPTH,
        max_aliases: MAX_ALIASES,
        max_nodes: MAX_NODES,
        max_documents: 1,
    };
    let mut options = serde_saphyr::options! {
        budget: budget,
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
        with_snippet: false,
    };
    options.alias_limits.max_total_replayed_events = MAX_NODES;
    options
}

/// Said of every text that breaks one of the limits above.
const TOO_MUCH: &str =
    "the text nests too deep, repeats too much by aliases or has too many values";

/// Reads one document; `lines_before` is how many lines of the whole text come before it.
pub(super) fn read(text: &str, lines_before: u32) -> Result<Node, FieldError> {
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options()) {
        Ok(raw) => Ok(node(raw, lines_before, Position { line: lines_before + 1, column: 1 })),
        Err(error) => {
            let at = error.location().map(|location| position(&location, lines_before));
            Err(FieldError::at("", at.unwrap_or_default(), said(&error)))
        }
    }
}

/// The parser's words without its own place, which does not know of the documents before.
fn said(error: &serde_saphyr::Error) -> String {
    let limit = matches!(
        error.without_snippet(),
        Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. }
    );
    if limit {
        return TOO_MUCH.to_owned();
    }
    let words = error.without_snippet().to_string();
    let end = words.rfind(" at line ").unwrap_or(words.len());
    words[..end].to_owned()
}

fn position(location: &Location, lines_before: u32) -> Position {
    let line = u32::try_from(location.line()).unwrap_or(u32::MAX);
    let column = u32::try_from(location.column()).unwrap_or(u32::MAX);
    Position { line: line.saturating_add(lines_before), column }
}

fn node(raw: Spanned<Raw>, lines_before: u32, parent: Position) -> Node {
    // A position that the parser does not know (line 0) is the parent's.
    let place = |location: &Location| {
        if location.line() == 0 { parent } else { position(location, lines_before) }
    };
    let at = place(&raw.referenced);
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Flag(flag) => Value::Flag(flag),
        Raw::Integer(number) => Value::Integer(number),
        Raw::Float(number) => Value::Float(number),
        Raw::Text(text) => Value::Text(text),
        Raw::List(items) => {
            Value::List(items.into_iter().map(|item| node(item, lines_before, at)).collect())
        }
        Raw::Object(entries) => {
            let entries = entries.into_iter().map(|(key, child)| {
                let key = Key { at: place(&key.referenced), name: key.value };
                let child = node(child, lines_before, key.at);
                (key, child)
            });
            Value::Object(entries.collect())
        }
    };
    Node { at, value }
}

/// A document of a YAML stream: its text, and how many lines come before it.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) lines_before: u32,
}

/// Cuts a stream at its document markers. YAML allows `---` at the start of a line as nothing
/// but a marker, not even inside a block of text, so this needs no parser.
pub(super) fn documents(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut start_line = 0;
    let mut offset = 0;
    let mut empty = true;
    for (line, content) in (0u32..).zip(text.split_inclusive('\n')) {
        let opens = content
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if opens {
            if !empty {
                documents.push(Document { text: &text[start..offset], lines_before: start_line });
            }
            (start, start_line, empty) = (offset, line, true);
        }
        let said = content.strip_prefix("---").filter(|_| opens).unwrap_or(content).trim();
        let says_nothing = said.is_empty() || said.starts_with(['#', '%']) || said == "...";
        empty &= says_nothing;
        offset += content.len();
    }
    if !empty {
        documents.push(Document { text: &text[start..], lines_before: start_line });
    }
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_markers_and_counts_lines() {
        let text = "# first\n---\na: 1\n---\n# nothing\n--- # second\nb: |\n  ---\n  x\n";
        let cut: Vec<(u32, &str)> =
            documents(text).into_iter().map(|doc| (doc.lines_before, doc.text)).collect();
        assert_eq!(cut, [(1, "---\na: 1\n"), (5, "--- # second\nb: |\n  ---\n  x\n")]);
    }

    #[test]
    fn values_know_where_they_are() {
        let node = read("a: 1\nb:\n  - x\n  - ü: [true, ~]\n", 10).unwrap();
        assert_eq!(node.nearest("/a").at, Position { line: 11, column: 4 });
        assert_eq!(node.nearest("/b/1/ü/0").at, Position { line: 14, column: 9 });
        assert_eq!(node.nearest("/b/7/z").at, node.nearest("/b").at);
    }

    #[test]
    fn a_text_that_grows_by_aliases_is_refused() {
        let mut text = "a: &a [x, x, x, x, x, x, x, x]\n".to_owned();
        for (new, old) in ["b", "c", "d", "e", "f", "g"].iter().zip(["a", "b", "c", "d", "e", "f"])
        {
            text += &format!(
                "{new}: &{new} [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}]\n"
            );
        }
        assert!(read(&text, 0).is_err());
        assert!(read(&"[".repeat(10_000), 0).is_err());
    }
}
