//! Fact to state: total, infallible, without policy; the only code that changes a state (law 1).
//!
//! A fact that names something unknown changes nothing but the counters: `check` and the sums of
//! the state would show it, and replay never stops half way.

mod execution;
mod host;
mod job;
mod rollout;
mod run;
mod task;

use crate::{
    State,
    fact::{Fact, FactKind},
    state::{NamespaceRecord, Remembered, RequestKey},
};

/// Applies one fact.
pub fn apply(state: &mut State, fact: &Fact) {
    state.counters.revision += 1;
    state.counters.now = state.counters.now.max(fact.at);
    match &fact.kind {
        FactKind::TermStarted { epoch, gap } => {
            state.counters.epoch = epoch.get();
            if let Some(gap) = gap {
                rollout::shift(state, *gap, fact.at);
            }
        }
        FactKind::RequestRemembered { principal, key, body, answer } => {
            let remembered = Remembered { body: *body, answer: answer.clone(), at: fact.at };
            forget_request(state, &(principal.clone(), key.clone()));
            state.index.add_request(fact.at, (principal.clone(), key.clone()));
            state.requests.insert((principal.clone(), key.clone()), remembered);
        }
        FactKind::RequestForgotten { principal, key } => {
            forget_request(state, &(principal.clone(), key.clone()));
        }
        FactKind::JobCreated { .. }
        | FactKind::VersionAdded { .. }
        | FactKind::IncarnationStarted { .. }
        | FactKind::JobSized { .. }
        | FactKind::JobWanted { .. }
        | FactKind::JobEnded { .. }
        | FactKind::JobForgotten { .. }
        | FactKind::VersionForgotten { .. }
        | FactKind::IncarnationForgotten { .. }
        | FactKind::MembersFixed { .. }
        | FactKind::VersionProven { .. }
        | FactKind::VersionFailed { .. }
        | FactKind::VersionTagged { .. }
        | FactKind::VersionUntagged { .. }
        | FactKind::IncarnationMoved { .. }
        | FactKind::IncarnationHalted { .. }
        | FactKind::RunQueued { .. } => job::apply(state, fact),
        FactKind::NamespaceCreated { namespace } => {
            let record = NamespaceRecord { created_at: fact.at };
            state.namespaces.insert(namespace.clone(), record);
        }
        FactKind::NamespaceDeleted { namespace } => state.namespaces.remove(namespace),
        FactKind::RolloutStarted { .. }
        | FactKind::RolloutChanged { .. }
        | FactKind::RolloutForgotten { .. } => rollout::apply(state, fact),
        FactKind::TaskAdded { .. }
        | FactKind::TaskRetired { .. }
        | FactKind::TaskRetried { .. }
        | FactKind::TaskEnded { .. }
        | FactKind::TaskForgotten { .. } => task::apply(state, fact),
        FactKind::ExecutionPlaced { .. }
        | FactKind::ExecutionRelabelled { .. }
        | FactKind::ExecutionStopRequested { .. }
        | FactKind::ExecutionObserved { .. }
        | FactKind::ExecutionChanged { .. }
        | FactKind::ExecutionResized { .. }
        | FactKind::ExecutionLost { .. } => execution::apply(state, fact),
        FactKind::HostRegistered { .. }
        | FactKind::HostDescribed { .. }
        | FactKind::HostStaged { .. }
        | FactKind::HostFenced { .. }
        | FactKind::HostModeSet { .. } => host::apply(state, fact),
    }
}

fn forget_request(state: &mut State, key: &RequestKey) {
    if let Some(at) = state.requests.get(key).map(|kept| kept.at) {
        state.index.remove_request(at, key.clone());
        state.requests.remove(key);
    }
}
