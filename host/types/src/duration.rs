//! Durations in whole milliseconds; text such as `500ms`, `10s`, `1m30s`, `2h`, `1d`.

use crate::text::{InvalidText, serde_as_text};
use core::{fmt, str::FromStr};

/// A span of time in milliseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    minicbor::Encode,
    minicbor::Decode,
)]
#[cbor(transparent)]
pub struct Millis(#[n(0)] u64);

impl Millis {
    /// Whether it is no time at all.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }
    /// No time at all; in many fields it means "no limit".
    pub const ZERO: Self = Self(0);
    /// From milliseconds.
    #[must_use]
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }
    /// From whole seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1000)
    }
    /// In milliseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Longest first; a text has each unit at most once and in this order.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Longest duration that is accepted: 100 years.
const MAX_MILLIS: u64 = 100 * 365 * 86_400_000;

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (unit, size) in UNITS {
            if rest >= size {
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

impl FromStr for Millis {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let bad = || {
            InvalidText::new(format_args!(
                "expected a duration such as 500ms, 10s or 1m30s, saw {text:?}"
            ))
        };
        if text == "0" {
            return Ok(Self::ZERO);
        }
        let mut rest = text;
        let mut total: u64 = 0;
        let mut smallest = u64::MAX;
        while !rest.is_empty() {
            let number_len =
                rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
            let (number, tail) = rest.split_at(number_len);
            let unit_len = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let (unit, after) = tail.split_at(unit_len);
            let size = UNITS.iter().find(|(u, _)| *u == unit).ok_or_else(bad)?.1;
            if size >= smallest {
                return Err(bad());
            }
            smallest = size;
            let part = crate::quantity::decimal(number, size).ok_or_else(bad)?;
            total = total.checked_add(part).filter(|t| *t <= MAX_MILLIS).ok_or_else(bad)?;
            rest = after;
        }
        if text.is_empty() { Err(bad()) } else { Ok(Self(total)) }
    }
}

serde_as_text!(Millis);

/// On the wire a field whose name ends in `Ms` is a plain number of milliseconds.
pub mod as_number {
    use super::Millis;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the number.
    ///
    /// # Errors
    /// The serializer's own.
    pub fn serialize<S: Serializer>(span: &Millis, s: S) -> Result<S::Ok, S::Error> {
        span.get().serialize(s)
    }

    /// Reads the number.
    ///
    /// # Errors
    /// The deserializer's own.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Millis, D::Error> {
        u64::deserialize(d).map(Millis::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn equal_by_value_however_spelled() {
        assert_eq!("90s".parse::<Millis>(), "1m30s".parse::<Millis>());
        assert_eq!("1.5s".parse::<Millis>(), "1500ms".parse::<Millis>());
        assert_eq!("0".parse::<Millis>(), "0s".parse::<Millis>());
        for bad in ["", "10", "s", "1s1m", "1s2s", "-1s", "1y", "99999999d", "1.2345s"] {
            assert!(bad.parse::<Millis>().is_err(), "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn text_round_trips(ms in 0..MAX_MILLIS) {
            assert_eq!(Millis::new(ms).to_string().parse(), Ok(Millis::new(ms)));
        }
    }
}
