//! The error of everything that is parsed from a short text, and the serde glue for such types.
//!
//! Not a parser: each type parses itself in its own file.

use alloc::string::{String, ToString};
use core::fmt;

/// A text that is not a valid value: what was expected, in the user's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidText {
    /// One sentence without a final stop, such as "a name is 1 to 63 characters, this has 64".
    pub message: String,
}

impl InvalidText {
    /// Builds the error from a sentence.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string() }
    }
}

impl fmt::Display for InvalidText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for InvalidText {}

/// Serializes as the `Display` text and deserializes through `FromStr`.
macro_rules! serde_as_text {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <alloc::borrow::Cow<'de, str>>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;

/// Encodes a text-like newtype as one CBOR string and checks it again when it is decoded.
macro_rules! cbor_as_text {
    ($name:ty) => {
        impl<C> minicbor::Encode<C> for $name {
            fn encode<W: minicbor::encode::Write>(
                &self,
                e: &mut minicbor::Encoder<W>,
                _: &mut C,
            ) -> Result<(), minicbor::encode::Error<W::Error>> {
                e.str(&alloc::string::ToString::to_string(self))?.ok()
            }
        }
        impl<'b, C> minicbor::Decode<'b, C> for $name {
            fn decode(
                d: &mut minicbor::Decoder<'b>,
                _: &mut C,
            ) -> Result<Self, minicbor::decode::Error> {
                d.str()?.parse().map_err(|e: crate::text::InvalidText| {
                    minicbor::decode::Error::message(e.message)
                })
            }
        }
    };
}
pub(crate) use cbor_as_text;
