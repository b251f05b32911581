//! How a field may look: the vocabulary in which the schema is written. Not the schema itself.

use std::str::FromStr;

use pliant_types::text::InvalidText;

/// Whether a text is a valid value; the error says what was expected.
pub(crate) type Check = fn(&str) -> Result<(), InvalidText>;

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Known fields; anything else is an error.
    Object(&'static [Field]),
    /// Free keys, each with a text or null. `dropped` is a prefix of keys that are ignored.
    Map { dropped: &'static str },
    /// Any number of items of one form.
    List(&'static Shape),
    /// A text.
    Text(Check),
    /// A text, or a number that is read as if it had been written as a text.
    Scalar(Check),
    /// One of a closed list of texts.
    Words(&'static [&'static str]),
    /// A whole number between two bounds.
    Integer { min: i128, max: i128 },
    /// true or false.
    Flag,
    /// One of `words`, or an object with exactly one of `fields`.
    Choice { words: &'static [&'static str], fields: &'static [Field] },
    /// Whatever it is, it is the server's and is left out.
    Ignored,
}

/// A field of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) need: Need,
    pub(crate) shape: Shape,
}

/// Whether a field may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Must,
    May,
}

pub(crate) const fn may(name: &'static str, doc: &'static str, shape: Shape) -> Field {
    Field { name, doc, need: Need::May, shape }
}

pub(crate) const fn must(name: &'static str, doc: &'static str, shape: Shape) -> Field {
    Field { name, doc, need: Need::Must, shape }
}

/// A field that answers carry and submissions may repeat.
pub(crate) const fn server(name: &'static str) -> Field {
    Field {
        name,
        doc: "Filled in by the server; ignored on input.",
        need: Need::May,
        shape: Shape::Ignored,
    }
}

/// The check of a type that parses itself.
pub(crate) fn parses<T: FromStr<Err = InvalidText>>(text: &str) -> Result<(), InvalidText> {
    text.parse::<T>().map(|_| ())
}

/// The check of a text that may be anything.
pub(crate) fn anything(_: &str) -> Result<(), InvalidText> {
    Ok(())
}

impl Shape {
    /// What the form is, for people.
    pub(crate) fn words_for(self) -> String {
        match self {
            Self::Object(_) => "an object".to_owned(),
            Self::Map { .. } => "an object of texts".to_owned(),
            Self::List(item) => format!("a list, each {}", item.words_for()),
            Self::Text(_) => "a text".to_owned(),
            Self::Scalar(_) => "a text or a number".to_owned(),
            Self::Words(words) => format!("one of {}", words.join(", ")),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::Choice { words, fields } => {
                let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                let object = format!("an object with one of {}", names.join(", "));
                if words.is_empty() {
                    object
                } else {
                    format!("one of {}, or {object}", words.join(", "))
                }
            }
            Self::Ignored => "anything".to_owned(),
        }
    }

    /// The fields below, where there are any.
    pub(crate) fn fields(self) -> &'static [Field] {
        match self {
            Self::Object(fields) | Self::Choice { fields, .. } => fields,
            Self::List(item) => item.fields(),
            _ => &[],
        }
    }
}
