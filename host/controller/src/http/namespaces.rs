//! Namespaces: list, create, delete when empty.

use super::{context::Api, error::ApiError, verbs::admin};
use axum::{
    Json,
    extract::{Path, State},
};
use pliant_api::body::{NamespaceView, Page, Timestamp};
use pliant_core::{Command, NamespaceCommand, Request, State as CoreState, state::Wanted};
use pliant_types::{Namespace, codes::Code};

/// GET all namespaces; `default` always exists.
pub(super) async fn list(State(api): State<Api>) -> Json<Page<NamespaceView>> {
    let state = api.newest().state;
    let mut names: Vec<_> = state.namespaces.iter().map(|(name, _)| name.clone()).collect();
    names.push(Namespace::default_namespace());
    names.sort();
    let items = names.into_iter().map(|name| view(&state, name)).collect();
    Json(Page { items, revision: state.revision(), next_cursor: None })
}

/// PUT a namespace: made, or found as it is.
pub(super) async fn create(
    State(api): State<Api>,
    Path(namespace): Path<String>,
) -> Result<Json<NamespaceView>, ApiError> {
    carry_out(&api, &namespace, Command::CreateNamespace).await
}

/// DELETE an empty namespace.
pub(super) async fn delete(
    State(api): State<Api>,
    Path(namespace): Path<String>,
) -> Result<Json<NamespaceView>, ApiError> {
    carry_out(&api, &namespace, Command::DeleteNamespace).await
}

async fn carry_out(
    api: &Api,
    namespace: &str,
    command: impl FnOnce(NamespaceCommand) -> Command,
) -> Result<Json<NamespaceView>, ApiError> {
    let namespace: Namespace = namespace
        .parse()
        .map_err(|e| ApiError::new(Code::BodyInvalid, format!("in the path: {e}")))?;
    let command = command(NamespaceCommand { namespace: namespace.clone() });
    api.inbox.ask(Request { principal: admin(), key: None, command }).await?;
    Ok(Json(view(&api.newest().state, namespace)))
}

fn view(state: &CoreState, name: Namespace) -> NamespaceView {
    let jobs = state
        .jobs
        .iter()
        .filter(|(_, job)| job.namespace == name && job.wanted != Wanted::Deleted)
        .count();
    NamespaceView {
        jobs: u32::try_from(jobs).unwrap_or(u32::MAX),
        created_at: state.namespaces.get(&name).map(|record| Timestamp(record.created_at)),
        name,
    }
}
