//! The invariants, judged from the tables alone, independently of the planner (law 6).

use crate::{
    State,
    state::{HostLoad, Wanted},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};
use pliant_types::{Cpu, HostId, Memory};

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which one, and by what.
    pub what: String,
}

/// Every broken invariant; empty after every decision.
#[must_use]
pub fn check(state: &State) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |what: String| violations.push(Violation { what });
    jobs(state, &mut broken);
    tasks(state, &mut broken);
    executions(state, &mut broken);
    hosts(state, &mut broken);
    rollouts(state, &mut broken);
    if !state.index_is_exact() {
        broken("the indexes are not what the tables say".into());
    }
    violations
}

/// Invariant: names are unique among jobs that are not deleted; the current version and the newest
/// run exist; ids are below the counters (law 11).
fn jobs(state: &State, broken: &mut impl FnMut(String)) {
    let mut names = BTreeSet::new();
    for (uid, job) in state.jobs.iter() {
        if job.wanted != Wanted::Deleted && !names.insert((&job.namespace, &job.name)) {
            broken(format!("two jobs are named {}", job.name));
        }
        if state.current_version(job).is_none() {
            broken(format!("{uid} has no version {}", job.current));
        }
        if uid.get() > state.counters.job {
            broken(format!("{uid} was never handed out"));
        }
        let wanted = state.tasks_of(*uid, job.incarnation).filter(|t| t.wanted).count();
        if !job.kind.follows_hosts() && wanted != job.size as usize {
            broken(format!("{uid} has size {} and {wanted} tasks", job.size));
        }
        if job.ended.is_some() && !job.kind.ends() {
            broken(format!("{uid} is a {} job and has ended by itself", job.kind));
        }
    }
}

/// Invariant: of a task's live executions at most one is asked to run and none is beside it that is
/// not being stopped, except under a rollout, which may add one successor; an exclusive task has one
/// live execution at most (law 10). A task keeps only executions that exist and are its own, and
/// belongs to a job that exists.
fn tasks(state: &State, broken: &mut impl FnMut(String)) {
    for (key, task) in state.tasks.iter() {
        let own: Vec<_> =
            task.executions.iter().filter_map(|id| state.executions.get(id)).collect();
        let live = own.iter().filter(|e| e.is_live()).count();
        let asked = own.iter().filter(|e| e.is_wanted()).count();
        if asked > 2 {
            broken(format!("task {key:?} has {asked} executions that are asked to run"));
        }
        let ends = state.jobs.get(&key.job).is_some_and(|job| job.kind.ends());
        let exclusive = own.iter().filter(|e| e.is_live()).any(|e| {
            let version = state.version(key.job, e.version);
            version.is_some_and(|version| version.effective.exclusive())
        });
        if live > 1 && (ends || exclusive) {
            broken(format!("task {key:?} has {live} live executions"));
        }
        if own.len() != task.executions.len() || own.iter().any(|e| e.task != *key) {
            broken(format!("task {key:?} keeps executions that are not its own"));
        }
        if task.end.is_some() && live > 0 {
            broken(format!("task {key:?} is done and has a live execution"));
        }
        if !state.jobs.contains(&key.job) {
            broken(format!("task {key:?} has no job"));
        }
    }
}

/// Invariant: an execution belongs to a task that keeps it, runs on a known host, and a live one
/// runs a version that exists; final phases have an end time.
fn executions(state: &State, broken: &mut impl FnMut(String)) {
    for (id, execution) in state.executions.iter() {
        let kept = state.tasks.get(&execution.task).is_some_and(|t| t.executions.contains(id));
        if !kept {
            broken(format!("{id} is kept by no task"));
        }
        if !state.hosts.contains(&execution.host) {
            broken(format!("{id} is on {}, which is not known", execution.host));
        }
        let version =
            crate::state::VersionKey { job: execution.task.job, version: execution.version };
        if execution.is_live() && !state.versions.contains(&version) {
            broken(format!("{id} runs version {}, which is forgotten", execution.version));
        }
        if execution.is_live() == execution.ended_at.is_some() {
            broken(format!("{id} is {} and its end time says otherwise", execution.phase));
        }
        if id.get() > state.counters.execution {
            broken(format!("{id} was never handed out"));
        }
    }
}

/// Invariant: a run names the one rollout of it that has not ended, and no other is active; an ended
/// one says when; a rollback undoes nothing that was one; the version exists while it is active.
fn rollouts(state: &State, broken: &mut impl FnMut(String)) {
    for (key, rollout) in state.rollouts.iter() {
        let run = state.run(key.job, rollout.incarnation);
        let named = run.and_then(|run| run.rollout) == Some(rollout.id);
        if named != rollout.is_active() {
            broken(format!(
                "{} is {} and its run says otherwise",
                rollout.id, rollout.progress.state
            ));
        }
        if rollout.is_active() == rollout.progress.ended_at.is_some() {
            broken(format!("{} has ended, or has not, at a time", rollout.id));
        }
        if rollout.is_active() && state.version(key.job, rollout.progress.version).is_none() {
            broken(format!(
                "{} moves to version {}, which is gone",
                rollout.id, rollout.progress.version
            ));
        }
        let undone = rollout.undoes.and_then(|id| {
            state.rollouts.get(&crate::state::RolloutKey { job: key.job, rollout: id })
        });
        if undone.is_some_and(|undone| undone.cause.is_rollback()) {
            broken(format!("{} rolls a rollback back", rollout.id));
        }
        if rollout.id.get() > state.counters.rollout {
            broken(format!("{} was never handed out", rollout.id));
        }
    }
}

/// Invariant: what live executions hold of a host fits on it, unless it came back smaller; a static
/// port is held once (D16, D17).
fn hosts(state: &State, broken: &mut impl FnMut(String)) {
    let mut loads: BTreeMap<HostId, HostLoad> = BTreeMap::new();
    for (id, execution) in state.executions.iter().filter(|(_, e)| e.is_live()) {
        let load = loads.entry(execution.host).or_default();
        load.cpu = Cpu::from_millis(load.cpu.millis() + execution.cpu.millis());
        load.memory = Memory::from_bytes(load.memory.bytes() + execution.memory.bytes());
        load.executions += 1;
        for port in &execution.static_ports {
            if !load.ports.insert(*port) {
                broken(format!("{id} holds port {port}, which is already held"));
            }
        }
    }
    for (id, load) in &loads {
        let Some(host) = state.hosts.get(id) else { continue };
        let fits = load.cpu <= host.description.cpu
            && load.memory <= host.description.memory
            && load.executions <= host.description.max_executions;
        if !fits && !host.oversubscribed {
            broken(format!("{id} holds {} and {}, more than it has", load.cpu, load.memory));
        }
    }
}
