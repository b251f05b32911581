//! Cluster time: seeded once a term, then advanced by the monotonic clock (14-decisions.md, 13).

use pliant_types::Time;
use std::time::{Duration, Instant, SystemTime};

/// A running cluster time.
#[derive(Clone, Copy, Debug)]
pub struct ClusterClock {
    seed: Time,
    started: Instant,
}

impl ClusterClock {
    /// Seeds the time with the newest journaled one or the wall clock, whichever is later.
    #[must_use]
    pub fn seeded(journaled: Time) -> Self {
        let wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO)
            .as_millis();
        let wall = Time::from_millis(u64::try_from(wall).unwrap_or(0));
        Self { seed: journaled.max(wall), started: Instant::now() }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        let passed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Time::from_millis(self.seed.millis().saturating_add(passed))
    }

    /// How long until a time; zero when it is over.
    #[must_use]
    pub fn until(&self, time: Time) -> Duration {
        Duration::from_millis(time.since(self.now()).get())
    }
}
