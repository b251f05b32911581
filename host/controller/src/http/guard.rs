//! What happens to every request: host check, revision header, figures, one log line.

use super::{context::Api, error::ApiError, strict};
use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use pliant_api::headers::REVISION;
use pliant_types::codes::Code;
use std::time::Instant;

/// Wraps every request.
pub(super) async fn every_request(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|p| p.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".to_owned());
    let mut response = match check(&request, &route) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    if !response.headers().contains_key(REVISION)
        && let Ok(value) = HeaderValue::from_str(&api.newest().state.revision().to_string())
    {
        response.headers_mut().insert(REVISION, value);
    }
    let status = response.status().as_u16();
    api.figures().request(method.as_str(), &route, status, started.elapsed());
    tracing::debug!(%method, route, status, micros = started.elapsed().as_micros(), "request");
    response
}

fn check(request: &Request, route: &str) -> Result<(), ApiError> {
    if !is_local_host(request) {
        let words = "the Host header names another host than this loopback address";
        return Err(ApiError::new(Code::Forbidden, words));
    }
    strict::check(request, route)
}

/// A page in a browser that was led here by another name has no business on loopback.
fn is_local_host(request: &Request) -> bool {
    let named = request
        .headers()
        .get(header::HOST)
        .and_then(|value| value.to_str().ok())
        .or_else(|| request.uri().authority().map(axum::http::uri::Authority::as_str));
    let Some(named) = named else { return true };
    let host = match named.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => named.split(':').next().unwrap_or_default(),
    };
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
