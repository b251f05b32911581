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
use pliant_types::{ExecutionId, HostId, JobUid, Time, codes::WaitCode};

pub(super) fn place(planner: &mut Planner, buckets: &Buckets) {
    let mut by_job: BTreeMap<JobUid, Vec<TaskKey>> = BTreeMap::new();
    for key in &buckets.place {
        by_job.entry(key.job).or_default().push(*key);
    }
    for (_, uid) in queue(planner, &by_job) {
        place_job(planner, uid, &by_job[&uid]);
    }
}

/// Jobs in the order in which they are served: priority, then age.
fn queue(
    planner: &Planner,
    by_job: &BTreeMap<JobUid, Vec<TaskKey>>,
) -> Vec<((Reverse<u32>, Time), JobUid)> {
    let mut queue: Vec<_> = by_job
        .keys()
        .filter_map(|uid| {
            let job = planner.state.jobs.get(uid)?;
            let priority = planner.state.current_version(job)?.effective.priority();
            Some(((Reverse(priority), job.created_at), *uid))
        })
        .collect();
    queue.sort();
    queue
}

fn place_job(planner: &mut Planner, uid: JobUid, keys: &[TaskKey]) {
    let Some(job) = planner.state.jobs.get(&uid).cloned() else { return };
    let Some(version) = planner.state.current_version(&job).cloned() else { return };
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
    let tally = planner.state.index.tally(job.uid, job.incarnation);
    let older = planner.state.index.job_live(job.uid).saturating_sub(tally.live);
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
