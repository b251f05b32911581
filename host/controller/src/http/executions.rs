//! Reading executions and results.

use super::{
    context::Api,
    error::ApiError,
    jobs::{JobPath, find, parse_path},
    page::{page, state_at},
    views,
};
use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use pliant_api::body::{ExecutionView, Page, PageQuery, ResultsView, RunQuery};
use pliant_core::state::{Execution, State as CoreState};
use pliant_types::{ExecutionId, codes::Code};

/// An execution of a path.
pub(super) fn execution<'a>(state: &'a CoreState, text: &str) -> Result<&'a Execution, ApiError> {
    let id: ExecutionId =
        text.parse().map_err(|e| ApiError::new(Code::BodyInvalid, format!("in the path: {e}")))?;
    state.executions.get(&id).ok_or_else(|| {
        ApiError::new(Code::ExecutionNotFound, format!("there is no execution {id}"))
    })
}

/// The cursor's text of an execution: numbers in the order of their digits.
fn key(id: ExecutionId) -> String {
    format!("{:020}", id.get())
}

/// GET all executions, oldest first.
pub(super) async fn list(
    State(api): State<Api>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<ExecutionView>>, ApiError> {
    let Query(query) = query?;
    let published = state_at(&api, query.min_revision).await?;
    let rows = published
        .state
        .executions
        .iter()
        .map(|(id, found)| (key(*id), views::execution(&api, &published.state, found)));
    Ok(Json(page(&published, &query, rows)?))
}

/// GET one execution.
pub(super) async fn show(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<ExecutionView>, ApiError> {
    let state = api.newest().state;
    let found = execution(&state, &id)?;
    Ok(Json(views::execution(&api, &state, found)))
}

/// GET the executions of a job, all runs, oldest first.
pub(super) async fn of_job(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<ExecutionView>>, ApiError> {
    let Query(query) = query?;
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = state_at(&api, query.min_revision).await?;
    let job = find(&published, &namespace, &reference)?;
    let state = &published.state;
    let mut ids: Vec<_> =
        state.all_tasks_of(job.uid).flat_map(|task| task.executions.iter().copied()).collect();
    ids.sort_unstable();
    let rows = ids
        .into_iter()
        .filter_map(|id| state.executions.get(&id))
        .map(|found| (key(found.id), views::execution(&api, state, found)));
    Ok(Json(page(&published, &query, rows)?))
}

/// GET the results of a job, all kept runs, by run and task.
pub(super) async fn results(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<RunQuery>, QueryRejection>,
) -> Result<Json<Page<ResultsView>>, ApiError> {
    let Query(RunQuery { version, run }) = query?;
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = api.newest();
    let job = find(&published, &namespace, &reference)?;
    let state = &published.state;
    let items = state
        .all_tasks_of(job.uid)
        .flat_map(|task| task.executions.iter())
        .filter_map(|id| state.executions.get(id))
        .filter(|found| version.is_none_or(|version| found.version == version))
        .filter(|found| run.is_none_or(|run| found.task.incarnation == run))
        .filter_map(|found| {
            Some(ResultsView {
                incarnation: found.task.incarnation,
                version: found.version,
                task: found.task.number,
                execution: found.id,
                result: found.results.as_ref()?.into(),
            })
        })
        .collect();
    Ok(Json(Page { items, revision: state.revision(), next_cursor: None }))
}
