//! How much output a guest may write: a token bucket with hysteresis. Told the time; no clock.

/// Seconds of output that may be saved up.
const SAVED_SECONDS: u64 = 10;

/// Once it has run dry, nothing passes until a whole second's worth is there again, so that a
/// flood gives one marker a second and not one a line.
#[derive(Debug)]
pub(super) struct Bucket {
    bytes_per_second: u64,
    level_bytes: u64,
    filled_at_ms: u64,
    dry: bool,
}

impl Bucket {
    pub(super) fn full(bytes_per_second: u64, now_ms: u64) -> Self {
        Self {
            bytes_per_second,
            level_bytes: bytes_per_second.saturating_mul(SAVED_SECONDS),
            filled_at_ms: now_ms,
            dry: false,
        }
    }

    /// Takes `bytes` if they are there. A clock that goes back fills nothing.
    pub(super) fn take(&mut self, bytes: u64, now_ms: u64) -> bool {
        self.fill(now_ms);
        if self.dry && self.level_bytes >= self.bytes_per_second {
            self.dry = false;
        }
        if self.dry || self.level_bytes < bytes {
            self.dry = true;
            return false;
        }
        self.level_bytes -= bytes;
        true
    }

    fn fill(&mut self, now_ms: u64) {
        let passed_ms = now_ms.saturating_sub(self.filled_at_ms);
        let added = self.bytes_per_second.saturating_mul(passed_ms) / 1_000;
        if added > 0 {
            let most = self.bytes_per_second.saturating_mul(SAVED_SECONDS);
            self.level_bytes = self.level_bytes.saturating_add(added).min(most);
            self.filled_at_ms = now_ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_what_was_saved_then_waits_for_a_second_of_it() {
        let mut bucket = Bucket::full(100, 0);
        assert!(bucket.take(1_000, 0));
        assert!(!bucket.take(1, 0));
        assert!(!bucket.take(1, 500), "half a second is not enough after running dry");
        assert!(bucket.take(1, 1_000));
        assert!(!bucket.take(100, 1_000));
    }

    #[test]
    fn small_steps_of_time_are_not_lost() {
        let mut bucket = Bucket::full(100, 0);
        assert!(bucket.take(1_000, 0));
        assert!(!bucket.take(1, 0));
        let passed = (1..=1_000).filter(|ms| bucket.take(1, *ms)).count();
        assert_eq!(passed, 1, "only the last millisecond completes the second");
    }
}
