//! What hosts observe: only changes become facts, and only from the present life of the host.

use super::Decided;
use crate::{
    Rejection, State,
    command::ReportHost,
    fact::FactKind,
    state::{Execution, Host},
};
use alloc::{format, vec::Vec};
use pliant_types::{
    Phase,
    codes::Code,
    report::{MAX_OBSERVATIONS, Observation},
};

pub(super) fn decide(state: &State, asked: &ReportHost) -> Result<Decided, Rejection> {
    let host = state.hosts.get(&asked.host).ok_or_else(|| {
        Rejection::new(Code::HostNotFound, format!("there is no host {}", asked.host))
    })?;
    let report = &asked.report;
    if report.boot != host.description.boot || report.fence != host.fence {
        let message = format!(
            "the report has fence {} and the host {} has fence {}",
            report.fence, host.id, host.fence
        );
        return Err(Rejection::new(Code::Fenced, message));
    }
    if report.observations.len() > MAX_OBSERVATIONS {
        let message = format!("a report has at most {MAX_OBSERVATIONS} observations");
        return Err(Rejection::new(Code::TooLarge, message));
    }
    let facts: Vec<_> =
        report.observations.iter().filter_map(|seen| observe(state, host, seen)).collect();
    Ok(Decided::done(facts))
}

/// A fact where the observation says something new of a live execution of this host; observations
/// of older runs, fences or hosts change nothing (E55, E56, E59).
fn observe(state: &State, host: &Host, seen: &Observation) -> Option<FactKind> {
    let execution = state.executions.get(&seen.execution)?;
    let current = execution.is_live()
        && execution.host == host.id
        && execution.fence == seen.fence
        && execution.task.job == seen.job
        && execution.task.incarnation == seen.incarnation;
    let possible =
        !matches!(seen.phase, Phase::Placed | Phase::Lost) && seen.attempt >= execution.attempt;
    if !current || !possible || !is_news(execution, seen) {
        return None;
    }
    let mut observation = seen.clone();
    observation.detail = None;
    Some(FactKind::ExecutionObserved { observation })
}

fn is_news(execution: &Execution, seen: &Observation) -> bool {
    execution.phase.may_become(seen.phase)
        || execution.attempt != seen.attempt
        || execution.attempt_state != seen.attempt_state
        || execution.health != seen.health
        || execution.ports != seen.ports
        || execution.exit != seen.exit
        || execution.results != seen.results
        || execution.refused != seen.refused
        || seen.version.is_some_and(|version| execution.obeys != Some(version))
}
