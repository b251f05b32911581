//! The client against small servers on loopback: retries, refusals, streams that resume, verified bytes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is test code")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, put};
use pliant_api::body::{ScaleBody, SubmitQuery, WatchEvent};
use pliant_api::parse::Format;
use pliant_api::problem::{PROBLEM_JSON, Problem};
use pliant_api::sse::{EVENT_STREAM, Frame, HEARTBEAT};
use pliant_client::{
    Client, ClientError, Config, End, IdempotencyKey, Received, Submission, Token, Verb,
};
use pliant_types::Digest;
use pliant_types::codes::Code;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server for one test; ends with it.
struct Server {
    address: String,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(router: Router) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Server { address, task }
}

fn client(address: &str) -> Client {
    let token = Some(Token::new("secret"));
    let quick = Duration::from_millis(1);
    Client::new(Config { first_pause: quick, ..Config::new(address).with_token(token) }).unwrap()
}

fn problem(code: Code) -> Response {
    let problem = Problem::new(code).with_detail("this time");
    let status = StatusCode::from_u16(problem.status).unwrap();
    (status, [(header::CONTENT_TYPE, PROBLEM_JSON)], serde_json::to_vec(&problem).unwrap())
        .into_response()
}

fn submission() -> Submission {
    Submission {
        namespace: "default".parse().unwrap(),
        name: "web".parse().unwrap(),
        text: "spec: {}\n".to_owned(),
        format: Format::Yaml,
        query: SubmitQuery::default(),
        expect: None,
        key: IdempotencyKey::random(),
    }
}

const ANSWER: &str = "{\"namespace\":\"default\",\"name\":\"web\",\"outcome\":\"created\",\"uid\":\"j_1\",\"version\":1,\"revision\":4}";

#[tokio::test]
async fn a_submission_is_repeated_under_one_key_until_it_is_answered() {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = keys.clone();
    let handler = move |headers: HeaderMap, body: String| async move {
        assert_eq!(body, "spec: {}\n");
        assert_eq!(headers["authorization"], "Bearer secret");
        assert_eq!(headers["content-type"], "application/yaml");
        let mut keys = seen.lock().unwrap();
        keys.push(headers["idempotency-key"].to_str().unwrap().to_owned());
        if keys.len() < 3 { problem(Code::QueueFull) } else { ANSWER.into_response() }
    };
    let server = serve(Router::new().route("/v1/namespaces/default/jobs/web", put(handler))).await;
    let answer = client(&server.address).submit(&submission()).await.unwrap();
    assert_eq!(answer.revision.get(), 4);
    let keys = keys.lock().unwrap();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| key == &keys[0]));
}

#[tokio::test]
async fn a_refusal_is_not_repeated_and_keeps_its_code() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let handler = move || async move {
        counter.fetch_add(1, Ordering::SeqCst);
        problem(Code::RevisionMismatch)
    };
    let server = serve(Router::new().fallback(any(handler))).await;
    let error = client(&server.address).submit(&submission()).await.unwrap_err();
    assert_eq!(error.code(), Code::RevisionMismatch);
    assert_eq!(error.exit(), 5);
    assert!(error.to_string().contains("this time"));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_agents_send_is_never_repeated() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let handler = move || async move {
        counter.fetch_add(1, Ordering::SeqCst);
        problem(Code::QueueFull)
    };
    let server = serve(Router::new().fallback(any(handler))).await;
    let error = client(&server.address).renew("h_1".parse().unwrap(), "boot-1").await.unwrap_err();
    assert!(error.is_transient());
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn nobody_there_and_somebody_else_there_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = client(&address).server_version().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    assert_eq!((error.code(), error.exit()), (Code::Unreachable, 7));

    let other = || async { (StatusCode::FORBIDDEN, "<html>") };
    let server = serve(Router::new().fallback(any(other))).await;
    let error = client(&server.address).server_version().await.unwrap_err();
    assert!(error.to_string().contains("403") && error.to_string().contains("<html>"), "{error}");

    let server = serve(Router::new().fallback(any(|| async { "{}" }))).await;
    let error = client(&server.address).server_version().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreadable { .. }), "{error:?}");
}

#[tokio::test]
async fn verbs_name_the_revision_that_they_expect() {
    let handler = |request: Request| async move {
        assert_eq!(request.headers()["if-match"], "\"9\"");
        assert_eq!(request.method(), "POST");
        "{\"uid\":\"j_1\",\"revision\":10,\"changed\":true}"
    };
    let path = "/v1/namespaces/default/jobs/j_1/scale";
    let server = serve(Router::new().route(path, any(handler))).await;
    let (namespace, job) = ("default".parse().unwrap(), "j_1".parse().unwrap());
    let expect = Some(pliant_types::Revision::new(9));
    let answer = client(&server.address)
        .act(&namespace, &job, Verb::Scale(ScaleBody { count: Some(3), by: None }), expect)
        .await
        .unwrap();
    assert!(answer.changed);
}

fn watch_frame(id: &str, event: &WatchEvent) -> String {
    let data = serde_json::to_string(event).unwrap();
    Frame { id: Some(id.to_owned()), event: Some(event.word().to_owned()), data }.encode()
}

fn stream_of(text: String) -> Response {
    ([(header::CONTENT_TYPE, EVENT_STREAM)], text).into_response()
}

