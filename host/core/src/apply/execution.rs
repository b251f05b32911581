//! Facts about executions.

use crate::{
    State,
    fact::{Fact, FactKind},
    state::{Execution, IncarnationKey},
};
use alloc::{collections::BTreeMap, vec::Vec};
use pliant_types::{
    Attempt, ExecutionId, ExitReason, ExitStatus, Health, HostId, Phase, Time,
    assignment::{Desired, InPlace},
    phase::AttemptState,
    report::Observation,
};

pub(super) fn apply(state: &mut State, fact: &Fact) {
    match &fact.kind {
        FactKind::ExecutionPlaced { .. } => place(state, fact),
        FactKind::ExecutionRelabelled { execution, version } => {
            change(state, *execution, |e| {
                let before = Some(e.version);
                for named in [&mut e.obeys, &mut e.refused, &mut e.cannot] {
                    *named = if *named == before { Some(*version) } else { *named };
                }
                e.version = *version;
            });
        }
        FactKind::ExecutionStopRequested { execution, cause, kill } => {
            change(state, *execution, |e| {
                e.desired = Desired::Stop { kill: *kill };
                e.stop = Some(*cause);
                e.healthy_since = None;
                if e.phase.may_become(Phase::Stopping) {
                    e.phase = Phase::Stopping;
                }
            });
        }
        FactKind::ExecutionChanged { execution, version, in_place, cpu, memory } => {
            change(state, *execution, |e| {
                e.obeys = e.obeys.or(Some(e.version));
                e.version = *version;
                e.in_place = *in_place;
                e.changed_at = Some(fact.at);
                (e.cpu, e.memory) = (*cpu, *memory);
            });
        }
        FactKind::ExecutionResized { execution, cpu, memory } => {
            change(state, *execution, |e| (e.cpu, e.memory) = (*cpu, *memory));
        }
        FactKind::ExecutionObserved { observation } => observe(state, observation, fact.at),
        FactKind::ExecutionLost { execution } => change(state, *execution, |e| {
            e.phase = Phase::Lost;
            e.health = Health::Unknown;
            e.healthy_since = None;
            e.exit = Some(ExitStatus::of(ExitReason::HostLost));
            e.ended_at = Some(fact.at);
        }),
        _ => {}
    }
}

fn place(state: &mut State, fact: &Fact) {
    let FactKind::ExecutionPlaced { execution, task, version, host, fence, .. } = &fact.kind else {
        return;
    };
    let FactKind::ExecutionPlaced { cpu, memory, static_ports, forget, .. } = &fact.kind else {
        return;
    };
    let placed = Execution {
        id: *execution,
        task: *task,
        version: *version,
        host: *host,
        fence: *fence,
        cpu: *cpu,
        memory: *memory,
        static_ports: static_ports.clone(),
        placed_at: fact.at,
        phase: Phase::Placed,
        desired: Desired::Run,
        stop: None,
        attempt: Attempt::FIRST,
        attempt_state: AttemptState::Waiting,
        health: Health::Unknown,
        ports: BTreeMap::new(),
        exit: None,
        results: None,
        started_at: None,
        ended_at: None,
        healthy_since: None,
        obeys: None,
        obeys_since: None,
        changed_at: None,
        refused: None,
        in_place: InPlace::Live,
        judged: false,
        dipped_at: None,
        cannot: None,
    };
    state.counters.execution = state.counters.execution.max(execution.get());
    state.index.charge(&placed);
    state.executions.insert(*execution, placed);
    if let Some(old) = forget {
        state.executions.remove(old);
    }
    state.tasks.change(task, |t| {
        let kept: Vec<_> = t.executions.iter().copied().filter(|id| Some(*id) != *forget).collect();
        t.executions = kept;
        t.executions.push(*execution);
        t.retry_at = None;
    });
    bump(state, *host);
    state.touch_host(*host);
    state.touch_task(*task);
}

fn observe(state: &mut State, seen: &Observation, at: Time) {
    change(state, seen.execution, |e| {
        let same_attempt = e.attempt == seen.attempt;
        if e.phase.may_become(seen.phase) {
            e.phase = seen.phase;
        }
        e.attempt = e.attempt.max(seen.attempt);
        e.attempt_state = seen.attempt_state;
        e.health = seen.health;
        e.ports.clone_from(&seen.ports);
        e.exit.clone_from(&seen.exit);
        e.results.clone_from(&seen.results);
        if let Some(version) = seen.version.filter(|version| e.obeys != Some(*version)) {
            e.obeys = Some(version);
            e.obeys_since = Some(at);
        }
        e.refused = seen.refused;
        e.cannot = seen.refused.or(e.cannot);
        let healthy = e.is_up() && e.health == Health::Healthy;
        let since = e.healthy_since.filter(|_| same_attempt).unwrap_or(at);
        if e.healthy_since.is_some() && (!healthy || !same_attempt) {
            e.dipped_at = Some(at);
        }
        e.healthy_since = healthy.then_some(since);
        if seen.attempt_state == AttemptState::Up && e.started_at.is_none() {
            e.started_at = Some(at);
        }
        if e.phase.is_final() {
            e.ended_at = Some(at);
            e.health = Health::Unknown;
            e.healthy_since = None;
        }
    });
    let up = seen.attempt_state == AttemptState::Up;
    if let Some(key) = state.executions.get(&seen.execution).filter(|_| up).map(|e| e.task)
        && state.tasks.get(&key).is_some_and(|task| !task.started)
    {
        state.tasks.change(&key, |task| task.started = true);
        state.touch_task(key);
    }
    if let Some(task) = state.executions.get(&seen.execution).filter(|_| up).map(|e| e.task) {
        let run = IncarnationKey { job: task.job, incarnation: task.incarnation };
        if state.incarnations.get(&run).is_some_and(|run| run.first_up_at.is_none()) {
            state.incarnations.change(&run, |run| run.first_up_at = Some(at));
        }
    }
}

/// Changes an execution; what follows from the change (its release, its host's assignment, the
/// indexes) is done here for every fact alike.
fn change(state: &mut State, id: ExecutionId, change: impl FnOnce(&mut Execution)) {
    let Some(before) = state.executions.get(&id).cloned() else { return };
    state.executions.change(&id, change);
    let Some(after) = state.executions.get(&id).cloned() else { return };
    let holds = (before.cpu, before.memory) != (after.cpu, after.memory);
    if before.is_live() && (holds || !after.is_live()) {
        state.index.release(&before);
        if after.is_live() {
            state.index.charge(&after);
        }
        settle(state, after.host);
    }
    let same_for_host = before.desired == after.desired
        && before.version == after.version
        && before.in_place == after.in_place
        && before.is_live() == after.is_live();
    if !same_for_host {
        bump(state, after.host);
    }
    state.touch_host(after.host);
    state.touch_task(after.task);
}

fn bump(state: &mut State, host: HostId) {
    state.hosts.change(&host, |h| h.generation = h.generation.next());
}

/// Ends an oversubscription once the executions fit again.
fn settle(state: &mut State, host: HostId) {
    let load = state.index.load(host);
    let fits = state
        .hosts
        .get(&host)
        .filter(|h| h.oversubscribed)
        .is_some_and(|h| load.cpu <= h.description.cpu && load.memory <= h.description.memory);
    if fits {
        state.hosts.change(&host, |h| h.oversubscribed = false);
    }
}
