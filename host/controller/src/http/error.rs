//! Refusals and failures as problem details.

use crate::{
    artifacts::{FetchError, StoreError},
    writer::WriteError,
};
use axum::{
    extract::rejection::{BytesRejection, QueryRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use pliant_api::problem::{FieldError, PROBLEM_JSON, Problem};
use pliant_core::Rejection;
use pliant_types::codes::Code;

/// What a handler answers when it cannot do as asked.
#[derive(Debug)]
pub(super) struct ApiError(pub(super) Box<Problem>);

impl ApiError {
    pub(super) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code).with_detail(detail)))
    }
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = hint.into();
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&*self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let kind = HeaderValue::from_static(PROBLEM_JSON);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.0.retryable {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        let mut problem = Problem::new(rejection.code).with_detail(rejection.message);
        if let Some(hint) = rejection.hint {
            problem.hint = hint;
        }
        let error = |found: pliant_types::validate::SpecProblem| FieldError {
            pointer: found.pointer,
            message: found.message,
            hint: Some(found.hint),
            line: None,
            column: None,
        };
        problem.errors = rejection.problems.into_iter().map(error).collect();
        problem.current_revision = rejection.current;
        problem.difference = rejection.changes.into_iter().map(super::answer::change).collect();
        problem.into()
    }
}

impl From<WriteError> for ApiError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Rejected(rejection) => (*rejection).into(),
            WriteError::Unavailable(code, words) => Self::new(code, words),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Mismatch { .. } => Code::DigestMismatch,
            StoreError::TooLarge { .. } => Code::TooLarge,
            StoreError::Interrupted(_) => Code::BodyInvalid,
            StoreError::NoSpace => Code::NoSpace,
            StoreError::Io(_) => Code::Internal,
        };
        tracing::warn!(error = &error as &dyn std::error::Error, "artifact store");
        Self::new(code, error.to_string())
    }
}

impl From<FetchError> for ApiError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Store(error) => error.into(),
            FetchError::NotOne(..) => Self::new(Code::ArtifactInvalid, error.to_string()),
            FetchError::Refused { .. } | FetchError::Unreachable { .. } => {
                Self::new(Code::ArtifactUnreachable, error.to_string())
            }
        }
    }
}

impl From<QueryRejection> for ApiError {
    fn from(error: QueryRejection) -> Self {
        // The sentence about the parameter, without the library's own words before it.
        let text = error.body_text();
        let words = text.split_once(": ").map_or(text.as_str(), |(_, words)| words);
        Self::new(Code::BodyInvalid, format!("in the query: {words}"))
    }
}

impl From<BytesRejection> for ApiError {
    fn from(error: BytesRejection) -> Self {
        if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
            let limit = super::MAX_BODY_BYTES;
            return Self::new(Code::TooLarge, format!("the body has more than {limit} bytes"));
        }
        Self::new(Code::BodyInvalid, error.body_text())
    }
}

/// Answers a method that the path does not take; the header Allow is set by the router.
pub(super) async fn no_method(request: axum::extract::Request) -> ApiError {
    let (method, path) = (request.method(), request.uri().path());
    ApiError::new(Code::MethodNotAllowed, format!("{path} does not take {method}"))
}

/// Answers what no route takes.
pub(super) async fn no_route(request: axum::extract::Request) -> ApiError {
    let (method, path) = (request.method(), request.uri().path());
    ApiError::new(Code::RouteNotFound, format!("the API has no {method} {path}"))
}
