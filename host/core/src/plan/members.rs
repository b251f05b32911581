//! Members of daemon and ops jobs: one task on each eligible host.
//!
//! Task numbers follow the order in which hosts first matched (02-architecture.md, "Settled").

use super::Planner;
use crate::{
    fact::FactKind,
    place::eligible,
    state::{IncarnationKey, Job, TaskKey, Wanted},
};
use alloc::{collections::BTreeSet, vec::Vec};
use pliant_types::{HostId, Kind, TaskNumber};

pub(super) fn follow_hosts(planner: &mut Planner) {
    let open: Vec<_> = planner.state.index.open_jobs().collect();
    for uid in open {
        let Some(job) = planner.state.jobs.get(&uid).cloned() else { continue };
        let follows =
            job.kind.follows_hosts() && job.wanted == Wanted::Running && job.ended.is_none();
        if follows && !add_members(planner, &job) {
            return;
        }
    }
}

fn add_members(planner: &mut Planner, job: &Job) -> bool {
    let run = IncarnationKey { job: job.uid, incarnation: job.incarnation };
    let fixed = planner.state.incarnations.get(&run).is_some_and(|r| r.members_fixed);
    if job.kind == Kind::Ops && fixed {
        return true;
    }
    let missing = hosts_without_member(planner, job);
    let first = planner
        .state
        .tasks_of(job.uid, job.incarnation)
        .next_back()
        .map_or(0, |task| task.key.number.get() + 1);
    let found = !missing.is_empty() || first > 0;
    for (number, host) in (first..).zip(missing) {
        let task =
            TaskKey { job: job.uid, incarnation: job.incarnation, number: TaskNumber::new(number) };
        if !planner.propose(FactKind::TaskAdded { task, host }) {
            return false;
        }
    }
    if job.kind == Kind::Ops && found {
        return planner
            .propose(FactKind::MembersFixed { job: job.uid, incarnation: job.incarnation });
    }
    true
}

fn hosts_without_member(planner: &Planner, job: &Job) -> Vec<HostId> {
    let state = &planner.state;
    let Some(version) = state.current_version(job) else { return Vec::new() };
    let have: BTreeSet<_> =
        state.tasks_of(job.uid, job.incarnation).filter_map(|task| task.host).collect();
    state
        .hosts
        .iter()
        .filter(|(id, host)| !have.contains(id) && eligible(&version.effective, host).is_ok())
        .map(|(id, _)| *id)
        .collect()
}
