//! Logs: asked of the agent that has them, passed through as they come.

use super::{context::Api, error::ApiError, executions::execution};
use axum::{
    body::Body,
    extract::{Path, RawQuery, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use pliant_api::{problem::Problem, routes};
use pliant_types::codes::Code;

/// GET `/v1/executions/{execution}/logs`
pub(super) async fn of_execution(
    State(api): State<Api>,
    Path(text): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let state = api.newest().state;
    let found = execution(&state, &text)?;
    let host = state.hosts.get(&found.host).ok_or_else(|| {
        ApiError::new(Code::HostNotFound, format!("there is no host {}", found.host))
    })?;
    let address = &host.description.address;
    let query = query.map(|q| format!("?{q}")).unwrap_or_default();
    let url = format!("{address}{}{query}", routes::execution_logs(found.id));
    let answer = api.agents().get(url).bearer_auth(&api.token).send().await.map_err(|error| {
        let words = format!("host {} at {address} does not answer: {error}", host.description.name);
        ApiError::new(Code::AgentUnreachable, words)
    })?;
    if !answer.status().is_success() {
        let status = answer.status();
        let problem: Option<Problem> = answer.json().await.ok();
        return Err(problem.map_or_else(
            || ApiError::new(Code::AgentUnreachable, format!("the agent answers {status}")),
            ApiError::from,
        ));
    }
    let kind = answer.headers().get(header::CONTENT_TYPE).cloned();
    let kind = kind.unwrap_or_else(|| HeaderValue::from_static("text/event-stream"));
    let stop = api.stop.clone();
    let pieces = answer.bytes_stream().take_until(async move { stop.cancelled().await });
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, kind)], Body::from_stream(pieces)).into_response())
}
