//! The numbers and names of a journal, each its own type. None of them means anything to the core.

use std::fmt;

/// Number of a batch: 1 is the first, every next one is one more. 0 stands for "no batch yet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

impl Sequence {
    /// The head of an empty journal.
    pub const ZERO: Self = Self(0);

    /// The sequence after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The sequence before this one; zero stays zero.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The term of a writer; it only grows. 0 means that nobody has led yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The epoch before the first campaign.
    pub const ZERO: Self = Self(0);

    /// The epoch after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The writer's own name of a batch (16 bytes), by which it recognises the batch after `Unknown`.
///
/// The writer must not use one for two different batches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub [u8; 16]);

impl BatchId {
    /// An id from a number, for writers that count.
    #[must_use]
    pub const fn from_number(number: u128) -> Self {
        Self(number.to_be_bytes())
    }
}

/// Name of the cluster whose journal this is (16 random bytes, drawn at the first start).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub [u8; 16]);

/// SHA-256 of a whole envelope (a link of the chain) or of a snapshot's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// What the first batch names as its predecessor.
    pub const GENESIS: Self = Self([0; 32]);
}

macro_rules! hex_text {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    )*};
}

hex_text!(BatchId, ClusterId, Digest);
