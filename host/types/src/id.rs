//! Ids that the state hands out: a number with a letter in text (`j_17`, `e_412`).
//!
//! Not names: a name is a DNS label and cannot hold the underscore, so the two never collide.

use crate::text::{InvalidText, serde_as_text};
use core::{fmt, str::FromStr};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, minicbor::Encode, minicbor::Decode)]
        #[cbor(transparent)]
        pub struct $name(#[n(0)] u64);

        impl $name {
            /// The letter before the underscore.
            pub const LETTER: char = $letter;
            /// Builds the id from the number that the state handed out.
            #[must_use]
            pub const fn new(number: u64) -> Self {
                Self(number)
            }
            /// The bare number, for counters and codecs only.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", $letter, self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl FromStr for $name {
            type Err = InvalidText;
            fn from_str(text: &str) -> Result<Self, InvalidText> {
                parse($letter, text).map(Self)
            }
        }
        serde_as_text!($name);
    };
}

id!(
    /// A job for its whole life; a new job of the same name gets a new one.
    JobUid, 'j'
);
id!(
    /// One placement of one task on one host.
    ExecutionId, 'e'
);
id!(
    /// One health-gated move of a job between versions.
    RolloutId, 'r'
);
id!(
    /// One request to change a job's size.
    ResizeId, 'z'
);
id!(
    /// A machine that runs an agent.
    HostId, 'h'
);
id!(
    /// An API token.
    TokenId, 't'
);

fn parse(letter: char, text: &str) -> Result<u64, InvalidText> {
    let digits = text
        .strip_prefix(letter)
        .and_then(|rest| rest.strip_prefix('_'))
        .filter(|d| !d.is_empty() && d.len() <= 20 && d.bytes().all(|b| b.is_ascii_digit()))
        .filter(|d| *d == "0" || !d.starts_with('0'));
    digits.and_then(|d| d.parse().ok()).ok_or_else(|| {
        InvalidText::new(format_args!("expected an id such as {letter}_12, saw {text:?}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn round_trips_and_refuses_every_other_spelling() {
        assert_eq!(JobUid::new(17).to_string(), "j_17");
        assert_eq!("j_17".parse::<JobUid>(), Ok(JobUid::new(17)));
        for bad in [
            "",
            "j",
            "j_",
            "j17",
            "J_17",
            "j_017",
            "j_+1",
            "e_17",
            "j_1 ",
            "j_99999999999999999999",
        ] {
            assert!(bad.parse::<JobUid>().is_err(), "{bad:?} must not parse");
        }
    }
}
