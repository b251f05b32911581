//! Time on the host's own monotonic clock. Not `Time`: wall clocks of two machines are never
//! compared (06-cluster.md, section 4), and the two must not be mixed.

use pliant_types::Millis;
use serde::{Deserialize, Serialize};

/// Milliseconds since the machine's boot; good across restarts of the agent within that boot.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Moment(u64);

impl Moment {
    /// From milliseconds since boot.
    #[must_use]
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since boot.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// This moment and a span; stays at the end of time.
    #[must_use]
    pub const fn after(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.get()))
    }

    /// The span since an earlier moment; zero when that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        Millis::new(self.0.saturating_sub(earlier.0))
    }
}
