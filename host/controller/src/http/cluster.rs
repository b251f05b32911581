//! The process itself: health, readiness, version, journal.

use super::{auth::has_token, context::Api, error::ApiError};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use pliant_api::body::{JournalStats, ServerVersion};
use pliant_types::codes::Code;
use std::sync::PoisonError;

/// GET `/healthz`: the process lives.
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// GET `/readyz`: writes are taken.
pub(super) async fn ready(State(api): State<Api>) -> Response {
    let trouble = api.journal.lock().unwrap_or_else(PoisonError::into_inner).trouble.clone();
    match trouble {
        None => (StatusCode::OK, "ready\n").into_response(),
        Some(why) => ApiError::new(Code::JournalUnavailable, why).into_response(),
    }
}

/// GET `/v1/version`
pub(super) async fn version(State(api): State<Api>, headers: HeaderMap) -> Json<ServerVersion> {
    Json(ServerVersion {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api_version: pliant_types::spec::API_VERSION.to_owned(),
        // Needs no token, so whoever has none is not told where the cluster keeps its files.
        cluster: has_token(&api, &headers).then(|| api.cluster.clone()),
    })
}

/// GET `/v1/journal`
pub(super) async fn journal(State(api): State<Api>) -> Json<JournalStats> {
    let known = api.journal.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let state = api.newest().state;
    let stats = known.stats.as_ref();
    Json(JournalStats {
        engine: "sled".to_owned(),
        writable: known.trouble.is_none(),
        trouble: known.trouble.clone(),
        epoch: state.epoch(),
        revision: state.revision(),
        head_sequence: stats.map_or(0, |s| s.head.0),
        first_sequence: stats.map_or(0, |s| s.floor.0 + 1),
        snapshot_sequence: known.snapshot,
        size_bytes: stats.map_or(0, |s| s.stored_bytes),
        state_hash: format!("{:032x}", state.hash()),
    })
}
