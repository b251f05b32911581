//! Submission by name: created, unchanged, started, forced, updated, or rejected, in one decision
//! (03-jobs.md, section 3). A rollback is the submission of a version that the job had.

mod draft;
mod run;
mod validate;

use draft::face;
pub(super) use run::check_parallel;
pub(super) use validate::message as check_message;

use super::{
    Decided,
    job::check_expect,
    namespace::must_exist,
    rollout::{self, Begin},
    version,
};
use crate::{
    Answer, Force, Principal, Rejection, State, SubmitAnswer, SubmitOutcome,
    answer::Change,
    command::{Rollback, Submit},
    diff::changes,
    fact::FactKind,
    limits,
    state::{Job, RolloutCause, RunState, Version},
};
use alloc::{boxed::Box, format, string::String, vec::Vec};
use draft::Draft;
use pliant_types::{
    Effective, Incarnation, JobUid, Kind, Revision, RolloutId, Time, Version as VersionNumber,
    codes::Code, tag::VersionRef,
};

pub(super) fn decide(
    state: &State,
    submit: &Submit,
    author: &Principal,
    now: Time,
) -> Result<Decided, Rejection> {
    validate::submission(submit)?;
    must_exist(state, &submit.namespace)?;
    let job = state.index.job(&submit.namespace, &submit.name).and_then(|uid| state.jobs.get(&uid));
    let draft = Draft::new(submit, author, now);
    validate::route(state, job.map(|job| job.uid), &draft.effective())?;
    let Some(job) = job else {
        check_expect(None, submit.expect)?;
        return create(state, submit, draft, now);
    };
    let existing = Existing::new(state, job)?;
    check_expect(Some(job), submit.expect)
        .map_err(|refusal| with_difference(refusal, &draft, existing))?;
    resubmit(state, draft, existing, (submit.force, RolloutCause::Updated, now))
}

/// A job and its current version.
#[derive(Clone, Copy)]
struct Existing<'a> {
    job: &'a Job,
    current: &'a Version,
}

impl<'a> Existing<'a> {
    fn new(state: &'a State, job: &'a Job) -> Result<Self, Rejection> {
        let current = state.current_version(job).ok_or_else(|| {
            Rejection::new(Code::Internal, format!("job {} has no current version", job.uid))
        })?;
        Ok(Self { job, current })
    }
}

/// Who loses a race learns what the winner's version says otherwise.
fn with_difference(mut refusal: Rejection, draft: &Draft, existing: Existing<'_>) -> Rejection {
    refusal.changes = difference(draft, existing);
    refusal
}

fn difference(draft: &Draft, Existing { current, .. }: Existing<'_>) -> Vec<Change> {
    changes(&face(&current.record, &current.effective), &face(&draft.record, &draft.effective()))
}

/// Every field that differs between two versions of a job.
#[must_use]
pub fn differences(from: &Version, to: &Version) -> Vec<Change> {
    changes(&face(&from.record, &from.effective), &face(&to.record, &to.effective))
}

/// A rollback: `to` a version, a tag or the newest proven one; without it, to the newest proven one
/// that differs, else to the version before.
pub(super) fn rollback(
    state: &State,
    asked: &Rollback,
    author: &Principal,
    now: Time,
) -> Result<Decided, Rejection> {
    check_message(asked.message.as_ref())?;
    let job = super::job::find(state, &asked.job)?;
    check_expect(Some(job), asked.expect)?;
    let existing = Existing::new(state, job)?;
    let target = match &asked.to {
        Some(to) => version::resolve(state, job, to)?,
        None => version::resolve(state, job, &VersionRef::Proven)
            .or_else(|_| version::resolve(state, job, &VersionRef::Previous))?,
    };
    let draft = Draft::copy(target, author, asked.message.clone(), now);
    validate::route(state, Some(job.uid), &draft.effective())?;
    let mut decided = resubmit(state, draft, existing, (Force::No, RolloutCause::Rollback, now))?;
    if let Answer::Submitted(answer) = &mut decided.answer {
        let number = target.record.number;
        let words = match answer.outcome {
            SubmitOutcome::Unchanged | SubmitOutcome::Started => {
                format!(
                    "nothing to roll back: version {} already equals version {number}",
                    job.current
                )
            }
            _ => format!("version {} is a copy of version {number}", answer.version),
        };
        answer.warnings.insert(0, words);
    }
    Ok(decided)
}

