//! The agent's own listener: logs of its executions, and whether it lives. The controller passes
//! the logs on; both ask the same token.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Path, Query, Request, State, rejection::QueryRejection},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
    serve::ListenerExt,
};
use futures::{StreamExt, stream};
use pliant_api::{
    body::{LogLine, LogQuery},
    problem::{PROBLEM_JSON, Problem},
    routes,
    sse::{EVENT_STREAM, Frame, HEARTBEAT},
};
use pliant_types::{ExecutionId, codes::Code};
use sha2::{Digest, Sha256};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    AgentError, Config,
    drivers::Drivers,
    logs::{Asked, Lines, LogIndex},
    places::Places,
};

/// After so much silence a stream says that it lives.
const HEARTBEAT_AFTER: Duration = Duration::from_secs(10);
/// Readers of logs at the same time (log-readers).
const MAX_READERS: usize = 256;

/// What the handlers need.
#[derive(Clone)]
pub(super) struct LogService {
    pub(super) token: Arc<str>,
    pub(super) drivers: Drivers,
    pub(super) places: Arc<Places>,
    pub(super) index: LogIndex,
    pub(super) stop: CancellationToken,
    pub(super) readers: Arc<Semaphore>,
}

impl LogService {
    pub(super) fn new(
        token: &str,
        drivers: Drivers,
        places: Arc<Places>,
        index: LogIndex,
        stop: CancellationToken,
    ) -> Self {
        let readers = Arc::new(Semaphore::new(MAX_READERS));
        Self { token: token.into(), drivers, places, index, stop, readers }
    }
}

/// A bound listener, not yet serving.
pub(super) async fn bind(config: &Config) -> Result<(TcpListener, SocketAddr), AgentError> {
    let failed = |source| AgentError::Listen { address: config.listen, source };
    let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves until the stop; open streams end with it.
pub(super) fn serve(listener: TcpListener, service: LogService) -> JoinHandle<std::io::Result<()>> {
    let stop = service.stop.clone();
    let router = Router::new()
        .route(routes::EXECUTION_LOGS, get(logs))
        .layer(from_fn_with_state(service.clone(), require_token))
        .route("/healthz", get(async || "ok\n"))
        .with_state(service);
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::warn!(%error, "a connection keeps small packets back");
        }
    });
    let serving = axum::serve(listener, router)
        .with_graceful_shutdown(async move { stop.cancelled().await });
    tokio::spawn(async move { serving.await })
}

fn refusal(code: Code, detail: impl Into<String>) -> Response {
    let problem = Problem::new(code).with_detail(detail);
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::to_vec(&problem).expect("a problem has only string keys");
    (status, [(header::CONTENT_TYPE, PROBLEM_JSON)], body).into_response()
}

async fn require_token(
    State(service): State<LogService>,
    request: Request,
    next: Next,
) -> Response {
    let sent = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .map(str::trim);
    match sent {
        Some(sent) if same(sent, &service.token) => next.run(request).await,
        Some(_) => refusal(Code::Unauthorized, "the token is not one of this cluster"),
        None => refusal(Code::Unauthorized, "the request has no bearer token"),
    }
}

/// Digests of both are compared, so that the time it takes shows neither length nor content.
fn same(left: &str, right: &str) -> bool {
    let (left, right) = (Sha256::digest(left), Sha256::digest(right));
    left.iter().zip(right.iter()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// GET `/v1/executions/{execution}/logs`
async fn logs(
    State(service): State<LogService>,
    Path(text): Path<String>,
    query: Result<Query<LogQuery>, QueryRejection>,
) -> Response {
    let query = match query {
        Ok(Query(query)) => query,
        Err(error) => return refusal(Code::QueryInvalid, error.body_text()),
    };
    let absent = || refusal(Code::ExecutionNotFound, format!("no log of {text} is on this host"));
    let Ok(id) = text.parse::<ExecutionId>() else { return absent() };
    if !service.index.knows(id) && service.places.newest_log(id).is_none() {
        return absent();
    }
    let Ok(turn) = Arc::clone(&service.readers).try_acquire_owned() else {
        let words = format!("{MAX_READERS} logs are being read on this host (log-readers)");
        return refusal(Code::QueueFull, words);
    };
    let (drivers, places) = (service.drivers.clone(), Arc::clone(&service.places));
    let lines = Lines::new(Asked { id, query, drivers, places }, &service.index);
    let stop = service.stop.clone();
    let pieces = stream::unfold((lines, turn), |(mut lines, turn)| async move {
        let piece = match tokio::time::timeout(HEARTBEAT_AFTER, lines.next()).await {
            Ok(Ok(Some((place, lines)))) => frames(&place, &lines),
            Ok(Ok(None)) => return None,
            Ok(Err(error)) => {
                tracing::warn!(execution = %lines.id(), %error, "a log cannot be read on");
                return None;
            }
            Err(_) => HEARTBEAT.to_owned(),
        };
        Some((Ok::<_, Infallible>(piece), (lines, turn)))
    });
    let pieces = pieces.take_until(async move { stop.cancelled().await });
    let headers = [(header::CONTENT_TYPE, EVENT_STREAM), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(pieces)).into_response()
}


/// One frame a line; the last one has the place.
fn frames(place: &str, lines: &[LogLine]) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let is_last = number + 1 == lines.len();
        let frame = Frame {
            id: is_last.then(|| place.to_owned()),
            event: Some("line".to_owned()),
            data: serde_json::to_string(line).expect("a line has only string keys"),
        };
        text.push_str(&frame.encode());
    }
    text
}
