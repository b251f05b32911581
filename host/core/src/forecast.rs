//! What a submission would do to each task, and where: the answer of `plan`.
//!
//! The classes and the answer are binding, since they come from the same `decide`; the hosts are a
//! forecast, since others may take the room meanwhile (14-decisions.md, 2). Nothing is changed.

use crate::{
    Answer, Fact, FactKind, Rejection, Request, State, SubmitAnswer, apply,
    decide::decide,
    plan::{Foreseen, PlanReport, foresee, plan, stopped},
    state::{Execution, Job, TaskKey},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use pliant_types::{HostId, Incarnation, JobUid, TaskNumber, Time, Version, codes::Code};
use serde::{Deserialize, Serialize};

/// Tasks that a forecast lists by themselves; the others are only counted.
pub const MAX_STEPS: usize = 1_000;

/// What happens to one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// It goes on untouched.
    Keep,
    /// It goes on and counts as the new version.
    Relabel,
    /// It is new.
    Start,
    /// It goes on with other limits.
    Resize,
    /// It is restarted where it is.
    Restart,
    /// It ends and is placed again at the new version.
    Replace,
    /// It ends.
    Stop,
}

impl Step {
    /// The word in text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Relabel => "relabel",
            Self::Start => "start",
            Self::Resize => "resize",
            Self::Restart => "restart",
            Self::Replace => "replace",
            Self::Stop => "stop",
        }
    }
}

/// One task of a forecast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStep {
    /// The run.
    pub incarnation: Incarnation,
    /// The task.
    pub task: TaskNumber,
    /// What happens to it.
    pub step: Step,
    /// The version that it runs afterwards.
    pub version: Option<Version>,
    /// Where it runs now.
    pub from: Option<HostId>,
    /// Where it would run.
    pub to: Option<HostId>,
    /// Why it would wait, when it has no host.
    pub wait: Option<String>,
}

/// What a submission would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// What the submission would answer.
    pub answer: SubmitAnswer,
    /// The first [`MAX_STEPS`] tasks, in order.
    pub steps: Vec<TaskStep>,
    /// How many tasks of each step there are, the unlisted included.
    pub counts: BTreeMap<Step, u32>,
    /// The live size now; nothing for a new job.
    pub size_before: Option<u32>,
    /// The live size afterwards.
    pub size_after: u32,
}

/// Decides a submission or a rollback and follows it to its end, as if every host obeyed at once.
///
/// # Errors
/// The [`Rejection`] that the request itself would get.
pub fn forecast(state: &State, request: &Request, now: Time) -> Result<Forecast, Rejection> {
    let decided = decide(state, request, now)?;
    let Answer::Submitted(answer) = decided.answer else {
        return Err(Rejection::new(
            Code::BodyInvalid,
            "only submissions and rollbacks are planned",
        ));
    };
    let uid = answer.uid;
    let before = live(state, uid);
    let mut after = state.clone();
    let take = |after: &mut State, facts: Vec<FactKind>| {
        facts.into_iter().for_each(|kind| apply(after, &Fact { at: now, kind }));
    };
    take(&mut after, decided.facts);
    let moved = foresee(&mut after, uid, now);
    let ending = ending(&after, uid);
    take(&mut after, ending);
    let report = settle(&mut after, now);
    let mut forecast = Forecast {
        size_before: state.jobs.get(&uid).map(|job| job.size),
        size_after: after.jobs.get(&uid).map_or(0, |job| job.size),
        answer,
        steps: Vec::new(),
        counts: BTreeMap::new(),
    };
    if let Some(job) = after.jobs.get(&uid) {
        list(&after, job, (&before, &report, &moved), &mut forecast);
    }
    Ok(forecast)
}

fn live(state: &State, uid: JobUid) -> BTreeMap<TaskKey, Execution> {
    state
        .all_tasks_of(uid)
        .filter_map(|task| Some((task.key, state.live_execution(task)?.clone())))
        .collect()
}

/// Ends every execution that does not go on, so that its room counts as free.
fn ending(state: &State, uid: JobUid) -> Vec<FactKind> {
    let unwanted = state.all_tasks_of(uid).filter(|task| !state.task_wanted(task));
    unwanted
        .flat_map(|task| state.executions_of(task))
        .filter_map(|execution| stopped(state, execution.id))
        .collect()
}

/// Plans until the planner rests; bounded by the tasks that it can place (law 5, law 8).
fn settle(state: &mut State, now: Time) -> PlanReport {
    let rounds = 8 + state.tasks.len() / 16;
    let mut report = PlanReport::default();
    for _ in 0..rounds {
        let plan = plan(state, now);
        report = plan.report;
        if plan.facts.is_empty() {
            break;
        }
        plan.facts.into_iter().for_each(|kind| apply(state, &Fact { at: now, kind }));
    }
    report
}

fn list(
    after: &State,
    job: &Job,
    (before, report, moved): (
        &BTreeMap<TaskKey, Execution>,
        &PlanReport,
        &BTreeMap<TaskKey, Foreseen>,
    ),
    forecast: &mut Forecast,
) {
    let now = live(after, job.uid);
    let waiting: BTreeSet<_> = after
        .all_tasks_of(job.uid)
        .filter(|task| after.task_wanted(task) && task.end.is_none())
        .map(|task| task.key)
        .collect();
    let keys: BTreeSet<_> =
        before.keys().chain(now.keys()).copied().chain(waiting.iter().copied()).collect();
    for key in keys {
        let (old, new) = (before.get(&key), now.get(&key));
        let step = match (old, new) {
            (Some(_), Some(_)) if moved.get(&key) == Some(&Foreseen::Resized) => Step::Resize,
            (Some(_), Some(_)) if moved.get(&key) == Some(&Foreseen::Restarted) => Step::Restart,
            (Some(_), Some(_)) if moved.contains_key(&key) => Step::Replace,
            (Some(old), Some(new)) if old.id != new.id => Step::Replace,
            (Some(old), Some(new)) if old.version != new.version => Step::Relabel,
            (Some(_), Some(_)) => Step::Keep,
            (None, Some(_)) => Step::Start,
            (Some(_), None) if waiting.contains(&key) => Step::Replace,
            (Some(_), None) => Step::Stop,
            (None, None) => Step::Start,
        };
        *forecast.counts.entry(step).or_default() += 1;
        if forecast.steps.len() >= MAX_STEPS {
            continue;
        }
        let waits = new.is_none() && waiting.contains(&key);
        forecast.steps.push(TaskStep {
            incarnation: key.incarnation,
            task: key.number,
            step,
            version: match step {
                Step::Stop => None,
                _ => Some(new.map_or_else(
                    || after.target_number(job, key.incarnation),
                    |execution| execution.version,
                )),
            },
            from: old.map(|execution| execution.host),
            to: new.map(|execution| execution.host),
            wait: match moved.get(&key) {
                Some(Foreseen::Waits(words)) => Some(words.clone()),
                _ => waits.then(|| why(report, key)),
            },
        });
    }
}

fn why(report: &PlanReport, key: TaskKey) -> String {
    report
        .waits
        .get(&key.job)
        .into_iter()
        .flatten()
        .find(|wait| wait.incarnation == key.incarnation && wait.tasks.contains(&key.number))
        .map_or_else(|| "it waits for its turn".into(), |wait| wait.sentence.clone())
}
