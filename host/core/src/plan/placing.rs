//! Placement of tasks without an execution: which may go now, in which order, and why others wait.

use super::{Planner, report::Wait};
use crate::{
    fact::FactKind,
    limits,
    place::{Chosen, Placer, Refused, Want},
    state::{Job, RolloutState, TaskKey, Version},
};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::cmp::Reverse;
use pliant_types::{
    ExecutionId, HostId, Incarnation, JobUid, Time, Version as VersionNumber, codes::WaitCode,
    spec::RolloutStrategy,
};

/// A run of a job.
type Run = (JobUid, Incarnation);

/// Its place in the queue, the smallest first.
type Turn = (bool, Reverse<u32>, Time);

pub(super) fn place(planner: &mut Planner, waiting: &[TaskKey]) {
    let mut by_run: BTreeMap<Run, Vec<TaskKey>> = BTreeMap::new();
    for key in waiting {
        by_run.entry((key.job, key.incarnation)).or_default().push(*key);
    }
    for (_, run) in queue(planner, &by_run) {
        place_run(planner, run, &by_run[&run]);
    }
}

/// Runs in the order in which they are served: those whose tasks were stopped for a successor that
/// has its place, then by priority, then by the job's age, then the run's.
fn queue(planner: &Planner, by_run: &BTreeMap<Run, Vec<TaskKey>>) -> Vec<(Turn, Run)> {
    let mut queue: Vec<_> = by_run
        .keys()
        .filter_map(|run| {
            let job = planner.state.jobs.get(&run.0)?;
            let priority = planner.state.target_version(job, run.1)?.effective.priority();
            let moves = planner
                .state
                .active_rollout(run.0, run.1)
                .is_some_and(|r| r.progress.state == RolloutState::Progressing && r.from_another());
            Some(((!moves, Reverse(priority), job.created_at), *run))
        })
        .collect();
    queue.sort();
    queue
}

fn place_run(planner: &mut Planner, run: Run, keys: &[TaskKey]) {
    let Some(job) = planner.state.jobs.get(&run.0).cloned() else { return };
    let ready = ready(planner, &job, keys);
    let mut by_version: BTreeMap<VersionNumber, Vec<TaskKey>> = BTreeMap::new();
    for key in ready {
        let Some(task) = planner.state.tasks.get(&key) else { continue };
        let version = planner.state.placing_version(&job, task);
        by_version.entry(version).or_default().push(key);
    }
    for (version, keys) in by_version {
        if let Some(version) = planner.state.version(job.uid, version).cloned() {
            place_tasks(planner, &job, &version, keys);
        }
    }
}

fn place_tasks(planner: &mut Planner, job: &Job, version: &Version, ready: Vec<TaskKey>) {
    let mut placer = Placer::new(&planner.state, job, &version.effective, ready.len());
    for key in ready {
        if planner.plan.facts.len() >= limits::PLAN_FACTS {
            planner.plan.more = true;
            wait(planner, key, WaitCode::PlanLimit, "the planner goes on at once".into(), None);
            continue;
        }
        let pinned = planner.state.tasks.get(&key).and_then(|task| task.host);
        match placer.choose(&planner.state, Want { pinned, beside: None }) {
            Ok(chosen) => {
                let fact = placed(planner, key, version, &chosen);
                planner.propose(fact);
                placer.placed(&planner.state, chosen.host);
            }
            Err(Refused { code, sentence }) => wait(planner, key, code, sentence, None),
        }
    }
}

/// The tasks that may be placed now; the others get their reason.
fn ready(planner: &mut Planner, job: &Job, keys: &[TaskKey]) -> Vec<TaskKey> {
    let going_on: u32 = planner
        .state
        .active_runs(job.uid)
        .map(|(number, _)| planner.state.index.tally(job.uid, number).live)
        .sum();
    let older = planner.state.index.job_live(job.uid).saturating_sub(going_on);
    let mut ready = Vec::new();
    for key in keys {
        let Some(task) = planner.state.tasks.get(key) else { continue };
        let (failures, retry_at) = (task.failures, task.retry_at);
        if let Some(words) = old_not_ended(planner, job, *key) {
            wait(planner, *key, WaitCode::OldNotEnded, words, None);
        } else if older > 0 {
            let sentence =
                format!("{older} executions of the run before have not confirmed their end");
            wait(planner, *key, WaitCode::StopUnconfirmed, sentence, None);
        } else if let Some(at) = retry_at.filter(|at| *at > planner.now) {
            let (code, sentence) = if failures == 0 {
                (WaitCode::ExclusiveLease, "its lost host may still run it until then".into())
            } else {
                (WaitCode::BackOff, format!("it failed {failures} times in a row"))
            };
            wait(planner, *key, code, sentence, Some(at));
            planner.wake(at);
        } else {
            ready.push(*key);
        }
    }
    ready
}

/// With strategy recreate, nothing of the new version starts before the old one has ended.
fn old_not_ended(planner: &Planner, job: &Job, key: TaskKey) -> Option<String> {
    let rollout = planner.state.active_rollout(job.uid, key.incarnation)?;
    let target = planner.state.version(job.uid, rollout.progress.version)?;
    if job.kind.ends() || target.effective.rollout_strategy() != RolloutStrategy::Recreate {
        return None;
    }
    let old = planner
        .state
        .tasks_of(job.uid, key.incarnation)
        .flat_map(|task| planner.state.executions_of(task))
        .filter(|e| e.is_live())
        .filter(|e| !planner.state.equal_templates(job.uid, e.version, target.record.number))
        .count();
    (old > 0).then(|| format!("{old} executions of the old version have not ended"))
}

fn wait(
    planner: &mut Planner,
    key: TaskKey,
    code: WaitCode,
    sentence: String,
    until: Option<Time>,
) {
    let wait = Wait { incarnation: key.incarnation, tasks: Vec::new(), code, sentence, until };
    planner.plan.report.add(key.job, key.number, wait);
}

/// The fact of a new execution; the oldest ended one of its task falls out when there are too many.
pub(super) fn placed(
    planner: &Planner,
    task: TaskKey,
    version: &Version,
    chosen: &Chosen,
) -> FactKind {
    let known = planner.state.tasks.get(&task);
    let kept = known.map_or(0, |task| task.executions.len());
    let oldest = known.and_then(|task| {
        planner.state.executions_of(task).find(|e| !e.is_live() && e.judged).map(|e| e.id)
    });
    let forget = oldest.filter(|_| kept > limits::KEPT_EXECUTIONS);
    let fence = fence_of(planner, chosen.host);
    FactKind::ExecutionPlaced {
        execution: ExecutionId::new(planner.state.counters.execution + 1),
        task,
        version: version.record.number,
        host: chosen.host,
        fence,
        cpu: version.effective.cpu(),
        memory: version.effective.memory(),
        static_ports: chosen.static_ports.clone(),
        forget,
    }
}

fn fence_of(planner: &Planner, host: HostId) -> pliant_types::Fence {
    planner.state.hosts.get(&host).map_or(pliant_types::Fence::FIRST, |h| h.fence)
}
