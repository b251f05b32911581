//! Submission by name: created, unchanged, started, forced, updated, or rejected, in one decision
//! (03-jobs.md, section 3).

use super::{Decided, job::check_expect};
use crate::{
    Answer, Force, Principal, Rejection, State, SubmitAnswer, SubmitOutcome,
    answer::Change,
    command::Submit,
    diff::{Face, changes},
    fact::FactKind,
    limits,
    state::{Job, RunState, Version, VersionKey, VersionRecord, Wanted, template_hash},
};
use alloc::{
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use pliant_types::{
    Effective, Incarnation, JobUid, Kind, Namespace, Time, Version as VersionNumber,
    codes::Code,
    effective::DefaultsTable,
    spec::{OnResubmit, RESERVED_PREFIX, WrittenMap},
    validate::{self, ProblemKind},
};

pub(super) fn decide(
    state: &State,
    submit: &Submit,
    author: &Principal,
    now: Time,
) -> Result<Decided, Rejection> {
    validate_submission(submit)?;
    let job = state.index.job(&submit.namespace, &submit.name).and_then(|uid| state.jobs.get(&uid));
    check_expect(job, submit.expect)?;
    let draft = Draft::new(submit, author, now);
    match job {
        None => create(state, submit, draft),
        Some(job) => {
            let current = state.current_version(job).ok_or_else(|| {
                Rejection::new(Code::Internal, format!("job {} has no current version", job.uid))
            })?;
            resubmit(state, submit, draft, Existing { job, current })
        }
    }
}

/// A job and its current version.
#[derive(Clone, Copy)]
struct Existing<'a> {
    job: &'a Job,
    current: &'a Version,
}

/// A version to be, before it has a number and a hash.
struct Draft {
    record: VersionRecord,
}

impl Draft {
    fn new(submit: &Submit, author: &Principal, now: Time) -> Self {
        let record = VersionRecord {
            number: VersionNumber::new(0),
            spec: submit.spec.clone(),
            text: submit.text.clone(),
            labels: written(&submit.labels),
            annotations: written(&submit.annotations),
            defaults: DefaultsTable::NEWEST,
            digest: submit.digest,
            source: submit.source.clone(),
            template_hash: 0,
            author: author.0.clone(),
            message: submit.message.clone(),
            at: now,
        };
        Self { record }
    }

    fn effective(&self) -> Effective {
        Effective::new(&self.record.spec, self.record.defaults)
    }

    /// Numbers and hashes the version; `forced` makes its tasks change although nothing did.
    fn finish(mut self, number: VersionNumber, forced: Force) -> Box<VersionRecord> {
        self.record.number = number;
        let salt = (forced == Force::Yes).then_some(number);
        self.record.template_hash = template_hash(&self.effective(), self.record.digest, salt);
        Box::new(self.record)
    }
}

fn written(map: &WrittenMap) -> BTreeMap<String, String> {
    let mut plain = pliant_types::spec::without_nulls(map);
    plain.retain(|key, _| !key.starts_with(RESERVED_PREFIX));
    plain
}

fn validate_submission(submit: &Submit) -> Result<(), Rejection> {
    let mut problems = validate::metadata("labels", &submit.labels);
    problems.extend(validate::metadata("annotations", &submit.annotations));
    problems.extend(validate::spec(&submit.spec));
    if !problems.is_empty() {
        let only_absent = problems.iter().all(|p| p.kind == ProblemKind::NotOffered);
        let code = if only_absent { Code::NotOffered } else { Code::SpecInvalid };
        let count = problems.len();
        let message = match problems.first() {
            Some(first) if count == 1 => format!("{}: {}", first.pointer, first.message),
            _ => format!("the spec of {} has {count} problems", submit.name),
        };
        let mut rejection = Rejection::new(code, message);
        rejection.problems = problems;
        return Err(rejection);
    }
    if submit.namespace != Namespace::default_namespace() {
        let message = format!("there is no namespace {}", submit.namespace);
        return Err(Rejection::new(Code::NamespaceNotFound, message));
    }
    let size = serde_json::to_string(&submit.spec).map_or(0, |text| text.len())
        + submit.text.as_ref().map_or(0, String::len);
    if size > limits::SPEC_BYTES {
        let message =
            format!("the spec with its text has {size} bytes, at most {}", limits::SPEC_BYTES);
        return Err(Rejection::new(Code::TooLarge, message).hint("put large values into files"));
    }
    if submit.message.as_ref().is_some_and(|m| m.len() > limits::MESSAGE_BYTES) {
        let message = format!("a message has at most {} bytes", limits::MESSAGE_BYTES);
        return Err(Rejection::new(Code::TooLarge, message));
    }
    Ok(())
}

