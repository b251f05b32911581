//! Reading jobs.

use super::{
    context::Api,
    error::ApiError,
    page::{page, state_at},
    views,
};
use crate::published::Published;
use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::header,
    response::{IntoResponse, Response},
};
use pliant_api::{
    body::{JobSummary, Page, PageQuery, RevisionQuery},
    headers::etag,
    routes::JobRef,
};
use pliant_core::{
    must_exist,
    state::{Job, Wanted},
};
use pliant_types::{Namespace, codes::Code};

/// A job's path: its namespace, its name or uid.
pub(super) type JobPath = Path<(String, String)>;

/// Reads the two parts of a job's path.
pub(super) fn parse_path(namespace: &str, job: &str) -> Result<(Namespace, JobRef), ApiError> {
    let namespace: Namespace = namespace
        .parse()
        .map_err(|e| ApiError::new(Code::BodyInvalid, format!("in the path: {e}")))?;
    let job =
        job.parse().map_err(|e| ApiError::new(Code::BodyInvalid, format!("in the path: {e}")))?;
    Ok((namespace, job))
}

/// Finds a job by its exact name, or by its uid, also while it is being deleted (N1, N2, N6).
pub(super) fn find<'a>(
    published: &'a Published,
    namespace: &Namespace,
    job: &JobRef,
) -> Result<&'a Job, ApiError> {
    let state = &published.state;
    must_exist(state, namespace)?;
    let uid = match job {
        JobRef::Name(name) => state.index.job(namespace, name),
        JobRef::Uid(uid) => Some(*uid),
    };
    uid.and_then(|uid| state.jobs.get(&uid))
        .filter(|found| found.namespace == *namespace)
        .ok_or_else(|| {
            ApiError::new(
                Code::JobNotFound,
                format!("there is no job {job} in namespace {namespace}"),
            )
        })
}

/// GET a job.
pub(super) async fn show(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<RevisionQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = state_at(&api, query.min_revision).await?;
    let job = find(&published, &namespace, &reference)?;
    let version = published
        .state
        .current_version(job)
        .ok_or_else(|| ApiError::new(Code::Internal, "the job has no current version"))?;
    let tag = etag(job.spec_revision);
    // The tag stands for what is wanted; the status moves without it, so nothing is ever 304.
    let view = views::job(&api, &published, job, version);
    Ok(([(header::ETAG, tag)], Json(view)).into_response())
}

/// GET the jobs of a namespace.
pub(super) async fn list(
    State(api): State<Api>,
    Path(namespace): Path<String>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<JobSummary>>, ApiError> {
    let (namespace, _) = parse_path(&namespace, "j_0")?;
    list_of(&api, Some(namespace), query?.0).await
}

/// GET the jobs of all namespaces.
pub(super) async fn list_all(
    State(api): State<Api>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<JobSummary>>, ApiError> {
    list_of(&api, None, query?.0).await
}

async fn list_of(
    api: &Api,
    namespace: Option<Namespace>,
    query: PageQuery,
) -> Result<Json<Page<JobSummary>>, ApiError> {
    let published = state_at(api, query.min_revision).await?;
    if let Some(namespace) = &namespace {
        must_exist(&published.state, namespace)?;
    }
    let mut jobs: Vec<&Job> = published
        .state
        .jobs
        .iter()
        .map(|(_, job)| job)
        .filter(|job| namespace.as_ref().is_none_or(|n| job.namespace == *n))
        .filter(|job| job.wanted != Wanted::Deleted)
        .collect();
    jobs.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    let rows = jobs
        .into_iter()
        .map(|job| (format!("{}/{}", job.namespace, job.name), views::summary(&published, job)));
    Ok(Json(page(&published, &query, rows)?))
}
