//! Reading jobs and their versions.

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
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use pliant_api::{
    body::{JobSummary, Page, PageQuery, VersionView},
    headers::etag,
    routes::JobRef,
};
use pliant_core::state::{Job, VersionKey, Wanted};
use pliant_types::{Namespace, Version, codes::Code};

/// A job's path: its namespace, its name or uid.
pub(super) type JobPath = Path<(String, String)>;

/// Reads the two parts of a job's path.
pub(super) fn parse_path(namespace: &str, job: &str) -> Result<(Namespace, JobRef), ApiError> {
    let namespace: Namespace = namespace
        .parse()
        .map_err(|e| ApiError::new(Code::BodyInvalid, format!("in the path: {e}")))?;
    if namespace != Namespace::default_namespace() {
        let words = format!("there is no namespace {namespace}");
        return Err(ApiError::new(Code::NamespaceNotFound, words));
    }
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
    query: Result<Query<PageQuery>, QueryRejection>,
    headers: HeaderMap,
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
    // The tag stands for what is wanted; a status may have moved on, so only a caller that asks for
    // exactly this gets 304.
    let unchanged =
        headers.get(header::IF_NONE_MATCH).is_some_and(|h| h.as_bytes() == tag.as_bytes());
    if unchanged {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
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

/// GET the versions of a job, oldest first.
pub(super) async fn versions(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<VersionView>>, ApiError> {
    let Query(query) = query?;
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = state_at(&api, query.min_revision).await?;
    let job = find(&published, &namespace, &reference)?;
    let key = |version| VersionKey { job: job.uid, version: Version::new(version) };
    let rows = published
        .state
        .versions
        .range(key(0)..=key(u32::MAX))
        .map(|(key, found)| (format!("{:010}", key.version.get()), views::version(job, found)));
    Ok(Json(page(&published, &query, rows)?))
}

/// GET one version of a job.
pub(super) async fn version(
    State(api): State<Api>,
    Path((namespace, job, number)): Path<(String, String, String)>,
) -> Result<Json<VersionView>, ApiError> {
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = api.newest();
    let job = find(&published, &namespace, &reference)?;
    let bad = || ApiError::new(Code::BodyInvalid, format!("{number:?} is not a version number"));
    let number = Version::new(number.parse().map_err(|_| bad())?);
    let key = VersionKey { job: job.uid, version: number };
    match published.state.versions.get(&key) {
        Some(found) => Ok(Json(views::version(job, found))),
        None if number >= Version::FIRST && number < job.current => {
            let words = format!("version {number} of {} is no longer kept", job.name);
            Err(ApiError::new(Code::HistoryGone, words))
        }
        None => {
            let words =
                format!("job {} has versions up to {}, not {number}", job.name, job.current);
            Err(ApiError::new(Code::VersionNotFound, words))
        }
    }
}
