//! Stops of what nobody wants, relabels, ends of changes in place, tasks that are gone.

use super::{Planner, bucket::Buckets};
use crate::{fact::FactKind, state::Execution};
use alloc::vec::Vec;

pub(super) fn stop_and_relabel(planner: &mut Planner, buckets: Buckets) {
    let stops = buckets.stop.into_iter().map(|(execution, cause, kill)| {
        FactKind::ExecutionStopRequested { execution, cause, kill }
    });
    let relabels = buckets
        .relabel
        .into_iter()
        .map(|(execution, version)| FactKind::ExecutionRelabelled { execution, version });
    let forgotten = buckets.forget.into_iter().map(|task| FactKind::TaskForgotten { task });
    for fact in stops.chain(relabels).chain(forgotten) {
        if !planner.propose(fact) {
            return;
        }
    }
}

/// Ends changes in place that a host has done or refused; before the rollouts, which may want the
/// room that this releases.
pub(super) fn answered_changes(planner: &mut Planner) {
    let tasks = planner.state.index.attention().filter_map(|key| planner.state.tasks.get(&key));
    let asked = tasks.flat_map(|task| planner.state.executions_of(task)).filter(|e| e.is_wanted());
    let facts: Vec<_> = asked.filter_map(|execution| settled(planner, execution)).collect();
    for fact in facts {
        if !planner.propose(fact) {
            return;
        }
    }
}

/// What follows when a host has answered a change in place: a refused one is taken back, the rest of
/// a smaller one is released.
fn settled(planner: &Planner, execution: &Execution) -> Option<FactKind> {
    let state = &planner.state;
    let job = execution.task.job;
    if state.must_revert(execution) {
        let version = execution.runs();
        let effective = &state.version(job, version)?.effective;
        let (cpu, memory) = (effective.cpu(), effective.memory());
        let (execution, in_place) = (execution.id, execution.in_place);
        return Some(FactKind::ExecutionChanged { execution, version, in_place, cpu, memory });
    }
    state.holds_too_much(execution).then(|| {
        let own = state.version(job, execution.version);
        FactKind::ExecutionResized {
            execution: execution.id,
            cpu: own.map_or(execution.cpu, |version| version.effective.cpu()),
            memory: own.map_or(execution.memory, |version| version.effective.memory()),
        }
    })
}