#[tokio::test]
async fn a_watch_goes_on_after_the_last_event_that_it_saw() {
    let asked: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let seen = asked.clone();
    let handler = move |headers: HeaderMap| async move {
        let last = headers.get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        let mut seen = seen.lock().unwrap();
        seen.push(last);
        match seen.len() {
            // A good start, then an orderly end; then trouble; then the rest.
            1 => stream_of(HEARTBEAT.to_owned() + &watch_frame("7", &WatchEvent::Shutdown)),
            2 => problem(Code::ShuttingDown),
            _ => stream_of(watch_frame("8", &WatchEvent::Gone)),
        }
    };
    let server = serve(Router::new().route("/v1/events", get(handler))).await;
    let mut watch = client(&server.address).watch_all(Some(3));
    let first = watch.next().await.unwrap();
    assert!(matches!(first, Some(Received::Body(WatchEvent::Shutdown))), "{first:?}");
    let second = watch.next().await.unwrap();
    assert!(matches!(second, Some(Received::Lost(_))), "{second:?}");
    let third = watch.next().await.unwrap();
    assert!(matches!(third, Some(Received::Body(WatchEvent::Gone))), "{third:?}");
    assert_eq!(watch.last_id(), Some("8"));
    assert_eq!(*asked.lock().unwrap(), [None, Some("7".to_owned()), Some("7".to_owned())]);
}

#[tokio::test]
async fn a_log_ends_with_its_response_and_a_refused_one_at_once() {
    let line = "id: 1\ndata: {\"at\":\"2026-01-31T12:00:00.000Z\",\"stream\":\"stdout\",\"line\":\"a\"}\n\n";
    let path = "/v1/executions/{execution}/logs";
    let server =
        serve(Router::new().route(path, get(move || async move { stream_of(line.to_owned()) })))
            .await;
    let mut logs = client(&server.address).logs("e_1".parse().unwrap(), &Default::default());
    assert!(matches!(logs.next().await.unwrap(), Some(Received::Body(line)) if line.line == "a"));
    assert!(logs.next().await.unwrap().is_none());
    assert!(logs.next().await.unwrap().is_none());

    let server =
        serve(Router::new().fallback(any(|| async { problem(Code::ExecutionNotFound) }))).await;
    let mut logs = client(&server.address).logs("e_1".parse().unwrap(), &Default::default());
    assert_eq!(logs.next().await.unwrap_err().code(), Code::ExecutionNotFound);
    assert!(logs.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_silent_stream_counts_as_lost() {
    let handler = || async {
        let never = futures_never();
        ([(header::CONTENT_TYPE, EVENT_STREAM)], Body::from_stream(never)).into_response()
    };
    let server = serve(Router::new().route("/v1/events", get(handler))).await;
    let silence_timeout = Duration::from_millis(20);
    let config = Config { silence_timeout, ..Config::new(&server.address) };
    let mut watch = Client::new(config).unwrap().watch_all(None);
    let lost = watch.next().await.unwrap();
    assert!(matches!(lost, Some(Received::Lost(ClientError::Silent { .. }))), "{lost:?}");
    assert_ne!(End::Lost, End::Final);
}

/// A body that never sends anything and never ends.
fn futures_never() -> impl futures::Stream<Item = Result<Vec<u8>, std::io::Error>> {
    futures::stream::pending()
}

fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

fn view(digest: &Digest, size: usize) -> String {
    format!(
        "{{\"digest\":\"{digest}\",\"sizeBytes\":{size},\"kind\":\"other\",\"createdAt\":\"2026-01-31T12:00:00Z\",\"inUse\":false}}"
    )
}

#[tokio::test]
async fn a_file_is_sent_once_and_whole() {
    let stored: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
    let (store, look) = (stored.clone(), stored.clone());
    let send = move |headers: HeaderMap, body: axum::body::Bytes| async move {
        let digest = digest_of(&body);
        assert_eq!(headers["pliant-digest"].to_str().unwrap(), digest.to_string());
        assert!(store.lock().unwrap().replace(body.to_vec()).is_none(), "sent twice");
        view(&digest, body.len())
    };
    let known = move || async move {
        match look.lock().unwrap().as_ref() {
            Some(bytes) => view(&digest_of(bytes), bytes.len()).into_response(),
            None => problem(Code::ArtifactNotFound),
        }
    };
    let router = Router::new()
        .route("/v1/artifacts/{digest}", put(send))
        .route("/v1/artifacts/{digest}/view", get(known))
        .layer(axum::extract::DefaultBodyLimit::disable());
    let server = serve(router).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wasm");
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let client = client(&server.address);
    let first = client.upload(&path).await.unwrap();
    assert_eq!((first.digest, first.size_bytes), (digest_of(&bytes), bytes.len() as u64));
    assert_eq!(client.upload(&path).await.unwrap(), first);
    assert_eq!(stored.lock().unwrap().as_deref(), Some(bytes.as_slice()));
}

#[tokio::test]
async fn fetched_bytes_are_verified_and_bad_ones_leave_nothing() {
    let good = b"good bytes".to_vec();
    let sent = good.clone();
    let handler = move || async move { sent };
    let server = serve(Router::new().route("/v1/artifacts/{digest}", get(handler))).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wasm");
    let client = client(&server.address);
    let error = client.fetch(&digest_of(b"other"), &path).await.unwrap_err();
    assert_eq!(error.code(), Code::DigestMismatch);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(client.fetch(&digest_of(&good), &path).await.unwrap(), 10);
    assert_eq!(std::fs::read(&path).unwrap(), good);
}

#[tokio::test]
async fn a_file_that_the_store_would_refuse_is_not_sent() {
    let server = serve(Router::new().fallback(any(|| async { problem(Code::Internal) }))).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big");
    std::fs::File::create(&path).unwrap().set_len(300 * 1024 * 1024).unwrap();
    let error = client(&server.address).upload(&path).await.unwrap_err();
    assert_eq!(error.code(), Code::TooLarge);
    let error = client(&server.address).upload(&folder.path().join("none")).await.unwrap_err();
    assert!(matches!(error, ClientError::File { .. }));
}
