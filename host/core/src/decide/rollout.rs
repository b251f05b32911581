//! How rollouts begin and what people do to them: pause, resume, promote, abort.
//!
//! What moves an active rollout on is the planner's (`plan::rollout`); both end a rollout by the
//! same functions here, so that an abort and a failure cannot mean different things.

use super::{Decided, job};
use crate::{
    Answer, Rejection, State,
    command::{RolloutCommand, RolloutVerb},
    fact::FactKind,
    limits,
    state::{
        Job, Progress, Rollout, RolloutCause, RolloutReason, RolloutState, Version, VersionRecord,
    },
};
use alloc::{boxed::Box, format, string::String, vec, vec::Vec};
use pliant_types::{
    Effective, Incarnation, JobUid, RolloutId, Time, Version as VersionNumber, codes::Code,
    spec::RolloutStrategy,
};

/// A rollout to be, for [`begin`].
#[derive(Clone, Copy)]
pub(crate) struct Begin {
    pub(crate) incarnation: Incarnation,
    pub(crate) version: VersionNumber,
    pub(crate) cause: RolloutCause,
    pub(crate) from: Option<VersionNumber>,
    pub(crate) undoes: Option<RolloutId>,
}

/// The facts that end every active rollout of the runs in question and begin a new one, all in the
/// decision that makes the version (03-jobs.md, section 5).
pub(crate) fn begin(
    state: &State,
    job: &Job,
    effective: &Effective,
    (begin, now): (Begin, Time),
) -> Vec<FactKind> {
    let mut facts = Vec::new();
    if let Some(active) = state.active_rollout(job.uid, begin.incarnation) {
        let words = format!("version {} took over", begin.version);
        let over = (RolloutReason::Superseded, words);
        facts.push(end(job, active, RolloutState::Superseded, over, now));
    }
    facts.extend(forgotten(state, job));
    facts.push(started(state, job.uid, effective, (begin, now)));
    facts
}

/// The fact of a rollout that begins. A job that ends has no clock until a task is placed
/// (14-decisions.md, 5).
pub(crate) fn started(
    state: &State,
    job: JobUid,
    effective: &Effective,
    (begin, now): (Begin, Time),
) -> FactKind {
    let deadline = (!effective.kind().ends()).then(|| now.after(effective.progress_deadline()));
    let Begin { incarnation, version, cause, from, undoes } = begin;
    let rollout = Rollout {
        id: RolloutId::new(state.counters.rollout + 1),
        incarnation,
        cause,
        from,
        undoes,
        started_at: now,
        progress: Progress::new(version, deadline),
    };
    FactKind::RolloutStarted { job, rollout: Box::new(rollout) }
}

/// Final rollouts beyond the kept ones, oldest first.
fn forgotten(state: &State, job: &Job) -> Vec<FactKind> {
    let over: Vec<_> = state.rollouts_of(job.uid).filter(|rollout| !rollout.is_active()).collect();
    let surplus = over.len().saturating_sub(limits::KEPT_ROLLOUTS);
    over.into_iter()
        .take(surplus)
        .map(|rollout| FactKind::RolloutForgotten { job: job.uid, rollout: rollout.id })
        .collect()
}

/// The fact that ends a rollout.
pub(crate) fn end(
    job: &Job,
    rollout: &Rollout,
    state: RolloutState,
    reason: (RolloutReason, String),
    now: Time,
) -> FactKind {
    let progress = Box::new(rollout.progress.ended(state, reason, now));
    FactKind::RolloutChanged { job: job.uid, rollout: rollout.id, progress, asked: false }
}

/// The facts that cancel every active rollout of a job that is stopped or deleted, or of one run.
pub(crate) fn cancelled(
    state: &State,
    job: &Job,
    run: Option<Incarnation>,
    (reason, words): (RolloutReason, &str),
    now: Time,
) -> Vec<FactKind> {
    state
        .active_runs(job.uid)
        .filter(|(number, _)| run.is_none_or(|run| run == *number))
        .filter_map(|(number, _)| state.active_rollout(job.uid, number))
        .map(|rollout| end(job, rollout, RolloutState::Cancelled, (reason, words.into()), now))
        .collect()
}