fn create(state: &State, submit: &Submit, draft: Draft, now: Time) -> Result<Decided, Rejection> {
    if state.jobs.len() >= limits::JOBS {
        let message = format!("a cluster has at most {} jobs", limits::JOBS);
        return Err(Rejection::new(Code::TooLarge, message));
    }
    let uid = JobUid::new(state.counters.job + 1);
    let effective = draft.effective();
    let kind = effective.kind();
    let record = draft.finish(VersionNumber::FIRST, Force::No);
    let begin = Begin {
        incarnation: Incarnation::FIRST,
        version: VersionNumber::FIRST,
        cause: RolloutCause::Created,
        from: None,
        undoes: None,
    };
    let facts = Vec::from([
        FactKind::JobCreated {
            job: uid,
            namespace: submit.namespace.clone(),
            name: submit.name.clone(),
            kind,
        },
        FactKind::VersionAdded { job: uid, record },
        FactKind::IncarnationStarted {
            job: uid,
            incarnation: Incarnation::FIRST,
            version: VersionNumber::FIRST,
            size: first_size(&effective),
            beside: false,
        },
        rollout::started(state, uid, &effective, (begin, now)),
    ]);
    let answer = SubmitAnswer {
        outcome: SubmitOutcome::Created,
        uid,
        version: VersionNumber::FIRST,
        previous_version: None,
        revision: super::revision_after(state, &facts, Revision::new(0)),
        changes: Vec::new(),
        warnings: Vec::new(),
        rollout: begun(&facts),
    };
    Ok(Decided { facts, answer: Answer::Submitted(answer) })
}

/// The rollout that a decision begins.
fn begun(facts: &[FactKind]) -> Option<RolloutId> {
    facts.iter().find_map(|fact| match fact {
        FactKind::RolloutStarted { rollout, .. } => Some(rollout.id),
        _ => None,
    })
}

/// The size with which a run of a version begins; daemon and ops follow the hosts.
pub(crate) fn first_size(effective: &Effective) -> u32 {
    if effective.kind().follows_hosts() { 0 } else { effective.count() }
}

fn resubmit(
    state: &State,
    draft: Draft,
    existing: Existing<'_>,
    (force, cause, now): (Force, RolloutCause, Time),
) -> Result<Decided, Rejection> {
    let Existing { job, current } = existing;
    let kind = draft.effective().kind();
    if kind != job.kind {
        let message = format!("job {} has kind {} and cannot become {kind}", job.name, job.kind);
        return Err(Rejection::new(Code::KindImmutable, message)
            .hint(format!("`pliant delete {}` first, or use another name", job.name)));
    }
    if force == Force::No && draft.equals(current) {
        return Ok(unchanged(state, existing, now));
    }
    update(state, draft, existing, (force, cause, now))
}

fn unchanged(state: &State, Existing { job, current }: Existing<'_>, now: Time) -> Decided {
    let mut answer = answer_of(job, SubmitOutcome::Unchanged);
    let mut facts = Vec::new();
    match state.run_state(job) {
        RunState::Stopped | RunState::Stopping => {
            answer.outcome = SubmitOutcome::Started;
            facts = super::job::started(state, job, now);
        }
        word @ (RunState::Completed | RunState::Failed) => answer.warnings.push(format!(
            "job {} is {} and its spec is unchanged; `pliant job rerun {}` runs it again, \
             `pliant run FILE --force` as a new version",
            job.name,
            word.as_str(),
            job.name
        )),
        RunState::Pending | RunState::Running if run::lies_failed(state, job) => {
            answer.outcome = SubmitOutcome::Started;
            let begin = Begin {
                incarnation: job.incarnation,
                version: job.current,
                cause: RolloutCause::Started,
                from: None,
                undoes: None,
            };
            facts = rollout::begin(state, job, &current.effective, (begin, now));
        }
        RunState::Pending | RunState::Running => {}
    }
    answer.rollout = begun(&facts);
    answer.revision = super::revision_after(state, &facts, job.spec_revision);
    Decided { facts, answer: Answer::Submitted(answer) }
}

