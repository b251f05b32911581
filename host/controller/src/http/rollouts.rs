//! Rollouts and endpoints of a job: reading them, and what people do to a rollout.

use super::{
    context::Api,
    error::ApiError,
    jobs::{JobPath, find, parse_path},
    page::{page, state_at},
    verbs::{carry_out, job_ref},
    views,
};
use crate::published::Published;
use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::HeaderMap,
    response::Response,
};
use pliant_api::body::{
    EndpointView, EndpointsView, Page, PageQuery, RolloutTasks, RolloutView, RolloutWait, Timestamp,
};
use pliant_core::{
    Command, RolloutCommand, RolloutVerb,
    state::{Execution, Job, Rollout, RolloutState, State as CoreState},
};
use pliant_types::{Millis, RolloutId, Time, codes::Code};

/// The newest rollout in a path, beside an id.
const NEWEST: &str = "newest";

/// GET `…/rollouts`, newest first.
pub(super) async fn list(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<RolloutView>>, ApiError> {
    let Query(query) = query?;
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = state_at(&api, query.min_revision).await?;
    let job = find(&published, &namespace, &reference)?;
    let now = api.hosts.now();
    let rows = published.state.rollouts_of(job.uid).rev().map(|rollout| {
        let order = u64::MAX - rollout.id.get();
        (format!("{order:020}"), view(&published, job, rollout, now))
    });
    Ok(Json(page(&published, &query, rows)?))
}

/// GET one rollout.
pub(super) async fn show(
    State(api): State<Api>,
    Path((namespace, job, rollout)): Path<(String, String, String)>,
) -> Result<Json<RolloutView>, ApiError> {
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = api.newest();
    let job = find(&published, &namespace, &reference)?;
    let wanted = parse(&rollout)?;
    let mut all = published.state.rollouts_of(job.uid).rev();
    let found = all.find(|rollout| wanted.is_none_or(|id| id == rollout.id)).ok_or_else(|| {
        ApiError::new(Code::RolloutNotFound, format!("job {} has no rollout {rollout}", job.name))
    })?;
    Ok(Json(view(&published, job, found, api.hosts.now())))
}

/// POST `…/rollouts/{rollout}/{verb}`
pub(super) async fn act(
    State(api): State<Api>,
    Path((namespace, job, rollout, verb)): Path<(String, String, String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let job = job_ref(&namespace, &job)?;
    let rollout = parse(&rollout)?;
    let verb = match verb.as_str() {
        "pause" => RolloutVerb::Pause,
        "resume" => RolloutVerb::Resume,
        "promote" => RolloutVerb::Promote,
        "abort" => RolloutVerb::Abort,
        _ => {
            let words = format!("a rollout takes pause, resume, promote and abort, not {verb:?}");
            return Err(ApiError::new(Code::BodyInvalid, words));
        }
    };
    let command = |job, expect| Command::Rollout(RolloutCommand { job, expect, rollout, verb });
    carry_out(&api, &headers, job, command).await
}

fn parse(text: &str) -> Result<Option<RolloutId>, ApiError> {
    if text == NEWEST {
        return Ok(None);
    }
    let id = text.parse().map_err(|e| {
        ApiError::new(Code::BodyInvalid, format!("in the path: {e}, or the word {NEWEST}"))
    })?;
    Ok(Some(id))
}

/// GET `…/endpoints`
pub(super) async fn endpoints(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
) -> Result<Json<EndpointsView>, ApiError> {
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = api.newest();
    let job = find(&published, &namespace, &reference)?;
    Ok(Json(EndpointsView {
        number: published.state.revision().get(),
        endpoints: serving(&published.state, job)
            .flat_map(|e| ports(&published.state, e))
            .collect(),
    }))
}

/// The executions of a job that take traffic, by task.
pub(super) fn serving<'a>(state: &'a CoreState, job: &Job) -> impl Iterator<Item = &'a Execution> {
    state
        .tasks_of(job.uid, job.incarnation)
        .flat_map(|task| state.executions_of(task))
        .filter(|execution| state.serves(execution))
}

