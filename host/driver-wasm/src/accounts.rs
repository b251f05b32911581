//! What an execution uses against what it may use: memory over all its instances, processor time.
//!
//! Shared by every store of an execution and by the driver that reports usage. Limits may change
//! while guests run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Memory of all instances of one execution, bytes.
#[derive(Debug)]
pub(crate) struct MemoryAccount {
    limit: AtomicU64,
    used: AtomicU64,
    peak: AtomicU64,
}

impl MemoryAccount {
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Self {
            limit: AtomicU64::new(limit_bytes),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, limit_bytes: u64) {
        self.limit.store(limit_bytes, Ordering::Relaxed);
    }

    /// Takes `more` bytes, or says what the total would have been.
    pub(crate) fn take(&self, more: u64) -> Result<(), u64> {
        let limit = self.limit();
        let took = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(more).filter(|total| *total <= limit)
        });
        match took {
            Ok(before) => {
                self.peak.fetch_max(before + more, Ordering::Relaxed);
                Ok(())
            }
            Err(used) => Err(used.saturating_add(more)),
        }
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "only what was taken is given back");
    }
}

/// Processor time of one execution. A share of a core is granted as time goes by; at most
/// [`SAVED`] of wall time may be saved up, so that a burst after idling is bounded.
#[derive(Debug)]
pub(crate) struct CpuAccount {
    used_ns: AtomicU64,
    milli: AtomicU64,
    level: Mutex<Level>,
}

#[derive(Debug)]
struct Level {
    /// What may still be used, nanoseconds of processor time; below 0 after an overdraft.
    credit_ns: i64,
    at: Instant,
}

/// Wall time whose share may be saved up.
const SAVED: Duration = Duration::from_millis(100);

impl CpuAccount {
    pub(crate) fn new(milli: u32, now: Instant) -> Self {
        let milli = u64::from(milli.max(1));
        let level = Level { credit_ns: share(SAVED, milli), at: now };
        Self { used_ns: AtomicU64::new(0), milli: AtomicU64::new(milli), level: Mutex::new(level) }
    }

    pub(crate) fn used(&self) -> Duration {
        Duration::from_nanos(self.used_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn set_milli(&self, milli: u32) {
        self.milli.store(u64::from(milli.max(1)), Ordering::Relaxed);
    }

    /// Books processor time that was used.
    pub(crate) fn book(&self, used: Duration) {
        let used_ns = u64::try_from(used.as_nanos()).unwrap_or(u64::MAX);
        self.used_ns.fetch_add(used_ns, Ordering::Relaxed);
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        level.credit_ns = level.credit_ns.saturating_sub_unsigned(used_ns);
    }

    /// How long to wait before the next use; `None`: there is credit.
    pub(crate) fn wait(&self, now: Instant) -> Option<Duration> {
        let milli = self.milli.load(Ordering::Relaxed);
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(level.at);
        level.at = now;
        let most = share(SAVED, milli);
        level.credit_ns = level.credit_ns.saturating_add(share(passed, milli)).min(most);
        if level.credit_ns > 0 {
            return None;
        }
        let short_ns = level.credit_ns.unsigned_abs() + 1;
        // Nanoseconds of wall time in which the share grows by what is missing.
        Some(Duration::from_nanos(short_ns.saturating_mul(1_000).div_ceil(milli)))
    }
}

fn share(of: Duration, milli: u64) -> i64 {
    let ns = of.as_nanos().saturating_mul(u128::from(milli)) / 1_000;
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_summed_and_refused_beyond_the_limit() {
        let account = MemoryAccount::new(100);
        assert_eq!(account.take(60), Ok(()));
        assert_eq!(account.take(41), Err(101));
        assert_eq!(account.take(40), Ok(()));
        account.give_back(60);
        assert_eq!((account.used(), account.peak()), (40, 100));
        account.set_limit(30);
        assert_eq!(account.take(0), Err(40), "a lower limit counts from now on");
    }

    #[test]
    fn processor_time_is_granted_as_time_goes_by() {
        let start = Instant::now();
        let account = CpuAccount::new(200, start);
        assert_eq!(account.wait(start), None, "20 ms are saved up at the start");
        account.book(Duration::from_millis(30));
        let wait = account.wait(start).unwrap();
        assert!(wait >= Duration::from_millis(50) && wait < Duration::from_millis(51), "{wait:?}");
        assert_eq!(account.wait(start + wait), None);
        account.set_milli(1_000);
        account.book(Duration::from_millis(10));
        let wait = account.wait(start + wait).unwrap();
        assert!(wait <= Duration::from_millis(11), "{wait:?}");
        assert_eq!(account.used(), Duration::from_millis(40));
    }
}