fn answer_of(job: &Job, outcome: SubmitOutcome) -> SubmitAnswer {
    SubmitAnswer {
        outcome,
        uid: job.uid,
        version: job.current,
        previous_version: None,
        revision: job.spec_revision,
        changes: Vec::new(),
        warnings: Vec::new(),
        rollout: None,
    }
}

fn update(
    state: &State,
    draft: Draft,
    existing: Existing<'_>,
    (force, cause, now): (Force, RolloutCause, Time),
) -> Result<Decided, Rejection> {
    let Existing { job, .. } = existing;
    let list = difference(&draft, existing);
    let effective = draft.effective();
    let number = job.current.next();
    let record = draft.finish(number, force);
    let mut answer = answer_of(job, SubmitOutcome::Updated);
    if list.is_empty() {
        answer.outcome = SubmitOutcome::Forced;
    }
    answer.version = number;
    answer.previous_version = Some(job.current);
    warn_failed(state, job, record.template_hash, &mut answer.warnings);
    warn_size(&list, job, &effective, &mut answer.warnings);
    let facts = update_facts(state, existing, &effective, (record, cause, now))?;
    answer.rollout = begun(&facts);
    answer.revision = super::revision_after(state, &facts, job.spec_revision);
    answer.changes = list;
    Ok(Decided { facts, answer: Answer::Submitted(answer) })
}

fn update_facts(
    state: &State,
    existing: Existing<'_>,
    effective: &Effective,
    (record, cause, now): (Box<crate::state::VersionRecord>, RolloutCause, Time),
) -> Result<Vec<FactKind>, Rejection> {
    let job = existing.job;
    let (number, hash) = (record.number, record.template_hash);
    let runs = run::follow(state, existing, effective, (&record, cause, now))?;
    let mut facts = Vec::from([FactKind::VersionAdded { job: job.uid, record }]);
    let proven = proven_copy(state, job, hash);
    if proven {
        facts.push(FactKind::VersionProven { job: job.uid, version: number });
    }
    facts.extend(runs);
    let kept = version::Newest { number, proven };
    facts.extend(version::forgotten(state, job, kept));
    Ok(facts)
}

/// A copy of a proven version is born proven (14-decisions.md, 18).
fn proven_copy(state: &State, job: &Job, template_hash: u64) -> bool {
    state.versions_of(job.uid).any(|version| {
        version.record.template_hash == template_hash
            && state.marks(job.uid, version.record.number).proven_at.is_some()
    })
}

/// What failed before may be tried again, but not in silence (B17).
fn warn_failed(state: &State, job: &Job, template_hash: u64, warnings: &mut Vec<String>) {
    for version in state.versions_of(job.uid).rev() {
        let number = version.record.number;
        if version.record.template_hash == template_hash
            && let Some(reason) = state.marks(job.uid, number).failed
        {
            warnings.push(format!("it equals version {number}, which failed: {reason}"));
            return;
        }
    }
}

fn warn_size(list: &[Change], job: &Job, effective: &Effective, warnings: &mut Vec<String>) {
    let count_changed = list.iter().any(|change| change.field == "spec.count");
    if !count_changed
        && matches!(job.kind, Kind::Service | Kind::Batch)
        && job.ended.is_none()
        && job.size != effective.count()
    {
        warnings.push(format!(
            "the live size {} is kept; the file says count {} as before",
            job.size,
            effective.count()
        ));
    }
}
