//! Where tasks may and should run.

use super::{constraint::Constraint, words, written};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

written! {
    /// Placement wishes and rules of a job.
    pub struct Placement {
        /// All must hold for a host.
        constraints: Vec<Constraint>,
        /// Preferred, with weights.
        affinities: Vec<Affinity>,
        /// Keys over whose values the tasks are spread.
        spread: Vec<Spread>,
        /// How many tasks may share a host.
        span: Span,
        /// Which of the hosts with room is taken.
        strategy: Strategy,
    }
}

/// A preference: hosts that satisfy it gain its weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Affinity {
    /// What is preferred.
    pub prefer: Constraint,
    /// -100 to 100; 50 when absent.
    #[serde(default, skip_serializing_if = "super::none")]
    pub weight: Option<i32>,
}

/// Tasks are kept even over the values of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spread {
    /// An attribute or `label.KEY`.
    pub over: String,
}

/// How the tasks of a job may share hosts: a word, or a word with a number (`{per-host: 2}`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// No rule.
    Any,
    /// All on the same host.
    OneHost,
    /// At most one on each host.
    OnePerHost,
    /// At most so many on each host.
    PerHost(u32),
    /// On at most so many hosts.
    MaxHosts(u32),
}

words! {
    /// Which of the hosts with room is taken.
    pub enum Strategy {
        /// The fullest one.
        Binpack = "binpack",
        /// The one with the fewest tasks of the job, then the emptiest.
        Spread = "spread",
    }
}
