//! What the HTTP side of one execution counts.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct HttpCounters {
    answered: AtomicU64,
    traps: AtomicU64,
}

impl HttpCounters {
    pub(super) fn add_answered(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests that got a response head from the guest.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Returns how many there were before.
    pub(super) fn add_trap(&self) -> u64 {
        self.traps.fetch_add(1, Ordering::Relaxed)
    }
}
