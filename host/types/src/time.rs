//! Points in cluster time: milliseconds since 1970, given to the core, never read by it.

use crate::duration::Millis;
use serde::{Deserialize, Serialize};

/// Cluster time in milliseconds since 1970-01-01 UTC (14-decisions.md, 13).
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
    Serialize,
    Deserialize,
    minicbor::Encode,
    minicbor::Decode,
)]
#[serde(transparent)]
#[cbor(transparent)]
pub struct Time(#[n(0)] u64);

impl Time {
    /// From milliseconds since 1970.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }
    /// In milliseconds since 1970.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0
    }
    /// This time plus a span, at most the end of time.
    #[must_use]
    pub const fn after(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.get()))
    }
    /// How long ago `earlier` was; zero if it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        Millis::new(self.0.saturating_sub(earlier.0))
    }
}