fn create(state: &State, submit: &Submit, draft: Draft) -> Result<Decided, Rejection> {
    if state.jobs.len() >= limits::JOBS {
        return Err(Rejection::new(
            Code::TooLarge,
            format!("a cluster has at most {} jobs", limits::JOBS),
        ));
    }
    let uid = JobUid::new(state.counters.job + 1);
    let effective = draft.effective();
    let kind = effective.kind();
    let record = draft.finish(VersionNumber::FIRST, Force::No);
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
        },
    ]);
    let answer = SubmitAnswer {
        outcome: SubmitOutcome::Created,
        uid,
        version: VersionNumber::FIRST,
        previous_version: None,
        revision: pliant_types::Revision::new(state.counters.revision + 2),
        changes: Vec::new(),
        warnings: Vec::new(),
    };
    Ok(Decided { facts, answer: Answer::Submitted(answer) })
}

fn first_size(effective: &Effective) -> u32 {
    if effective.kind().follows_hosts() { 0 } else { effective.count() }
}

fn resubmit(
    state: &State,
    submit: &Submit,
    draft: Draft,
    existing: Existing<'_>,
) -> Result<Decided, Rejection> {
    let Existing { job, current } = existing;
    let under_current = Effective::new(&draft.record.spec, current.record.defaults);
    if under_current.kind() != job.kind {
        let message = format!(
            "job {} has kind {} and cannot become {}",
            job.name,
            job.kind,
            under_current.kind()
        );
        return Err(Rejection::new(Code::KindImmutable, message)
            .hint(format!("`pliant delete {}` first, or use another name", job.name)));
    }
    let equal = under_current == *current.effective
        && draft.record.labels == current.record.labels
        && draft.record.annotations == current.record.annotations
        && draft.record.digest == current.record.digest;
    if equal && submit.force == Force::No {
        return Ok(unchanged(state, existing));
    }
    update(state, submit, draft, existing)
}

fn unchanged(state: &State, Existing { job, .. }: Existing<'_>) -> Decided {
    let mut answer = answer_of(job, SubmitOutcome::Unchanged);
    let mut facts = Vec::new();
    if job.wanted == Wanted::Stopped {
        answer.outcome = SubmitOutcome::Started;
        answer.revision = super::job::next(state);
        facts.push(FactKind::JobWanted { job: job.uid, wanted: Wanted::Running });
    } else if let Some(end) = &job.ended {
        let word = if end.success { RunState::Completed } else { RunState::Failed };
        answer.warnings.push(format!(
            "job {} is {} and its spec is unchanged; `pliant run FILE --force` runs it again",
            job.name,
            word.as_str()
        ));
    }
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
    }
}

