//! What must have happened at least once over a run of many seeds, so that no run is vacuous.

use std::collections::BTreeMap;

/// The list (07-simulator.md); one that never happened fails the run of many seeds.
pub const MUST_HAPPEN: &[&str] = &[
    "commit unknown and found present",
    "commit unknown and found absent",
    "journal refused for space",
    "writer fenced with a batch in flight",
    "controller crashed before the append",
    "controller crashed between append and release",
    "host declared lost",
    "host back after its tasks were placed elsewhere",
    "leftovers had to end before a host was up again",
    "host rebooted",
    "agent restarted with running tasks",
    "host cut off and back in time",
    "message lost",
    "message doubled",
    "assignment stream broken",
    "task placed again after a failure",
    "task could not be placed",
    "attempt restarted in place",
    "job completed",
    "job failed",
    "same name submitted while the old one dies",
    "job replaced while it runs",
    "rolled back to a proven version",
    "runs beside each other",
    "version waited for the run before it",
    "version proven",
    "rollout failed and went back by itself",
    "rollout waited for a word",
    "rollout superseded",
    "rollout paused",
    "rollout aborted",
    "successor placed beside its task",
    "task stopped before its successor could start",
    "task changed in place",
    "change in place refused",
    "snapshot read at a start",
    "clock jump at a start",
];

/// What has happened, and how often.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// Notes that something of the list happened.
    ///
    /// # Panics
    /// When it is not on the list: a word that nobody looks for is a mistake.
    pub fn note(&mut self, what: &'static str) {
        assert!(MUST_HAPPEN.contains(&what), "{what:?} is not on the list");
        *self.0.entry(what).or_default() += 1;
    }

    /// Adds what happened in another run.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// What of the list never happened.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        MUST_HAPPEN.iter().copied().filter(|what| !self.0.contains_key(what)).collect()
    }
}
