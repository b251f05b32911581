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

/// Invariant: a task has at most one live execution (law 10), keeps only executions that exist and
/// are its own, and belongs to a job that exists.
fn tasks(state: &State, broken: &mut impl FnMut(String)) {
    for (key, task) in state.tasks.iter() {
        let own: Vec<_> =
            task.executions.iter().filter_map(|id| state.executions.get(id)).collect();
        let live = own.iter().filter(|e| e.is_live()).count();
        if live > 1 {
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
