//! CPU in milli-cores and memory in bytes, compared by value however they were spelled.

use crate::text::{InvalidText, serde_as_text};
use core::{fmt, str::FromStr};

/// CPU share in milli-cores (1,000 = one core); text `500m` or `0.5`.
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
pub struct Cpu(#[n(0)] u32);

/// Memory in bytes; text `64Mi`, `64MiB`, `100M` or plain bytes.
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
pub struct Memory(#[n(0)] u64);

impl Cpu {
    /// From milli-cores.
    #[must_use]
    pub const fn from_millis(millis: u32) -> Self {
        Self(millis)
    }
    /// In milli-cores.
    #[must_use]
    pub const fn millis(self) -> u32 {
        self.0
    }
}

impl Memory {
    /// From bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }
    /// From mebibytes.
    #[must_use]
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib << 20)
    }
    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1000) {
            write!(f, "{}", self.0 / 1000)
        } else {
            write!(f, "{}m", self.0)
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, bytes) in BINARY_UNITS {
            if self.0 != 0 && self.0.is_multiple_of(bytes) {
                return write!(f, "{}{unit}", self.0 / bytes);
            }
        }
        write!(f, "{}", self.0)
    }
}

/// Largest first, so that text is the shortest exact one.
const BINARY_UNITS: [(&str, u64); 4] =
    [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
const DECIMAL_UNITS: [(&str, u64); 5] =
    [("T", 1_000_000_000_000), ("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000), ("K", 1_000)];

impl FromStr for Cpu {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let bad =
            || InvalidText::new(format_args!("expected CPU such as 500m, 0.5 or 2, saw {text:?}"));
        if let Some(millis) = text.strip_suffix('m') {
            return digits(millis).and_then(|v| u32::try_from(v).ok()).map(Self).ok_or_else(bad);
        }
        decimal(text, 1000).and_then(|v| u32::try_from(v).ok()).map(Self).ok_or_else(bad)
    }
}

impl FromStr for Memory {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let bad = || {
            InvalidText::new(format_args!(
                "expected memory such as 64Mi, 1.5Gi, 100M or bytes, saw {text:?}"
            ))
        };
        let trimmed = text.strip_suffix('B').unwrap_or(text);
        for (unit, bytes) in BINARY_UNITS.iter().chain(DECIMAL_UNITS.iter()) {
            if let Some(number) = trimmed.strip_suffix(unit) {
                return decimal(number, *bytes).map(Self).ok_or_else(bad);
            }
        }
        digits(trimmed).map(Self).ok_or_else(bad)
    }
}

fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// `text` times `scale`, exact or nothing: a fraction that does not come out whole is refused.
pub(crate) fn decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if text.contains('.') && fraction.is_empty() {
        return None;
    }
    let mut value = digits(whole)?.checked_mul(scale)?;
    if !fraction.is_empty() {
        let places = u32::try_from(fraction.len()).ok().filter(|p| *p <= 9)?;
        let numerator = u128::from(digits(fraction)?) * u128::from(scale);
        let denominator = 10u128.pow(places);
        if !numerator.is_multiple_of(denominator) {
            return None;
        }
        value = value.checked_add(u64::try_from(numerator / denominator).ok()?)?;
    }
    Some(value)
}

serde_as_text!(Cpu);
serde_as_text!(Memory);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn case_bc13_spelling_of_units_does_not_matter() {
        assert_eq!("500m".parse::<Cpu>(), "0.5".parse::<Cpu>());
        assert_eq!("2".parse::<Cpu>(), "2000m".parse::<Cpu>());
        assert_eq!("64Mi".parse::<Memory>(), "67108864".parse::<Memory>());
        assert_eq!("64MiB".parse::<Memory>(), "65536Ki".parse::<Memory>());
        assert_eq!("1.5Gi".parse::<Memory>(), "1536Mi".parse::<Memory>());
        assert_eq!("100M".parse::<Memory>(), "100000000".parse::<Memory>());
    }

    #[test]
    fn refuses_what_is_not_exact_or_does_not_fit() {
        for bad in ["", "m", "-1", "0.0001", "1.", ".5", "5000000", "1e3", "99999999999"] {
            assert!(bad.parse::<Cpu>().is_err(), "{bad:?}");
        }
        for bad in ["", "Mi", "-1", "1.0000000001Ki", "99999999Ti", "64mi", "64 Mi"] {
            assert!(bad.parse::<Memory>().is_err(), "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn text_round_trips(cpu in 0u32.., bytes in 0u64..) {
            assert_eq!(Cpu::from_millis(cpu).to_string().parse(), Ok(Cpu::from_millis(cpu)));
            assert_eq!(Memory::from_bytes(bytes).to_string().parse(), Ok(Memory::from_bytes(bytes)));
        }
    }
}
