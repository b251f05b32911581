//! What the end of an execution means for its task: done, failed for good, or placed again.
//!
//! The judgement is a pure function from (execution, version, task) to a verdict.

use super::Planner;
use crate::{
    fact::FactKind,
    limits,
    state::{Execution, Host, StopCause, Task, TaskEnd, TaskKey, Version},
};
use alloc::{format, string::ToString, vec::Vec};
use pliant_types::{
    HostId, Millis, Phase, Time,
    spec::{LossPolicy, RestartPolicy},
};

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Done(TaskEnd),
    Again { failures: u32, retry_at: Option<Time>, host: Option<HostId> },
}

pub(super) fn ended_executions(planner: &mut Planner) {
    let keys: Vec<_> = planner.state.index.attention().collect();
    for key in keys {
        while let Some(facts) = judge_next(planner, key) {
            if !planner.propose_all(facts) {
                return;
            }
        }
    }
}

/// The judgement of the oldest execution of a task that has ended and was not judged.
fn judge_next(planner: &Planner, key: TaskKey) -> Option<Vec<FactKind>> {
    let task = planner.state.tasks.get(&key)?;
    let execution = planner.state.executions_of(task).find(|e| !e.is_live() && !e.judged)?;
    let host = planner.state.hosts.get(&execution.host);
    let verdict = match planner.state.version(key.job, execution.version) {
        Some(version) => judge(task, execution, version, host, planner.now),
        None => Verdict::Again { failures: 0, retry_at: None, host: task.host },
    };
    let judged = execution.id;
    let fact = match verdict {
        Verdict::Done(end) => FactKind::TaskEnded { task: key, judged, end },
        Verdict::Again { failures, retry_at, host } => {
            FactKind::TaskRetried { task: key, judged, failures, retry_at, host }
        }
    };
    let counted = super::rollout::count_failure(planner, execution);
    Some(core::iter::once(fact).chain(counted).collect())
}

fn judge(
    task: &Task,
    execution: &Execution,
    version: &Version,
    host: Option<&Host>,
    now: Time,
) -> Verdict {
    let again = |failures, retry_at| Verdict::Again { failures, retry_at, host: task.host };
    match execution.phase {
        Phase::Completed if version.effective.kind().ends() => Verdict::Done(TaskEnd::Completed),
        Phase::Lost => lost(task, execution, version, host),
        Phase::Stopped if execution.stop == Some(StopCause::HealthyDeadline) => {
            let failures = task.failures + 1;
            again(failures, Some(now.after(back_off(failures))))
        }
        Phase::Stopped => again(task.failures, task.retry_at),
        _ => {
            let failures = if ran_stably(execution) { 1 } else { task.failures + 1 };
            if version.effective.kind().ends() && is_final(version, failures) {
                Verdict::Done(TaskEnd::Failed(words(execution, failures)))
            } else {
                again(failures, Some(now.after(back_off(failures))))
            }
        }
    }
}

fn is_final(version: &Version, failures: u32) -> bool {
    version.effective.restart().policy == RestartPolicy::Never
        || failures >= limits::ENDING_PLACEMENTS
}

fn words(execution: &Execution, failures: u32) -> alloc::string::String {
    let exit = execution.exit.as_ref().map_or_else(|| "unknown".to_string(), ToString::to_string);
    format!("failed on its {failures}. placement: {exit}")
}

fn ran_stably(execution: &Execution) -> bool {
    execution
        .started_at
        .zip(execution.ended_at)
        .is_some_and(|(start, end)| end.since(start).get() >= limits::STABLE_MILLIS)
}

/// 5 s, doubled each time, at most 5 min (03-jobs.md, section 6).
fn back_off(failures: u32) -> Millis {
    let doubled = limits::PLACE_BACKOFF_FIRST_MILLIS
        .checked_shl(failures.saturating_sub(1).min(20))
        .unwrap_or(limits::PLACE_BACKOFF_LONGEST_MILLIS);
    Millis::new(doubled.min(limits::PLACE_BACKOFF_LONGEST_MILLIS))
}

/// A lost host is not the task's failure. An exclusive task waits until its host must have ended
/// it: lease end, drift and its own kill time (14-decisions.md, 14).
fn lost(task: &Task, execution: &Execution, version: &Version, host: Option<&Host>) -> Verdict {
    let effective = &version.effective;
    if effective.kind().ends() && effective.loss_policy() == LossPolicy::Fail {
        return Verdict::Done(TaskEnd::Failed(format!(
            "host-lost: host {} was lost",
            execution.host
        )));
    }
    let lease_end = host.and_then(|h| h.lease_end).filter(|_| effective.exclusive());
    let retry_at = lease_end
        .map(|end| end.after(Millis::new(limits::DRIFT_MILLIS)).after(effective.kill_timeout()));
    let keep = (effective.loss_policy() == LossPolicy::Keep).then_some(execution.host);
    Verdict::Again { failures: task.failures, retry_at, host: task.host.or(keep) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_h10_back_off_doubles_up_to_its_bound_and_never_stops() {
        let secs: Vec<_> = (1..=9).map(|n| back_off(n).get() / 1000).collect();
        assert_eq!(secs, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(back_off(u32::MAX).get(), 300_000);
    }
}
