//! The invariants of rollouts (03-jobs.md, section 5; 14-decisions.md, 7 and 18), judged of each step
//! of the planner: what it does itself, not what hosts do to it.

use pliant_core::{FactKind, State, state::Rollout};
use pliant_types::{JobUid, spec::RolloutStrategy};

/// Panics when a step of the planner breaks one.
pub fn hold(before: &State, facts: &[FactKind], after: &State) {
    for (uid, job) in before.jobs.iter() {
        let Some(rollout) = before.active_rollout(*uid, job.incarnation) else { continue };
        if job.kind.ends() || after.run(*uid, job.incarnation).is_none() {
            continue;
        }
        let lost = facts.iter().filter(|f| matches!(f, FactKind::ExecutionLost { .. })).count();
        availability(before, after, (*uid, rollout), facts, u32::try_from(lost).expect("few"));
        surge(before, after, (*uid, rollout));
        hashes(before, after, (*uid, rollout));
    }
    for fact in facts {
        if let FactKind::ExecutionPlaced { task, version, .. } = fact {
            let failed = before.marks(task.job, *version).failed.is_some()
                && after.marks(task.job, *version).failed.is_some();
            let elsewhere = before.newest_proven(task.job).is_some();
            let ends = before.jobs.get(&task.job).is_some_and(|job| job.kind.ends());
            assert!(ends || !failed || !elsewhere, "case D4: failed version {version} is placed");
        }
    }
}

fn count(state: &State, uid: JobUid, rollout: &Rollout) -> u32 {
    state.index.tally(uid, rollout.incarnation).wanted
}

fn ready(state: &State, uid: JobUid, rollout: &Rollout) -> u32 {
    let tasks = state.tasks_of(uid, rollout.incarnation).filter(|task| task.wanted);
    let ready = tasks.filter(|task| state.executions_of(task).any(|e| e.is_ready())).count();
    u32::try_from(ready).expect("a small number")
}

/// ready >= count - max(maxUnavailable, 1 if StopFirstForced), unless it was less before; lost hosts
/// aside.
fn availability(
    before: &State,
    after: &State,
    (uid, rollout): (JobUid, &Rollout),
    facts: &[FactKind],
    lost: u32,
) {
    let Some(now) = after.rollouts_of(uid).find(|r| r.id == rollout.id) else { return };
    let Some(target) = after.version(uid, now.progress.version) else { return };
    if target.effective.rollout_strategy() == RolloutStrategy::Recreate {
        return;
    }
    let wanted = count(after, uid, rollout);
    let unavailable = target.effective.max_unavailable(wanted);
    let may = if now.progress.forced { unavailable.max(1) } else { unavailable };
    let floor = wanted.saturating_sub(may).min(ready(before, uid, rollout));
    let is = ready(after, uid, rollout);
    let retired = count(before, uid, rollout).saturating_sub(wanted);
    let words = format!("{}: {is} of {wanted} serve, {floor} must after {facts:?}", rollout.id);
    assert!(is + retired + lost >= floor, "{words}");
}

/// live <= count + maxSurge + canaries, unless it was more before.
fn surge(before: &State, after: &State, (uid, rollout): (JobUid, &Rollout)) {
    let Some(now) = after.rollouts_of(uid).find(|r| r.id == rollout.id) else { return };
    let Some(target) = after.version(uid, now.progress.version) else { return };
    let wanted = count(after, uid, rollout);
    let surge = match target.effective.rollout_strategy() {
        RolloutStrategy::BlueGreen => wanted,
        _ => target.effective.max_surge(wanted),
    };
    let canaries = u32::try_from(now.progress.canaries.len()).expect("a small number");
    let live = |state: &State| {
        let tasks = state.tasks_of(uid, rollout.incarnation).filter(|task| task.wanted);
        let live = tasks.flat_map(|task| state.executions_of(task)).filter(|e| e.is_live()).count();
        u32::try_from(live).expect("a small number")
    };
    let most = (wanted + surge + canaries).max(live(before));
    assert!(live(after) <= most, "{}: {} live, {most} may be", rollout.id, live(after));
}

/// At most two templates hold tasks, drains aside: what a superseded rollout left never grows. What
/// is placed is at the target, or at a proven version while there is one.
fn hashes(before: &State, after: &State, (uid, rollout): (JobUid, &Rollout)) {
    let Some(now) = after.rollouts_of(uid).find(|r| r.id == rollout.id && r.is_active()) else {
        return;
    };
    let tasks = after.tasks_of(uid, rollout.incarnation);
    let placed = tasks.flat_map(|task| after.executions_of(task));
    for execution in placed.filter(|e| !before.executions.contains(&e.id)) {
        let version = execution.version;
        let right = after.equal_templates(uid, version, now.progress.version)
            || before.is_proven(uid, version)
            || before.newest_proven(uid).is_none();
        assert!(right, "{}: version {version} of {} is placed", rollout.id, execution.task.number);
    }
}
