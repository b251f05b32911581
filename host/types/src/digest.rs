//! SHA-256 digests, written `sha256:<hex>`; made elsewhere, carried here.

use crate::text::{InvalidText, serde_as_text};
use core::{fmt, str::FromStr};

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps the 32 bytes of a finished hash.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
    /// The first 12 hex digits, for tables.
    #[must_use]
    pub fn short(&self) -> alloc::string::String {
        alloc::format!("{self}")[7..19].into()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let bad = || {
            InvalidText::new(format_args!(
                "expected sha256: and 64 lower-case hex digits, saw {text:?}"
            ))
        };
        let hex = text.strip_prefix("sha256:").filter(|h| h.len() == 64).ok_or_else(bad)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            *byte =
                nibble(pair[0]).zip(nibble(pair[1])).map(|(h, l)| h << 4 | l).ok_or_else(bad)?;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

serde_as_text!(Digest);

impl<C> minicbor::Encode<C> for Digest {
    fn encode<W: minicbor::encode::Write>(
        &self,
        e: &mut minicbor::Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        e.bytes(&self.0)?.ok()
    }
}

impl<'b, C> minicbor::Decode<'b, C> for Digest {
    fn decode(d: &mut minicbor::Decoder<'b>, _: &mut C) -> Result<Self, minicbor::decode::Error> {
        let bytes = d.bytes()?;
        bytes
            .try_into()
            .map(Self)
            .map_err(|_| minicbor::decode::Error::message("a digest has 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn round_trips_and_refuses_other_forms() {
        let digest = Digest::new([0xab; 32]);
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.short(), "abababababab");
        for bad in ["", "sha256:", "sha512:00", &digest.to_string().to_uppercase()] {
            assert!(bad.parse::<Digest>().is_err(), "{bad:?}");
        }
    }
}