fn update(
    state: &State,
    submit: &Submit,
    draft: Draft,
    existing: Existing<'_>,
) -> Result<Decided, Rejection> {
    let Existing { job, current } = existing;
    let effective = draft.effective();
    let list =
        changes(&face(&current.record, &current.effective), &face(&draft.record, &effective));
    let number = job.current.next();
    let record = draft.finish(number, submit.force);
    let template_changed = record.template_hash != current.record.template_hash;
    let running = job.wanted == Wanted::Running && job.ended.is_none();
    if running
        && job.kind.ends()
        && template_changed
        && effective.on_resubmit() == OnResubmit::Reject
    {
        let message = format!("job {} runs and its onResubmit is reject", job.name);
        return Err(Rejection::new(Code::ResubmitRejected, message));
    }
    let mut answer = answer_of(job, SubmitOutcome::Updated);
    if list.is_empty() {
        answer.outcome = SubmitOutcome::Forced;
    }
    answer.version = number;
    answer.previous_version = Some(job.current);
    let run = size_or_run(existing, &effective, &record);
    let mut facts = Vec::from([FactKind::VersionAdded { job: job.uid, record }]);
    if job.wanted == Wanted::Stopped {
        facts.push(FactKind::JobWanted { job: job.uid, wanted: Wanted::Running });
    }
    facts.extend(run);
    facts.extend(forgotten_version(state, job));
    let last_wanted = facts
        .iter()
        .rposition(|f| {
            matches!(
                f,
                FactKind::VersionAdded { .. }
                    | FactKind::JobWanted { .. }
                    | FactKind::JobSized { .. }
            )
        })
        .unwrap_or(0) as u64;
    answer.revision = pliant_types::Revision::new(state.counters.revision + last_wanted + 1);
    warn_size(&list, job, &effective, &mut answer.warnings);
    answer.changes = list;
    Ok(Decided { facts, answer: Answer::Submitted(answer) })
}

/// Batch and ops jobs whose tasks must change, or that are over, begin a new run; a changed count
/// resizes the others, and an unchanged count keeps the live size (S1, E37).
fn size_or_run(
    Existing { job, current }: Existing<'_>,
    effective: &Effective,
    record: &VersionRecord,
) -> Option<FactKind> {
    let template_changed = record.template_hash != current.record.template_hash;
    if job.kind.ends() && (template_changed || job.ended.is_some()) {
        return Some(FactKind::IncarnationStarted {
            job: job.uid,
            incarnation: job.incarnation.next(),
            version: record.number,
            size: first_size(effective),
        });
    }
    let count_changed = current.effective.count() != effective.count();
    let resize = count_changed && !job.kind.follows_hosts() && job.size != effective.count();
    resize.then(|| FactKind::JobSized { job: job.uid, size: effective.count() })
}

/// The oldest version that history no longer keeps and no execution runs.
fn forgotten_version(state: &State, job: &Job) -> Option<FactKind> {
    let from = VersionKey { job: job.uid, version: VersionNumber::new(0) };
    let to = VersionKey { job: job.uid, version: job.current };
    let versions: Vec<_> = state.versions.range(from..=to).map(|(key, _)| key.version).collect();
    if versions.len() <= limits::KEPT_VERSIONS {
        return None;
    }
    let used = |version: VersionNumber| {
        state
            .all_tasks_of(job.uid)
            .filter_map(|task| state.live_execution(task))
            .any(|execution| execution.version == version)
    };
    let version =
        versions.into_iter().find(|version| *version != job.current && !used(*version))?;
    Some(FactKind::VersionForgotten { job: job.uid, version })
}

fn face<'a>(record: &'a VersionRecord, effective: &'a Effective) -> Face<'a> {
    Face {
        effective,
        labels: &record.labels,
        annotations: &record.annotations,
        digest: record.digest.to_string(),
    }
}

fn warn_size(list: &[Change], job: &Job, effective: &Effective, warnings: &mut Vec<String>) {
    let count_changed = list.iter().any(|change| change.field == "spec.count");
    if !count_changed
        && matches!(job.kind, Kind::Service | Kind::Batch)
        && job.size != effective.count()
    {
        warnings.push(format!(
            "the live size {} is kept; the file says count {} as before",
            job.size,
            effective.count()
        ));
    }
}
