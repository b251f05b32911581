//! The token of every request but the few open ones; compared in constant time.

use super::{context::Api, error::ApiError};
use axum::{
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::Response,
};
use pliant_types::codes::Code;
use sha2::{Digest, Sha256};

/// Lets a request pass that carries the token.
pub(super) async fn require_token(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let sent = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .map(str::trim);
    match sent {
        None => Err(ApiError::new(Code::Unauthorized, "the request has no bearer token")),
        Some(sent) if !same(sent, &api.token) => {
            Err(ApiError::new(Code::Unauthorized, "the token is not one of this cluster"))
        }
        Some(_) => Ok(next.run(request).await),
    }
}

/// Equal digests of both, so that neither length nor content shows in the time it takes.
fn same(left: &str, right: &str) -> bool {
    let (left, right) = (Sha256::digest(left), Sha256::digest(right));
    left.iter().zip(right.iter()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}
