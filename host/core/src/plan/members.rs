//! Members of daemon and ops jobs: one task on each eligible host.
//!
//! Task numbers follow the order in which hosts first matched (02-architecture.md, "Settled").

use super::Planner;
use crate::{
    fact::FactKind,
    place::eligible,
    state::{Job, TaskKey, Wanted},
};
use alloc::{collections::BTreeSet, vec::Vec};
use pliant_types::{HostId, Incarnation, Kind, TaskNumber};

pub(super) fn follow_hosts(planner: &mut Planner) {
    let open: Vec<_> = planner.state.index.open_jobs().collect();
    for uid in open {
        let Some(job) = planner.state.jobs.get(&uid).cloned() else { continue };
        if !job.kind.follows_hosts() || job.wanted != Wanted::Running {
            continue;
        }
        let active: Vec<_> = planner.state.active_runs(uid).map(|(number, _)| number).collect();
        for incarnation in active {
            if !add_members(planner, &job, incarnation) {
                return;
            }
        }
    }
}

fn add_members(planner: &mut Planner, job: &Job, incarnation: Incarnation) -> bool {
    let fixed = planner.state.run(job.uid, incarnation).is_some_and(|run| run.members_fixed);
    if job.kind == Kind::Ops && fixed {
        return true;
    }
    let missing = hosts_without_member(planner, job, incarnation);
    let first = planner
        .state
        .tasks_of(job.uid, incarnation)
        .next_back()
        .map_or(0, |task| task.key.number.get() + 1);
    let found = !missing.is_empty() || first > 0;
    for (number, host) in (first..).zip(missing) {
        let task = TaskKey { job: job.uid, incarnation, number: TaskNumber::new(number) };
        if !planner.propose(FactKind::TaskAdded { task, host }) {
            return false;
        }
    }
    if job.kind == Kind::Ops && found {
        return planner.propose(FactKind::MembersFixed { job: job.uid, incarnation });
    }
    true
}

fn hosts_without_member(planner: &Planner, job: &Job, incarnation: Incarnation) -> Vec<HostId> {
    let state = &planner.state;
    let Some(version) = state.target_version(job, incarnation) else { return Vec::new() };
    let have: BTreeSet<_> =
        state.tasks_of(job.uid, incarnation).filter_map(|task| task.host).collect();
    state
        .hosts
        .iter()
        .filter(|(id, host)| !have.contains(id) && eligible(&version.effective, host).is_ok())
        .map(|(id, _)| *id)
        .collect()
}