/// The facts of a rollout that failed: its end, the version's mark and, where the spec wants it and
/// there is somewhere to go, the way back to a copy of the newest proven version.
pub(crate) fn failed(
    state: &State,
    job: &Job,
    rollout: &Rollout,
    (reason, message): (RolloutReason, String),
    now: Time,
) -> Vec<FactKind> {
    let version = rollout.progress.version;
    let mut facts = vec![end(job, rollout, RolloutState::Failed, (reason, message.clone()), now)];
    if !state.is_proven(job.uid, version) {
        let reason = format!("rollout {}: {message}", rollout.id);
        facts.push(FactKind::VersionFailed { job: job.uid, version, reason });
    }
    if let Some(target) = way_back(state, job, rollout) {
        facts.extend(back_to(state, job, (rollout, target), &message, now));
    }
    facts
}

/// Where a failed rollout goes back to: the newest proven version with another template.
pub(crate) fn way_back<'a>(state: &'a State, job: &Job, rollout: &Rollout) -> Option<&'a Version> {
    let own = state.version(job.uid, rollout.progress.version)?;
    let wanted = own.effective.auto_rollback()
        && !job.kind.ends()
        && !rollout.cause.is_rollback()
        && job.wanted == crate::state::Wanted::Running;
    let proven = state.versions_of(job.uid).rev().find(|version| {
        version.record.template_hash != own.record.template_hash
            && state.marks(job.uid, version.record.number).proven_at.is_some()
    });
    proven.filter(|_| wanted)
}

fn back_to(
    state: &State,
    job: &Job,
    (rollout, target): (&Rollout, &Version),
    why: &str,
    now: Time,
) -> Vec<FactKind> {
    let number = job.current.next();
    let failed = rollout.progress.version;
    let mut message = format!("version {failed} failed in rollout {}: {why}", rollout.id);
    if message.len() > limits::MESSAGE_BYTES {
        let cut = message.floor_char_boundary(limits::MESSAGE_BYTES - 4);
        message.truncate(cut);
        message.push('…');
    }
    let record = Box::new(VersionRecord {
        number,
        author: "pliant".into(),
        message: Some(message),
        at: now,
        from: Some(target.record.number),
        ..target.record.as_ref().clone()
    });
    let begin = Begin {
        incarnation: rollout.incarnation,
        version: number,
        cause: RolloutCause::AutoRollback,
        from: Some(failed),
        undoes: Some(rollout.id),
    };
    let kept = super::version::Newest { number, proven: true };
    let mut facts = vec![
        FactKind::VersionAdded { job: job.uid, record },
        FactKind::VersionProven { job: job.uid, version: number },
    ];
    facts.extend(super::version::forgotten(state, job, kept));
    facts.push(started(state, job.uid, &target.effective, (begin, now)));
    facts
}

/// What people do to the active rollout of a job's newest run.
pub(super) fn verb(
    state: &State,
    asked: &RolloutCommand,
    by: &crate::Principal,
    now: Time,
) -> Result<Decided, Rejection> {
    let job = job::find(state, &asked.job)?;
    job::check_expect(Some(job), asked.expect)?;
    let rollout = find(state, job, asked.rollout)?;
    let progress = match asked.verb {
        RolloutVerb::Pause => pause(job, rollout, now)?,
        RolloutVerb::Resume => resume(job, rollout, now)?,
        RolloutVerb::Promote => promote(state, job, rollout, now)?,
        RolloutVerb::Abort => {
            let words = format!("aborted by {}", by.0);
            let facts = failed(state, job, rollout, (RolloutReason::Aborted, words), now);
            return Ok(answered(state, job, facts.into_iter().map(asked_for).collect()));
        }
    };
    let facts = progress.map(|progress| FactKind::RolloutChanged {
        job: job.uid,
        rollout: rollout.id,
        progress: Box::new(progress),
        asked: true,
    });
    Ok(answered(state, job, facts.into_iter().collect()))
}

fn asked_for(fact: FactKind) -> FactKind {
    match fact {
        FactKind::RolloutChanged { job, rollout, progress, .. } => {
            FactKind::RolloutChanged { job, rollout, progress, asked: true }
        }
        other => other,
    }
}

