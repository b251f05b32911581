//! What follows from the tables and would be slow to search for: names, loads, what needs the planner.
//!
//! Never hashed and never written: `rebuild` makes all of it again, and `check` compares.

use super::{Execution, Job, RequestKey, TaskKey};
use alloc::collections::BTreeSet;
use core::ops::Bound;
use pliant_types::{
    Cpu, ExecutionId, HostId, HostName, Incarnation, JobName, JobUid, Memory, Namespace,
    TaskNumber, Time,
};
use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};

/// What a host's live executions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLoad {
    /// Sum of CPU.
    pub cpu: Cpu,
    /// Sum of memory.
    pub memory: Memory,
    /// Number of executions.
    pub executions: u32,
    /// Static ports.
    pub ports: BTreeSet<u16>,
}

/// Counts of a run's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tasks that the job still has.
    pub wanted: u32,
    /// Live executions of its tasks.
    pub live: u32,
    /// Tasks whose execution is in phase running and asked to run.
    pub up: u32,
    /// Tasks that ended with success.
    pub completed: u32,
    /// Tasks that ended without.
    pub failed: u32,
    /// Tasks that are wanted and have a healthy execution.
    pub healthy: u32,
    /// Tasks that have started at least once.
    pub started: u32,
}

type Map<K, V> = RedBlackTreeMapSync<K, V>;
type Set<K> = RedBlackTreeSetSync<K>;

/// All indexes; cloning shares everything.
#[derive(Clone, Debug, Default)]
pub struct Indexes {
    pub(super) names: Map<(Namespace, JobName), JobUid>,
    pub(super) host_names: Map<HostName, HostId>,
    pub(super) by_host: Set<(HostId, ExecutionId)>,
    pub(super) load: Map<HostId, HostLoad>,
    pub(super) job_hosts: Map<(JobUid, HostId), u32>,
    pub(super) job_live: Map<JobUid, u32>,
    pub(super) tally: Map<(JobUid, Incarnation), Tally>,
    pub(super) counted: Map<TaskKey, Tally>,
    pub(super) attention: Set<TaskKey>,
    pub(super) fenced: Set<HostId>,
    pub(super) open_jobs: Set<JobUid>,
    pub(super) request_times: Set<(Time, RequestKey)>,
    pub(super) rollout_at: Map<(JobUid, Incarnation), Time>,
    pub(super) rollouts: Set<(Time, (JobUid, Incarnation))>,
}

impl Indexes {
    /// The job of a name; a deleted job has none.
    #[must_use]
    pub fn job(&self, namespace: &Namespace, name: &JobName) -> Option<JobUid> {
        self.names.get(&(namespace.clone(), name.clone())).copied()
    }
    /// The host of a name.
    #[must_use]
    pub fn host(&self, name: &HostName) -> Option<HostId> {
        self.host_names.get(name).copied()
    }
    /// Live executions on a host, oldest first.
    pub fn live_on(&self, host: HostId) -> impl Iterator<Item = ExecutionId> {
        let from = (host, ExecutionId::new(0));
        let to = (host, ExecutionId::new(u64::MAX));
        self.by_host.range((Bound::Included(from), Bound::Included(to))).map(|(_, id)| *id)
    }
    /// What a host's executions hold.
    #[must_use]
    pub fn load(&self, host: HostId) -> HostLoad {
        self.load.get(&host).cloned().unwrap_or_default()
    }
    /// Live executions of a job on a host.
    #[must_use]
    pub fn job_on_host(&self, job: JobUid, host: HostId) -> u32 {
        self.job_hosts.get(&(job, host)).copied().unwrap_or(0)
    }
    /// Hosts with live executions of a job, with their number.
    pub fn hosts_of(&self, job: JobUid) -> impl Iterator<Item = (HostId, u32)> {
        let from = (job, HostId::new(0));
        let to = (job, HostId::new(u64::MAX));
        self.job_hosts
            .range((Bound::Included(from), Bound::Included(to)))
            .map(|((_, host), count)| (*host, *count))
    }
    /// Live executions of all runs of a job.
    #[must_use]
    pub fn job_live(&self, job: JobUid) -> u32 {
        self.job_live.get(&job).copied().unwrap_or(0)
    }
    /// Counts of a run's tasks.
    #[must_use]
    pub fn tally(&self, job: JobUid, incarnation: Incarnation) -> Tally {
        self.tally.get(&(job, incarnation)).copied().unwrap_or_default()
    }
    /// Tasks that the planner must look at, in order.
    pub fn attention(&self) -> impl Iterator<Item = TaskKey> {
        self.attention.iter().copied()
    }
    /// Hosts with live executions of an older fence.
    pub fn fenced(&self) -> impl Iterator<Item = HostId> {
        self.fenced.iter().copied()
    }

