//! Tags of versions, and the ways to say which version is meant.

use crate::{
    number::Version,
    text::{InvalidText, cbor_as_text, serde_as_text},
};
use alloc::sync::Arc;
use core::{fmt, str::FromStr};

/// Longest tag, like a name.
pub const MAX_TAG_CHARS: usize = 63;

/// Words that mean a version by themselves and cannot be tags.
const RESERVED: &[&str] = &["proven", "current", "previous", "latest"];

/// A user's word for a version of one job: letters, digits, `.`, `_`, `-`; never a plain number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(Arc<str>);

impl Tag {
    /// The text of the tag.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tag {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let chars = text.chars().count();
        if chars == 0 || chars > MAX_TAG_CHARS {
            return Err(InvalidText::new(format_args!(
                "a tag has 1 to {MAX_TAG_CHARS} characters, this has {chars}"
            )));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if let Some(c) = text.chars().find(|c| !fits(*c)) {
            return Err(InvalidText::new(format_args!(
                "a tag has only letters, digits, `.`, `_` and `-`, this has {c:?}"
            )));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(InvalidText::new(format_args!(
                "a tag starts with a letter or digit, saw {text:?}"
            )));
        }
        if text.bytes().all(|b| b.is_ascii_digit()) || RESERVED.contains(&text) {
            return Err(InvalidText::new(format_args!(
                "{text:?} already means a version and cannot be a tag"
            )));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

serde_as_text!(Tag);
cbor_as_text!(Tag);

/// Which version of a job is meant: `7`, a tag, `proven`, `current` or `previous`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionRef {
    /// By its number.
    Number(Version),
    /// By a tag.
    Tag(Tag),
    /// The newest proven one that does not equal the current one.
    Proven,
    /// The current one.
    Current,
    /// The newest kept one before the current one.
    Previous,
}

impl FromStr for VersionRef {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        match text {
            "proven" => Ok(Self::Proven),
            "current" | "latest" => Ok(Self::Current),
            "previous" => Ok(Self::Previous),
            _ if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
                let number = text.parse().ok().filter(|number| *number > 0);
                number.map(|number| Self::Number(Version::new(number))).ok_or_else(|| {
                    InvalidText::new(format_args!("{text:?} is not a version number"))
                })
            }
            _ => text.parse().map(Self::Tag),
        }
    }
}

impl fmt::Display for VersionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Tag(tag) => tag.fmt(f),
            Self::Proven => f.pad("proven"),
            Self::Current => f.pad("current"),
            Self::Previous => f.pad("previous"),
        }
    }
}

serde_as_text!(VersionRef);
cbor_as_text!(VersionRef);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn numbers_and_words_are_never_tags() {
        for text in ["7", "007", "proven", "current", "latest", "previous", "", "-a", "a b", "a/b"]
        {
            assert!(text.parse::<Tag>().is_err(), "{text:?}");
        }
        for text in ["v1", "1.4.2", "release-7", "R2_d2"] {
            assert_eq!(text.parse::<Tag>().expect("a tag").as_str(), text);
        }
        assert!("x".repeat(64).parse::<Tag>().is_err());
    }

    #[test]
    fn a_version_is_named_in_five_ways() {
        for text in ["7", "v1", "proven", "current", "previous"] {
            assert_eq!(text.parse::<VersionRef>().expect("a reference").to_string(), text);
        }
        for text in ["0", "99999999999", "", "j_7!"] {
            assert!(text.parse::<VersionRef>().is_err(), "{text:?}");
        }
    }
}
