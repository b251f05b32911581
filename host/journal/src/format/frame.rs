//! The first twelve bytes of everything that is stored: magic, format, flags, checksum. They never
//! change, so that every program can tell a newer format from damage.
//!
//! ```text
//! 0  magic     4 bytes
//! 4  format    u16, little-endian like every number
//! 6  flags     u16
//! 8  checksum  u32: CRC-32C of all other bytes of the frame
//! 12 body
//! ```

use crate::{Damage, OpenError, Place};

/// Bytes before the body.
pub(crate) const HEADER_BYTES: usize = 12;

/// The format that this program writes and the newest that it reads, for every kind of frame.
pub(crate) const FORMAT: u16 = 1;

/// What kind of frame it is.
pub(crate) type Magic = [u8; 4];

/// Why bytes are not a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameError {
    /// Damage, in words.
    Broken(String),
    /// Sound, but of a newer format.
    Newer(u16),
}

impl FrameError {
    /// As a failure of opening.
    pub(crate) fn at_open(self, at: Place) -> OpenError {
        match self {
            Self::Broken(why) => OpenError::Damaged(Damage { at, why }),
            Self::Newer(found) => OpenError::NewerFormat { at, found, known: FORMAT },
        }
    }

    /// As a damage.
    pub(crate) fn damage(self, at: Place) -> Damage {
        match self {
            Self::Broken(why) => Damage { at, why },
            Self::Newer(found) => Damage { at, why: format!("format {found} is unknown") },
        }
    }
}

/// Begins a frame; the body is appended by the caller, then [`seal`] ends it.
pub(crate) fn begin(magic: Magic, flags: u16, capacity: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + capacity);
    bytes.extend_from_slice(&magic);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&flags.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// Writes the checksum.
pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(&bytes).to_le_bytes();
    bytes[8..12].copy_from_slice(&checksum);
    bytes
}

/// Verifies a frame; gives its flags and its body.
pub(crate) fn open(bytes: &[u8], magic: Magic) -> Result<(u16, &[u8]), FrameError> {
    let broken = |why: String| Err(FrameError::Broken(why));
    if bytes.len() < HEADER_BYTES {
        return broken(format!("{} bytes are too few for a header", bytes.len()));
    }
    if bytes[..4] != magic {
        return broken("it does not begin with its magic bytes".into());
    }
    let stored = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    let computed = checksum(bytes);
    if stored != computed {
        return broken(format!("checksum {stored:08x} is stored, {computed:08x} is computed"));
    }
    let format = u16::from_le_bytes([bytes[4], bytes[5]]);
    if format > FORMAT {
        return Err(FrameError::Newer(format));
    }
    Ok((u16::from_le_bytes([bytes[6], bytes[7]]), &bytes[HEADER_BYTES..]))
}

fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..8]), &bytes[HEADER_BYTES..])
}

/// Reads numbers and arrays off a body, front to back.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let Some((head, rest)) = self.0.split_first_chunk::<N>() else {
            return Err(FrameError::Broken(format!("the body ends {N} bytes too early")));
        };
        self.0 = rest;
        Ok(*head)
    }

    /// The next u64.
    pub(crate) fn u64(&mut self) -> Result<u64, FrameError> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next u32.
    pub(crate) fn u32(&mut self) -> Result<u32, FrameError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Everything that is left, which must be as long as announced.
    pub(crate) fn rest(self, expected_bytes: u64) -> Result<&'a [u8], FrameError> {
        if self.0.len() as u64 == expected_bytes {
            return Ok(self.0);
        }
        let found = self.0.len();
        Err(FrameError::Broken(format!("{expected_bytes} bytes were announced, {found} follow")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Magic = *b"TEST";

    fn frame(body: &[u8]) -> Vec<u8> {
        let mut bytes = begin(KIND, 7, body.len());
        bytes.extend_from_slice(body);
        seal(bytes)
    }

    #[test]
    fn a_sealed_frame_opens() {
        assert_eq!(open(&frame(b"body"), KIND), Ok((7, &b"body"[..])));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let good = frame(b"some body");
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(open(&bad, KIND), Err(FrameError::Broken(_))), "bit {bit}");
        }
    }

    #[test]
    fn every_cut_is_noticed() {
        let good = frame(b"some body");
        for len in 0..good.len() {
            assert!(matches!(open(&good[..len], KIND), Err(FrameError::Broken(_))), "{len} bytes");
        }
    }

    #[test]
    fn a_newer_format_is_named_only_when_the_checksum_holds() {
        let mut newer = frame(b"body");
        newer[4] = 9;
        assert!(matches!(open(&newer, KIND), Err(FrameError::Broken(_))));
        assert_eq!(open(&seal(newer), KIND), Err(FrameError::Newer(9)));
    }
}
