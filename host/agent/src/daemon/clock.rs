//! The host's monotonic clock, which goes on while the machine sleeps: leases are counted by it.

use rustix::time::{ClockId, clock_gettime};

use crate::logic::Moment;

/// Milliseconds since the machine's boot.
pub(super) fn now() -> Moment {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let millis = u64::try_from(time.tv_nsec / 1_000_000).unwrap_or(0);
    Moment::new(seconds.saturating_mul(1_000).saturating_add(millis))
}

/// Milliseconds since 1970, for what people read and for the age of files.
pub(super) fn wall_millis() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}
