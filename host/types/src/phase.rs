//! Where an execution is (phase) and how it fares (health): two things that are never mixed.

use serde::{Deserialize, Serialize};

/// Where an execution is. Phases only go forward (law 11).
#[derive(
    Clone,
    Copy,
    Debug,
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
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum Phase {
    /// Decided, the agent has not begun.
    #[n(0)]
    Placed,
    /// The agent fetches, verifies, compiles.
    #[n(1)]
    Preparing,
    /// From the first start until stopping, restarts in place included.
    #[n(2)]
    Running,
    /// Asked to end, not confirmed.
    #[n(3)]
    Stopping,
    /// Ended with success by itself.
    #[n(4)]
    Completed,
    /// Ended without success and without being asked.
    #[n(5)]
    Failed,
    /// Ended because it was asked to.
    #[n(6)]
    Stopped,
    /// Its host is lost, or came back without it.
    #[n(7)]
    Lost,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 8] = [
        Self::Placed,
        Self::Preparing,
        Self::Running,
        Self::Stopping,
        Self::Completed,
        Self::Failed,
        Self::Stopped,
        Self::Lost,
    ];

    /// Whether nothing follows.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Stopped | Self::Lost)
    }

    /// Whether `next` may follow this phase: forward only, final ones are final.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        !self.is_final() && next > self
    }

    /// The word in text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::Preparing => "preparing",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Lost => "lost",
        }
    }
}

impl core::fmt::Display for Phase {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where the current attempt of a running execution is (14-decisions.md, 11).
#[derive(
    Clone,
    Copy,
    Debug,
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
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum AttemptState {
    /// Waiting for its restart back-off.
    #[n(0)]
    Waiting,
    /// Fetching, verifying, compiling.
    #[n(1)]
    Preparing,
    /// The engine was told to start.
    #[n(2)]
    Starting,
    /// The guest runs.
    #[n(3)]
    Up,
    /// The guest has ended.
    #[n(4)]
    Ended,
}

/// How an execution fares, apart from its phase.
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
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum Health {
    /// Nobody could say yet, or the agent is silent.
    #[default]
    #[n(0)]
    Unknown,
    /// Started, live and ready.
    #[n(1)]
    Healthy,
    /// A probe or the guest says no.
    #[n(2)]
    Unhealthy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::String};

    #[test]
    fn the_whole_matrix_of_phases() {
        let mut matrix = String::new();
        for from in Phase::ALL {
            let row: String =
                Phase::ALL.iter().map(|to| if from.may_become(*to) { 'x' } else { '.' }).collect();
            matrix.push_str(&format!("{from:<10} {row}\n"));
        }
        expect_test::expect![[r#"
            placed     .xxxxxxx
            preparing  ..xxxxxx
            running    ...xxxxx
            stopping   ....xxxx
            completed  ........
            failed     ........
            stopped    ........
            lost       ........
        "#]]
        .assert_eq(&matrix);
    }
}
