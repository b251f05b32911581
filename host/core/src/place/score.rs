//! How good a host is for a task: a struct whose field order is the policy.
//!
//! Lower is better. The last field is an id, so that ties are decided the same way everywhere.

use super::Ask;
use crate::state::{Host, HostLoad};
use core::cmp::Reverse;
use pliant_types::{
    HostId,
    spec::{Placement, Strategy},
};

/// A host's score for one more task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// Tasks of the same job there; counts only for the strategy spread.
    crowd: u32,
    /// Sum of the weights of the affinities that hold.
    affinity: Reverse<i64>,
    /// Binpack: the free share after the placement; spread: the used share. In thousandths.
    load: u32,
    /// The host.
    pub(super) host: HostId,
}

/// What a score is made from.
pub(super) struct Input<'a> {
    pub(super) host: &'a Host,
    pub(super) load: &'a HostLoad,
    pub(super) ask: &'a Ask,
    pub(super) placement: &'a Placement,
    pub(super) strategy: Strategy,
    pub(super) same_job: u32,
}

impl Score {
    pub(super) fn of(input: &Input<'_>) -> Self {
        let used = used_permille(input);
        let (crowd, load) = match input.strategy {
            Strategy::Binpack => (0, 1000 - used),
            Strategy::Spread => (input.same_job, used),
        };
        Self { crowd, affinity: Reverse(affinity(input)), load, host: input.host.id }
    }
}

fn affinity(input: &Input<'_>) -> i64 {
    let value = |key: &str| input.host.description.value(key);
    input
        .placement
        .affinities
        .iter()
        .flatten()
        .filter(|affinity| affinity.prefer.holds(value(&affinity.prefer.key)))
        .map(|affinity| i64::from(affinity.weight.unwrap_or(50)))
        .sum()
}

/// Mean of the used shares of CPU and memory after the placement.
fn used_permille(input: &Input<'_>) -> u32 {
    let share = |used: u64, whole: u64| (used.min(whole) * 1000 / whole.max(1)).min(1000);
    let cpu = share(
        u64::from(input.load.cpu.millis()) + u64::from(input.ask.cpu.millis()),
        u64::from(input.host.description.cpu.millis()),
    );
    // Memory in MiB, so that the product stays far below the type's range.
    let mib = |bytes: u64| bytes >> 20;
    let memory = share(
        mib(input.load.memory.bytes()) + mib(input.ask.memory.bytes()),
        mib(input.host.description.memory.bytes()),
    );
    u32::try_from(cpu.midpoint(memory)).unwrap_or(1000)
}
