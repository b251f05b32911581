//! Reading the versions of a job, and what differs between two of them.

use super::{
    answer::change,
    context::Api,
    error::ApiError,
    jobs::{JobPath, find, parse_path},
    page::{page, state_at},
};
use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use pliant_api::body::{DiffQuery, DiffView, Page, PageQuery, Timestamp, VersionView};
use pliant_core::{
    differences, resolve,
    state::{Job, RunState, State as CoreState, Version},
};
use pliant_types::{VersionRef, codes::Code};

/// GET the versions of a job, oldest first.
pub(super) async fn list(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<VersionView>>, ApiError> {
    let Query(query) = query?;
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = state_at(&api, query.min_revision).await?;
    let job = find(&published, &namespace, &reference)?;
    let rows = published.state.versions_of(job.uid).map(|version| {
        (format!("{:010}", version.record.number.get()), view(&published.state, job, version))
    });
    Ok(Json(page(&published, &query, rows)?))
}

/// GET one version of a job: by its number, a tag, `proven`, `current` or `previous`.
pub(super) async fn show(
    State(api): State<Api>,
    Path((namespace, job, wanted)): Path<(String, String, String)>,
) -> Result<Json<VersionView>, ApiError> {
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = api.newest();
    let job = find(&published, &namespace, &reference)?;
    let wanted: VersionRef = wanted
        .parse()
        .map_err(|e| ApiError::new(Code::BodyInvalid, format!("in the path: {e}")))?;
    let version = resolve(&published.state, job, &wanted)?;
    Ok(Json(view(&published.state, job, version)))
}

/// GET what differs between two versions.
pub(super) async fn diff(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<DiffQuery>, QueryRejection>,
) -> Result<Json<DiffView>, ApiError> {
    let Query(query) = query?;
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = api.newest();
    let state = &published.state;
    let job = find(&published, &namespace, &reference)?;
    let from = resolve(state, job, &query.from.unwrap_or(VersionRef::Previous))?;
    let to = resolve(state, job, &query.to.unwrap_or(VersionRef::Current))?;
    Ok(Json(DiffView {
        from: from.record.number,
        to: to.record.number,
        changes: differences(from, to).into_iter().map(change).collect(),
        from_text: from.record.text.clone(),
        to_text: to.record.text.clone(),
    }))
}

fn view(state: &CoreState, job: &Job, version: &Version) -> VersionView {
    let record = &version.record;
    let marks = state.marks(job.uid, record.number);
    VersionView {
        version: record.number,
        current: record.number == job.current,
        author: record.author.clone(),
        message: record.message.clone(),
        created_at: Timestamp(record.at),
        digest: record.digest,
        source: record.source.clone(),
        from: record.from,
        tags: marks.tags.iter().cloned().collect(),
        result: result(state, job, version).to_owned(),
        proven_at: marks.proven_at.map(Timestamp),
        failure: marks.failed,
        template_hash: format!("{:016x}", record.template_hash),
        labels: record.labels.clone(),
        annotations: record.annotations.clone(),
        spec: record.spec.as_ref().clone(),
        text: record.text.clone(),
    }
}

/// What became of a version, in the words of a rollout.
fn result(state: &CoreState, job: &Job, version: &Version) -> &'static str {
    let number = version.record.number;
    let marks = state.marks(job.uid, number);
    let mut rollouts = state.rollouts_of(job.uid).rev();
    if let Some(newest) = rollouts.find(|rollout| rollout.progress.version == number) {
        return if newest.is_active() { "progressing" } else { newest.progress.state.as_str() };
    }
    if marks.proven_at.is_some() {
        return "successful";
    }
    if marks.failed.is_some() {
        return "failed";
    }
    let runs = state.active_runs(job.uid).any(|(run, _)| state.target_number(job, run) == number);
    if !runs && job.queued != Some(number) {
        return if number < job.current { "superseded" } else { "cancelled" };
    }
    match state.run_state(job) {
        RunState::Stopped | RunState::Stopping => "cancelled",
        _ => "progressing",
    }
}
