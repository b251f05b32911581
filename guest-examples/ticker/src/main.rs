//! A service that logs a line every interval and does nothing else.
//!
//! `INTERVAL_MS` (1,000 if not set) is the interval; `TICKS`, if set, ends it after so many.

use std::thread::sleep;
use std::time::Duration;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn main() {
    let interval = Duration::from_millis(number("INTERVAL_MS").unwrap_or(1_000));
    let ticks = number("TICKS").unwrap_or(u64::MAX);
    for tick in 1..=ticks {
        println!("tick {tick}");
        sleep(interval);
    }
}
