//! Placement of tasks without an execution: which may go now, in which order, and why others wait.

use super::{Planner, bucket::Buckets, report::Wait};
use crate::{
    fact::FactKind,
    limits,
    place::{Chosen, Placer, Refused},
    state::{Job, TaskKey, Version},
};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::cmp::Reverse;
use pliant_types::{ExecutionId, HostId, Incarnation, JobUid, Time, codes::WaitCode};

/// A run of a job.
type Run = (JobUid, Incarnation);

pub(super) fn place(planner: &mut Planner, buckets: &Buckets) {
    let mut by_run: BTreeMap<Run, Vec<TaskKey>> = BTreeMap::new();
    for key in &buckets.place {
        by_run.entry((key.job, key.incarnation)).or_default().push(*key);
    }
    for (_, run) in queue(planner, &by_run) {
        place_run(planner, run, &by_run[&run]);
    }
}

/// Runs in the order in which they are served: priority, then the job's age, then the run's.
fn queue(
    planner: &Planner,
    by_run: &BTreeMap<Run, Vec<TaskKey>>,
) -> Vec<((Reverse<u32>, Time), Run)> {
    let mut queue: Vec<_> = by_run
        .keys()
        .filter_map(|run| {
            let job = planner.state.jobs.get(&run.0)?;
            let priority = planner.state.target_version(job, run.1)?.effective.priority();
            Some(((Reverse(priority), job.created_at), *run))
        })
        .collect();
    queue.sort();
    queue
}

fn place_run(planner: &mut Planner, run: Run, keys: &[TaskKey]) {
    let Some(job) = planner.state.jobs.get(&run.0).cloned() else { return };
    let Some(version) = planner.state.target_version(&job, run.1).cloned() else { return };
    let ready = ready(planner, &job, keys);
    if ready.is_empty() {
        return;
    }
    let mut placer = Placer::new(&planner.state, &job, &version.effective, ready.len());
    for key in ready {
        if planner.plan.facts.len() >= limits::PLAN_FACTS {
            planner.plan.more = true;
            wait(planner, key, WaitCode::PlanLimit, "the planner goes on at once".into(), None);
            continue;
        }
        let pinned = planner.state.tasks.get(&key).and_then(|task| task.host);
        match placer.choose(&planner.state, pinned) {
            Ok(chosen) => {
                let fact = placed(planner, key, &version, &chosen);
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
        if older > 0 {
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

fn placed(planner: &Planner, task: TaskKey, version: &Version, chosen: &Chosen) -> FactKind {
    let kept = planner.state.tasks.get(&task).map(|t| t.executions.clone()).unwrap_or_default();
    let forget = (kept.len() > limits::KEPT_EXECUTIONS).then(|| kept[0]);
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