fn answered(state: &State, job: &Job, facts: Vec<FactKind>) -> Decided {
    let spec_revision = super::revision_after(state, &facts, job.spec_revision);
    Decided { facts, answer: Answer::Job { uid: job.uid, spec_revision } }
}

/// The rollout that is meant: by its id, or the active one of the newest run.
fn find<'a>(state: &'a State, job: &Job, id: Option<RolloutId>) -> Result<&'a Rollout, Rejection> {
    let newest = state.active_rollout(job.uid, job.incarnation);
    let found = match id {
        Some(id) => state.rollouts_of(job.uid).find(|rollout| rollout.id == id),
        None => newest,
    };
    match found {
        Some(rollout) if rollout.is_active() => Ok(rollout),
        Some(rollout) => {
            let message = format!("rollout {} is {}", rollout.id, rollout.progress.state);
            Err(Rejection::new(Code::WrongState, message).hint(hint_of(job, newest)))
        }
        None => {
            let message = match id {
                Some(id) => format!("job {} has no rollout {id}", job.name),
                None => format!("no rollout of job {} is under way", job.name),
            };
            Err(Rejection::new(Code::RolloutNotFound, message)
                .hint(format!("list them with `pliant rollout list {}`", job.name)))
        }
    }
}

fn hint_of(job: &Job, newest: Option<&Rollout>) -> String {
    match newest {
        Some(rollout) => format!("the active one is {}", rollout.id),
        None => format!("list them with `pliant rollout list {}`", job.name),
    }
}

fn wrong(job: &Job, rollout: &Rollout, what: &str) -> Rejection {
    let state = rollout.progress.state;
    let message = format!("rollout {} is {state} and {what}", rollout.id);
    Rejection::new(Code::WrongState, message)
        .hint(format!("look at it with `pliant rollout status {}`", job.name))
}

/// The clocks stand; what was left of them is kept.
fn pause(job: &Job, rollout: &Rollout, now: Time) -> Result<Option<Progress>, Rejection> {
    let progress = &rollout.progress;
    if job.kind.ends() {
        return Err(wrong(job, rollout, "a batch or ops job is not paused; stop it instead"));
    }
    if progress.state == RolloutState::Paused {
        return Ok(None);
    }
    let left = |at: Option<Time>| at.map(|at| at.since(now));
    Ok(Some(Progress {
        state: RolloutState::Paused,
        before: Some(progress.state),
        left: left(progress.deadline),
        until_left: left(progress.until),
        deadline: None,
        until: None,
        ..progress.clone()
    }))
}

fn resume(job: &Job, rollout: &Rollout, now: Time) -> Result<Option<Progress>, Rejection> {
    let progress = &rollout.progress;
    let Some(before) = progress.before.filter(|_| progress.state == RolloutState::Paused) else {
        return Err(wrong(job, rollout, "is not paused"));
    };
    Ok(Some(Progress {
        state: before,
        before: None,
        deadline: progress.left.map(|left| now.after(left)),
        until: progress.until_left.map(|left| now.after(left)),
        left: None,
        until_left: None,
        resumed_at: Some(now),
        ..progress.clone()
    }))
}

fn promote(
    state: &State,
    job: &Job,
    rollout: &Rollout,
    now: Time,
) -> Result<Option<Progress>, Rejection> {
    if rollout.progress.state != RolloutState::AwaitingPromotion {
        if rollout.progress.promoted {
            return Ok(None);
        }
        return Err(wrong(job, rollout, "waits for no promotion"));
    }
    let version = state.version(job.uid, rollout.progress.version).ok_or_else(|| {
        Rejection::new(Code::Internal, format!("rollout {} has no version", rollout.id))
    })?;
    Ok(Some(promoted(&rollout.progress, version, now)))
}

/// A promoted rollout: its clock runs again; the old set of blue/green is kept for a while.
pub(crate) fn promoted(progress: &Progress, version: &Version, now: Time) -> Progress {
    let effective = &version.effective;
    let keeps = effective.rollout_strategy() == RolloutStrategy::BlueGreen;
    Progress {
        state: RolloutState::Progressing,
        promoted: true,
        deadline: Some(now.after(effective.progress_deadline())),
        until: keeps.then(|| now.after(effective.retire_after())),
        ..progress.clone()
    }
}
