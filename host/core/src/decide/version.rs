//! Versions of a job: which one is meant, tags, and what history lets go.

use super::{Decided, job};
use crate::{
    Answer, Rejection, State,
    command::TagVersion,
    fact::FactKind,
    limits,
    state::{Job, Version, VersionKey},
};
use alloc::{collections::BTreeSet, format, string::String, vec, vec::Vec};
use pliant_types::{Version as VersionNumber, codes::Code, tag::VersionRef};

/// The version that is meant.
///
/// # Errors
/// `version-not-found` when there never was one, `history-gone` when it was let go (V29).
pub fn resolve<'a>(
    state: &'a State,
    job: &'a Job,
    wanted: &VersionRef,
) -> Result<&'a Version, Rejection> {
    let current = state.current_version(job);
    let template = current.map(|version| version.record.template_hash);
    let found = match wanted {
        VersionRef::Current => current,
        VersionRef::Number(number) => return numbered(state, job, *number),
        VersionRef::Tag(tag) => state
            .versions_of(job.uid)
            .find(|version| state.marks(job.uid, version.record.number).tags.contains(tag)),
        VersionRef::Proven => state.versions_of(job.uid).rev().find(|version| {
            Some(version.record.template_hash) != template
                && state.marks(job.uid, version.record.number).proven_at.is_some()
        }),
        VersionRef::Previous => {
            state.versions_of(job.uid).rev().find(|version| version.record.number != job.current)
        }
    };
    found.ok_or_else(|| missing(state, job, wanted))
}

fn numbered<'a>(
    state: &'a State,
    job: &'a Job,
    version: VersionNumber,
) -> Result<&'a Version, Rejection> {
    state.versions.get(&VersionKey { job: job.uid, version }).ok_or_else(|| {
        if version >= VersionNumber::FIRST && version < job.current {
            let message = format!(
                "version {version} of {} is no longer kept; history keeps {} besides the current, \
                 the newest proven, tagged and running ones",
                job.name,
                limits::KEPT_VERSIONS
            );
            return Rejection::new(Code::HistoryGone, message)
                .hint(format!("list what is kept with `pliant job versions {}`", job.name));
        }
        let message = format!("job {} has versions up to {}, not {version}", job.name, job.current);
        Rejection::new(Code::VersionNotFound, message)
    })
}

fn missing(state: &State, job: &Job, wanted: &VersionRef) -> Rejection {
    let message = match wanted {
        VersionRef::Proven => format!(
            "job {} has no proven version other than what version {} says",
            job.name, job.current
        ),
        VersionRef::Previous if job.current == VersionNumber::FIRST => {
            format!("job {} has no earlier version", job.name)
        }
        VersionRef::Previous => format!("job {} keeps no earlier version", job.name),
        VersionRef::Tag(tag) => {
            let tags: BTreeSet<String> = state
                .versions_of(job.uid)
                .flat_map(|version| state.marks(job.uid, version.record.number).tags)
                .map(|tag| tag.as_str().into())
                .collect();
            let list = tags.into_iter().collect::<Vec<_>>().join(", ");
            let known =
                if list.is_empty() { "it has none".into() } else { format!("it has {list}") };
            format!("no version of job {} has the tag {tag}; {known}", job.name)
        }
        VersionRef::Current | VersionRef::Number(_) => format!("job {} has no version", job.name),
    };
    Rejection::new(Code::VersionNotFound, message)
}

/// Tagging is metadata: nothing starts and nothing stops (V23).
pub(super) fn tag(state: &State, asked: &TagVersion) -> Result<Decided, Rejection> {
    let job = job::find(state, &asked.job)?;
    job::check_expect(Some(job), asked.expect)?;
    let holder = resolve(state, job, &VersionRef::Tag(asked.tag.clone())).ok();
    let holder = holder.map(|version| version.record.number);
    let facts = match &asked.version {
        Some(wanted) => {
            let version = resolve(state, job, wanted)?.record.number;
            check_tags(state, job, version)?;
            if holder == Some(version) {
                Vec::new()
            } else {
                vec![FactKind::VersionTagged { job: job.uid, version, tag: asked.tag.clone() }]
            }
        }
        None if holder.is_none() => {
            return Err(missing(state, job, &VersionRef::Tag(asked.tag.clone())));
        }
        None => vec![FactKind::VersionUntagged { job: job.uid, tag: asked.tag.clone() }],
    };
    let spec_revision = super::revision_after(state, &facts, job.spec_revision);
    Ok(Decided { facts, answer: Answer::Job { uid: job.uid, spec_revision } })
}

/// Tagged versions are never let go, so their number is bounded (law 8).
fn check_tags(state: &State, job: &Job, version: VersionNumber) -> Result<(), Rejection> {
    let tagged = state
        .versions_of(job.uid)
        .filter(|v| v.record.number != version)
        .filter(|v| !state.marks(job.uid, v.record.number).tags.is_empty())
        .count();
    let here = state.marks(job.uid, version).tags.len();
    if tagged >= limits::TAGGED_VERSIONS || here >= limits::TAGS {
        let message = format!(
            "a job has at most {} tagged versions with {} tags each",
            limits::TAGGED_VERSIONS,
            limits::TAGS
        );
        return Err(Rejection::new(Code::TooLarge, message)
            .hint("take a tag away with `pliant job tag JOB TAG --remove`"));
    }
    Ok(())
}

/// The version that a decision is about to add.
#[derive(Clone, Copy)]
pub(super) struct Newest {
    pub(super) number: VersionNumber,
    pub(super) proven: bool,
}

/// Versions that history lets go when one is added: the oldest, beyond the ten that are kept besides
/// the current, the newest proven, tagged and still running ones (03-jobs.md, section 7).
pub(super) fn forgotten(state: &State, job: &Job, newest: Newest) -> Vec<FactKind> {
    let used = used(state, job);
    let proven = match newest.proven {
        true => Some(newest.number),
        false => state.newest_proven(job.uid).map(|version| version.record.number),
    };
    let free: Vec<_> = state
        .versions_of(job.uid)
        .map(|version| version.record.number)
        .filter(|number| Some(*number) != proven && !used.contains(number))
        .filter(|number| state.marks(job.uid, *number).tags.is_empty())
        .collect();
    let surplus = free.len().saturating_sub(limits::KEPT_VERSIONS);
    free.into_iter()
        .take(surplus)
        .map(|version| FactKind::VersionForgotten { job: job.uid, version })
        .collect()
}

/// Versions that an execution or an active run needs.
fn used(state: &State, job: &Job) -> BTreeSet<VersionNumber> {
    let running = state
        .all_tasks_of(job.uid)
        .flat_map(|task| state.executions_of(task))
        .filter(|execution| execution.is_live())
        .flat_map(|execution| [execution.version, execution.runs()]);
    let runs = state.active_runs(job.uid).filter(|_| job.kind.ends()).map(|(_, run)| run.version);
    running.chain(runs).chain(job.queued).collect()
}
