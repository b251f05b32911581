//! Artifacts over HTTP: streamed in and out, verified on the way.

use super::{
    context::Api,
    error::ApiError,
    page::{page, state_at},
};
use crate::artifacts::MAX_ARCHIVE_BYTES;
use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use pliant_api::body::{ArtifactView, Page, PageQuery};
use pliant_types::{Digest, codes::Code};
use std::collections::BTreeSet;
use tokio_util::io::ReaderStream;

fn digest(text: &str) -> Result<Digest, ApiError> {
    text.parse().map_err(|e| ApiError::new(Code::BodyInvalid, format!("in the path: {e}")))
}

/// Digests that a version or a result names.
pub(super) fn in_use(api: &Api) -> BTreeSet<Digest> {
    let state = api.newest().state;
    let versions = state.versions.iter().map(|(_, version)| version.record.digest);
    let results = state.executions.iter().filter_map(|(_, e)| e.results.as_ref().map(|r| r.digest));
    versions.chain(results).collect()
}

/// PUT `/v1/artifacts/{digest}`
pub(super) async fn put(
    State(api): State<Api>,
    Path(text): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let expected = digest(&text)?;
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    if let Some(bytes) = announced.filter(|bytes| *bytes > MAX_ARCHIVE_BYTES) {
        let words =
            format!("{bytes} bytes were announced, an artifact has at most {MAX_ARCHIVE_BYTES}");
        return Err(ApiError::new(Code::TooLarge, words));
    }
    if let Some(words) = api.space.refusal() {
        return Err(ApiError::new(Code::NoSpace, words));
    }
    let known = api.artifacts.path(expected).is_some();
    let stored =
        api.artifacts.put(Some(expected), MAX_ARCHIVE_BYTES, body.into_data_stream()).await;
    let (found, meta) = stored?;
    let view = meta.view(found, in_use(&api).contains(&found));
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(view)).into_response())
}

/// GET or HEAD `/v1/artifacts/{digest}`
pub(super) async fn get(
    State(api): State<Api>,
    Path(text): Path<String>,
) -> Result<Response, ApiError> {
    let digest = digest(&text)?;
    let path = api.artifacts.path(digest).ok_or_else(|| {
        ApiError::new(Code::ArtifactNotFound, format!("the store has no artifact {digest}"))
    })?;
    let failed = |e: std::io::Error| ApiError::new(Code::Internal, e.to_string());
    let file = tokio::fs::File::open(path).await.map_err(failed)?;
    let size = file.metadata().await.map_err(failed)?.len();
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, size.to_string()),
        (header::ETAG, format!("\"{digest}\"")),
    ];
    Ok((headers, Body::from_stream(ReaderStream::new(file))).into_response())
}

/// GET `/v1/artifacts`
pub(super) async fn list(
    State(api): State<Api>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<ArtifactView>>, ApiError> {
    let Query(query) = query?;
    let published = state_at(&api, query.min_revision).await?;
    let used = in_use(&api);
    let rows = api
        .artifacts
        .list()?
        .into_iter()
        .map(|(digest, meta)| (digest.to_string(), meta.view(digest, used.contains(&digest))));
    Ok(Json(page(&published, &query, rows)?))
}

/// GET `/v1/artifacts/{digest}/view`
pub(super) async fn view(
    State(api): State<Api>,
    Path(text): Path<String>,
) -> Result<Json<ArtifactView>, ApiError> {
    let digest = digest(&text)?;
    let meta = api.artifacts.meta(digest)?.ok_or_else(|| {
        ApiError::new(Code::ArtifactNotFound, format!("the store has no artifact {digest}"))
    })?;
    Ok(Json(meta.view(digest, in_use(&api).contains(&digest))))
}
