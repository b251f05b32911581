//! Hosts as people read and steer them.

use super::{
    context::Api,
    error::ApiError,
    page::{page, state_at},
    verbs::admin,
    views,
};
use axum::{
    Json,
    body::Bytes,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
};
use pliant_api::body::{HostModeBody, HostView, Page, PageQuery};
use pliant_core::{Command, Request, SetHostMode};
use pliant_types::{HostId, codes::Code};
use serde::de::DeserializeOwned;

/// A host of a path: its id or its name.
pub(super) fn host_id(api: &Api, text: &str) -> Result<HostId, ApiError> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let state = api.newest().state;
    text.parse()
        .ok()
        .and_then(|name| state.index.host(&name))
        .ok_or_else(|| ApiError::new(Code::HostNotFound, format!("there is no host {text:?}")))
}

/// Reads a JSON body, naming the place where it is wrong.
pub(super) fn json<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|e| ApiError::new(Code::BodyInvalid, e.to_string()))
}

/// GET all hosts.
pub(super) async fn list(
    State(api): State<Api>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page<HostView>>, ApiError> {
    let Query(query) = query?;
    let published = state_at(&api, query.min_revision).await?;
    let rows =
        published.state.hosts.iter().map(|(id, host)| {
            (format!("{:020}", id.get()), views::host(&api, &published.state, host))
        });
    Ok(Json(page(&published, &query, rows)?))
}

/// GET one host.
pub(super) async fn show(
    State(api): State<Api>,
    Path(host): Path<String>,
) -> Result<Json<HostView>, ApiError> {
    let id = host_id(&api, &host)?;
    let state = api.newest().state;
    let found = state
        .hosts
        .get(&id)
        .ok_or_else(|| ApiError::new(Code::HostNotFound, format!("there is no host {id}")))?;
    Ok(Json(views::host(&api, &state, found)))
}

/// PUT `…/mode`
pub(super) async fn set_mode(
    State(api): State<Api>,
    Path(host): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<HostView>, ApiError> {
    let id = host_id(&api, &host)?;
    let HostModeBody { mode } = json(&body?)?;
    let command = Command::SetHostMode(SetHostMode { host: id, mode });
    api.inbox.ask(Request { principal: admin(), key: None, command }).await?;
    show(State(api), Path(host)).await
}