fn ports(state: &CoreState, execution: &Execution) -> Vec<EndpointView> {
    views::ports(state, execution)
        .into_iter()
        .map(|port| EndpointView {
            task: execution.task.number,
            execution: execution.id,
            version: execution.runs(),
            host: execution.host,
            port: port.name,
            address: port.address,
        })
        .collect()
}

/// The newest rollout of a job, for its status.
pub(super) fn newest(published: &Published, job: &Job, now: Time) -> Option<RolloutView> {
    let rollout = published.state.rollouts_of(job.uid).next_back()?;
    Some(view(published, job, rollout, now))
}

fn view(published: &Published, job: &Job, rollout: &Rollout, now: Time) -> RolloutView {
    let state = &published.state;
    let progress = &rollout.progress;
    let target = state.version(job.uid, progress.version);
    // While it is verified nothing fails by time; a dip brings the deadline back.
    let deadline = progress.deadline.filter(|_| progress.state != RolloutState::Verifying);
    let left = |at: Option<Time>, kept: Option<Millis>| {
        at.map(|at| at.since(now).get()).or(kept.map(Millis::get))
    };
    RolloutView {
        id: rollout.id,
        incarnation: rollout.incarnation,
        state: progress.state.as_str().to_owned(),
        active: rollout.is_active(),
        cause: rollout.cause.as_str().to_owned(),
        strategy: target
            .map_or("rolling", |version| version.effective.rollout_strategy().as_str())
            .to_owned(),
        version: progress.version,
        from: rollout.from,
        undoes: rollout.undoes,
        tasks: tasks(state, job, rollout, now),
        canaries: progress.canaries.clone(),
        promoted: progress.promoted,
        stop_first_forced: progress.forced,
        failures: progress.failures,
        max_failures: target.map_or(0, |version| version.effective.max_failures()),
        started_at: Timestamp(rollout.started_at),
        deadline: deadline.map(Timestamp),
        deadline_left_ms: left(deadline, progress.left),
        until: progress.until.map(Timestamp),
        until_left_ms: left(progress.until, progress.until_left),
        ended_at: progress.ended_at.map(Timestamp),
        reason: progress.reason.map(|reason| reason.as_str().to_owned()),
        message: progress.message.clone(),
        waits: if rollout.is_active() { waits(published, job, rollout) } else { Vec::new() },
    }
}

fn waits(published: &Published, job: &Job, rollout: &Rollout) -> Vec<RolloutWait> {
    let waits = published.report.waits.get(&job.uid).into_iter().flatten();
    waits
        .filter(|wait| wait.incarnation == rollout.incarnation)
        .map(|wait| RolloutWait {
            code: wait.code.as_str().to_owned(),
            message: wait.sentence.clone(),
            tasks: wait.tasks.clone(),
            until: wait.until.map(Timestamp),
        })
        .collect()
}

fn tasks(state: &CoreState, job: &Job, rollout: &Rollout, now: Time) -> RolloutTasks {
    let target = rollout.progress.version;
    let patience = state
        .version(job.uid, target)
        .map_or(Millis::ZERO, |version| version.effective.min_healthy_time());
    let mut counts = RolloutTasks::default();
    for task in state.tasks_of(job.uid, rollout.incarnation) {
        let live: Vec<_> = state.executions_of(task).filter(|e| e.is_live()).collect();
        let draining = live.iter().filter(|e| !e.is_wanted()).count();
        counts.draining += u32::try_from(draining).unwrap_or(u32::MAX);
        if !task.wanted {
            continue;
        }
        counts.wanted += 1;
        counts.ready += u32::from(live.iter().any(|e| e.is_ready()));
        let at = live
            .iter()
            .find(|e| e.is_wanted() && state.equal_templates(job.uid, e.version, target));
        let settled = at.and_then(|e| e.good_since()).is_some_and(|at| at.after(patience) <= now);
        match at {
            _ if job.kind.ends() && task.started => counts.healthy += 1,
            Some(_) if settled => counts.healthy += 1,
            Some(_) => counts.moving += 1,
            None => counts.old += 1,
        }
    }
    counts
}
