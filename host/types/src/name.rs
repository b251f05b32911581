//! Validated names: job, namespace, host and port names are DNS labels.
//!
//! Parsed once at the edge; past it no name can hold a slash, a control character or an id's form.

use crate::text::{InvalidText, cbor_as_text, serde_as_text};
use alloc::{string::String, sync::Arc};
use core::{borrow::Borrow, fmt, ops::Deref, str::FromStr};

/// Longest DNS label (RFC 1035, 2.3.4).
pub const MAX_NAME_CHARS: usize = 63;

macro_rules! label_name {
    ($(#[$doc:meta])* $name:ident, $what:literal, max = $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text of the name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl FromStr for $name {
            type Err = InvalidText;
            fn from_str(text: &str) -> Result<Self, InvalidText> {
                check_label($what, text, $max)?;
                Ok(Self(text.into()))
            }
        }
        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
        serde_as_text!($name);
        cbor_as_text!($name);
    };
}

label_name!(
    /// A job's name: unique in its namespace, immutable.
    JobName, "job name", max = MAX_NAME_CHARS
);
label_name!(
    /// Where job names are unique.
    Namespace, "namespace", max = MAX_NAME_CHARS
);
label_name!(
    /// The name that a host gives itself; unique in the cluster.
    HostName, "host name", max = MAX_NAME_CHARS
);
label_name!(
    /// A port's name within a job; short, since it becomes part of a variable's name.
    PortName, "port name", max = 15
);

impl Namespace {
    /// The namespace that always exists.
    ///
    /// # Panics
    /// Never: the text is a valid label.
    #[must_use]
    pub fn default_namespace() -> Self {
        "default".parse().expect("`default` is a DNS label")
    }
}

fn check_label(what: &str, text: &str, max: usize) -> Result<(), InvalidText> {
    let chars = text.chars().count();
    if chars == 0 || chars > max {
        return Err(InvalidText::new(format_args!(
            "a {what} has 1 to {max} characters, this has {chars}"
        )));
    }
    if let Some(c) = text.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-')) {
        return Err(InvalidText::new(format_args!(
            "a {what} has only a-z, 0-9 and -, this has {c:?}{}",
            suggestion(text)
        )));
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Err(InvalidText::new(format_args!(
            "a {what} starts and ends with a letter or digit, saw {text:?}"
        )));
    }
    Ok(())
}

fn suggestion(text: &str) -> String {
    let lower: String = text
        .chars()
        .map(|c| match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '-') => c,
            _ => '-',
        })
        .collect();
    let trimmed = lower.trim_matches('-');
    if trimmed.is_empty() { String::new() } else { alloc::format!("; try {trimmed:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn refused(text: &str) -> String {
        text.parse::<JobName>().expect_err("must be refused").to_string()
    }

    #[test]
    fn case_n5_n8_control_characters_and_slashes_are_refused() {
        assert_eq!(
            refused("a\0b"),
            "a job name has only a-z, 0-9 and -, this has '\\0'; try \"a-b\""
        );
        assert_eq!(refused("///"), "a job name has only a-z, 0-9 and -, this has '/'");
        assert_eq!(refused("Web"), "a job name has only a-z, 0-9 and -, this has 'W'; try \"web\"");
        assert_eq!(refused(&"a".repeat(64)), "a job name has 1 to 63 characters, this has 64");
        assert_eq!(refused(""), "a job name has 1 to 63 characters, this has 0");
        assert!(refused("-a").contains("starts and ends"));
    }

    #[test]
    fn case_n6_names_that_look_like_foreign_ids_are_just_names() {
        for name in ["123e4567-e89b-12d3-a456-426614174000", "e412", "j-17", "1"] {
            assert_eq!(name.parse::<JobName>().expect("a label").as_str(), name);
        }
        assert!("j_17".parse::<JobName>().is_err(), "an id is never a name");
    }
}