    /// Jobs that the planner must look at as a whole, in order.
    pub fn open_jobs(&self) -> impl Iterator<Item = JobUid> {
        self.open_jobs.iter().copied()
    }
    /// Remembered requests, oldest first.
    pub fn requests(&self) -> impl Iterator<Item = &(Time, RequestKey)> {
        self.request_times.iter()
    }

    /// Runs whose rollout the planner must look at, soonest first; time 0 is always.
    pub fn rollouts(&self) -> impl Iterator<Item = (Time, (JobUid, Incarnation))> {
        self.rollouts.iter().copied()
    }
    /// Whether the planner must look at any task of a run.
    pub(super) fn run_at_rest(&self, job: JobUid, incarnation: Incarnation) -> bool {
        let key = |number| TaskKey { job, incarnation, number: TaskNumber::new(number) };
        let range = (Bound::Included(key(0)), Bound::Included(key(u32::MAX)));
        self.attention.range(range).next().is_none()
    }

    pub(super) fn set_rollout(&mut self, run: (JobUid, Incarnation), at: Option<Time>) {
        let before = self.rollout_at.get(&run).copied();
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.rollouts.remove_mut(&(before, run));
            self.rollout_at.remove_mut(&run);
        }
        if let Some(at) = at {
            self.rollouts.insert_mut((at, run));
            self.rollout_at.insert_mut(run, at);
        }
    }

    pub(crate) fn add_request(&mut self, at: Time, key: RequestKey) {
        self.request_times.insert_mut((at, key));
    }
    pub(crate) fn remove_request(&mut self, at: Time, key: RequestKey) {
        self.request_times.remove_mut(&(at, key));
    }
    pub(crate) fn set_name(&mut self, job: &Job) {
        self.names.insert_mut((job.namespace.clone(), job.name.clone()), job.uid);
    }
    pub(crate) fn free_name(&mut self, job: &Job) {
        let key = (job.namespace.clone(), job.name.clone());
        if self.names.get(&key) == Some(&job.uid) {
            self.names.remove_mut(&key);
        }
    }
    pub(crate) fn set_host_name(&mut self, name: HostName, host: HostId) {
        self.host_names.insert_mut(name, host);
    }
    pub(crate) fn free_host_name(&mut self, name: &HostName) {
        self.host_names.remove_mut(name);
    }

    /// Charges a new live execution.
    pub(crate) fn charge(&mut self, execution: &Execution) {
        let host = execution.host;
        self.by_host.insert_mut((host, execution.id));
        let mut load = self.load(host);
        load.cpu = Cpu::from_millis(load.cpu.millis() + execution.cpu.millis());
        load.memory = Memory::from_bytes(load.memory.bytes() + execution.memory.bytes());
        load.executions += 1;
        load.ports.extend(execution.static_ports.iter().copied());
        self.load.insert_mut(host, load);
        let job = execution.task.job;
        add(&mut self.job_hosts, (job, host));
        add(&mut self.job_live, job);
    }

    /// Releases an execution that has just become final.
    pub(crate) fn release(&mut self, execution: &Execution) {
        let host = execution.host;
        self.by_host.remove_mut(&(host, execution.id));
        let mut load = self.load(host);
        load.cpu = Cpu::from_millis(load.cpu.millis() - execution.cpu.millis());
        load.memory = Memory::from_bytes(load.memory.bytes() - execution.memory.bytes());
        load.executions -= 1;
        for port in &execution.static_ports {
            load.ports.remove(port);
        }
        self.load.insert_mut(host, load);
        let job = execution.task.job;
        subtract(&mut self.job_hosts, (job, host));
        subtract(&mut self.job_live, job);
    }

    pub(super) fn count(&mut self, key: TaskKey, now: Option<Tally>) {
        let run = (key.job, key.incarnation);
        let before = self.counted.get(&key).copied().unwrap_or_default();
        let mut tally = self.tally(key.job, key.incarnation);
        let after = now.unwrap_or_default();
        tally.wanted = tally.wanted - before.wanted + after.wanted;
        tally.live = tally.live - before.live + after.live;
        tally.up = tally.up - before.up + after.up;
        tally.completed = tally.completed - before.completed + after.completed;
        tally.failed = tally.failed - before.failed + after.failed;
        tally.healthy = tally.healthy - before.healthy + after.healthy;
        tally.started = tally.started - before.started + after.started;
        if tally == Tally::default() {
            self.tally.remove_mut(&run);
        } else {
            self.tally.insert_mut(run, tally);
        }
        match now {
            Some(now) => self.counted.insert_mut(key, now),
            None => {
                self.counted.remove_mut(&key);
            }
        }
    }
}

fn add<K: Ord + Clone>(map: &mut Map<K, u32>, key: K) {
    let count = map.get(&key).copied().unwrap_or(0);
    map.insert_mut(key, count + 1);
}

fn subtract<K: Ord + Clone>(map: &mut Map<K, u32>, key: K) {
    match map.get(&key).copied().unwrap_or(0) {
        0 | 1 => {
            map.remove_mut(&key);
        }
        count => map.insert_mut(key, count - 1),
    }
}
