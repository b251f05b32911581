//! The token of every request but the few open ones; compared in constant time.

use super::{context::Api, error::ApiError};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
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
    match sent(request.headers()) {
        None => Err(ApiError::new(Code::Unauthorized, "the request has no bearer token")),
        Some(sent) if !same(sent, &api.token) => {
            Err(ApiError::new(Code::Unauthorized, "the token is not one of this cluster"))
        }
        Some(_) => Ok(next.run(request).await),
    }
}

/// Whether a request to an open route carries the token.
pub(super) fn has_token(api: &Api, headers: &HeaderMap) -> bool {
    sent(headers).is_some_and(|sent| same(sent, &api.token))
}

/// The token of a request; the scheme's name has no case (RFC 9110, 11.1).
fn sent(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Equal digests of both, so that neither length nor content shows in the time it takes.
fn same(left: &str, right: &str) -> bool {
    let (left, right) = (Sha256::digest(left), Sha256::digest(right));
    left.iter().zip(right.iter()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}
