//! HTTP handlers behind the driver's own listener.

#![allow(clippy::unwrap_used, clippy::panic)] // a test helper is a test

mod common;

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use common::{Host, PATIENCE, http_port, until};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pliant_driver::{Driver, ExecutionSpec, ExitCause, Reuse};
use pliant_types::{ExecutionId, Memory};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn serve(host: &Host, name: &str, change: impl FnOnce(&mut ExecutionSpec)) -> SocketAddr {
    let ports = host
        .start(1, name, |spec| {
            spec.ports = vec![http_port()];
            change(spec);
        })
        .await
        .unwrap();
    ports[0].address
}

async fn send(to: SocketAddr, request: Request<Full<Bytes>>) -> Response<Incoming> {
    let stream = TcpStream::connect(to).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    tokio::time::timeout(PATIENCE, sender.send_request(request)).await.unwrap().unwrap()
}

async fn get(to: SocketAddr, path: &str) -> (StatusCode, String) {
    let request = Request::get(path).header("host", "test").body(Full::default()).unwrap();
    let response = send(to, request).await;
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_over_both_versions_and_keeps_connections() {
    let host = Host::new();
    let to = serve(&host, "hello-http", |_| {}).await;

    let stream = TcpStream::connect(to).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..3 {
        sender.ready().await.unwrap();
        let request = Request::get("/").header("host", "a").body(Empty::<Bytes>::new()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "Hello from Pliant\n");
    }

    let stream = TcpStream::connect(to).await.unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{to}/");
    let request = Request::get(uri).body(Empty::<Bytes>::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.version(), http::Version::HTTP_2);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "Hello from Pliant\n");

    let usage = host.driver.usage(ExecutionId::new(1)).await.unwrap();
    assert_eq!(usage.requests, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_gets_a_fresh_instance_unless_reuse_is_asked_for() {
    let host = Host::new();
    let to = serve(&host, "http-probe", |_| {}).await;
    for _ in 0..3 {
        assert_eq!(get(to, "/count").await, (StatusCode::OK, "1".to_owned()));
    }
    host.driver.shutdown().await;

    let host = Host::new();
    let to = serve(&host, "http-probe", |spec| {
        spec.http.reuse = Some(Reuse { max_requests: 2, max_idle: PATIENCE });
    })
    .await;
    let mut counts = Vec::new();
    for _ in 0..4 {
        counts.push(get(to, "/count").await.1);
    }
    assert_eq!(counts, ["1", "2", "1", "2"]);
    host.driver.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_instance_goes_after_its_time_and_gives_its_memory_back() {
    let host = Host::new();
    let to = serve(&host, "http-probe", |spec| {
        spec.http.reuse = Some(Reuse { max_requests: 100, max_idle: Duration::from_millis(20) });
    })
    .await;
    assert_eq!(get(to, "/count").await.1, "1");
    let id = ExecutionId::new(1);
    let driver = host.driver.clone();
    tokio::time::timeout(PATIENCE, async {
        while driver.usage(id).await.unwrap().memory_bytes > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert_eq!(get(to, "/count").await.1, "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_a_body_both_ways_with_trailers() {
    let host = Host::new();
    let to = serve(&host, "http-probe", |_| {}).await;
    let sent = Bytes::from(vec![b'x'; 3 << 20]);
    let request = Request::post("/echo").header("host", "a").header("te", "trailers");
    let stream = TcpStream::connect(to).await.unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response =
        sender.send_request(request.body(Full::new(sent.clone())).unwrap()).await.unwrap();
    let collected = response.into_body().collect().await.unwrap();
    let trailers = collected.trailers().unwrap();
    assert_eq!(trailers.get("x-bytes").unwrap(), "3145728");
    assert!(collected.to_bytes() == sent, "what came back is what was sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trap_ends_one_request_and_is_in_the_log() {
    let host = Host::new();
    let to = serve(&host, "http-probe", |_| {}).await;
    let (status, text) = get(to, "/trap").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(text.contains("trapped"), "{text}");
    host.log_shows(1, "pliant: a request handler trapped").await;
    assert_eq!(get(to, "/silent").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(get(to, "/count").await.1, "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_takes_too_long_gets_an_answer_and_is_ended() {
    let host = Host::new();
    let to = serve(&host, "http-probe", |spec| {
        spec.timeouts.request = Duration::from_millis(100);
        spec.http.concurrency = 1;
    })
    .await;
    let (status, text) = get(to, "/spin").await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT, "{text}");
    // Its place is free again.
    until_answered(to).await;
}

async fn until_answered(to: SocketAddr) {
    tokio::time::timeout(PATIENCE, async { while get(to, "/count").await.0 != StatusCode::OK {} })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_requests_than_places_and_queue_get_503() {
    let host = Host::new();
    let to = serve(&host, "http-probe", |spec| {
        spec.http.concurrency = 1;
        spec.http.queue = 0;
    })
    .await;
    let (busy, refused) = tokio::time::timeout(PATIENCE, async {
        loop {
            // Raw, so that the connection can be dropped in the middle. Each round has its own: one
            // that came while the place was taken has been refused itself.
            let mut busy = TcpStream::connect(to).await.unwrap();
            busy.write_all(b"GET /spin HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            let request = Request::get("/count").header("host", "a").body(Full::default());
            let response = send(to, request.unwrap()).await;
            if response.status() == StatusCode::SERVICE_UNAVAILABLE {
                return (busy, response);
            }
        }
    })
    .await
    .unwrap();
    assert_eq!(refused.headers()["retry-after"], "1");
    // The client goes away: the guest that worked for it is ended, and its place is free.
    drop(busy);
    until_answered(to).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_waits_for_memory_and_none_fails() {
    let host = Host::new();
    // Room for a few instances; far more requests at once.
    let to = serve(&host, "http-probe", |spec| spec.memory = Memory::from_mib(5)).await;
    let burst: Vec<_> = (0..40).map(|_| tokio::spawn(get(to, "/count"))).collect();
    for answer in burst {
        assert_eq!(answer.await.unwrap(), (StatusCode::OK, "1".to_owned()));
    }
    let usage = host.driver.usage(ExecutionId::new(1)).await.unwrap();
    assert!(usage.memory_peak_bytes <= 5 << 20, "{usage:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_and_heads_are_bounded() {
    let host = Host::new();
    let to = serve(&host, "http-probe", |spec| spec.http.body_bytes = 1_000).await;
    let request = Request::post("/echo").header("host", "a");
    let response = send(to, request.body(Full::new(Bytes::from(vec![0; 1_001]))).unwrap()).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);

    let mut raw = TcpStream::connect(to).await.unwrap();
    let long = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    // The server may close before it has read all of it.
    let _cut_off = raw.write_all(long.as_bytes()).await;
    let mut answer = Vec::new();
    let _reset = raw.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(get(to, "/count").await.1, "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_lets_requests_finish_and_then_cuts_off() {
    let mut host = Host::new();
    let to = serve(&host, "http-probe", |_| {}).await;
    // A body that comes slowly: the head of the answer is there, the rest is under way.
    let mut slow = TcpStream::connect(to).await.unwrap();
    slow.write_all(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n01234")
        .await
        .unwrap();
    let mut answer = vec![0; 1_024];
    let mut got = String::new();
    while !got.contains("01234") {
        let length = slow.read(&mut answer).await.unwrap();
        assert_ne!(length, 0, "closed after {got:?}");
        got += std::str::from_utf8(&answer[..length]).unwrap();
    }
    let driver = host.driver.clone();
    let stop = tokio::spawn(async move { driver.stop(ExecutionId::new(1), PATIENCE).await });
    until("the port is closed", || std::net::TcpStream::connect(to).is_err()).await;
    assert!(!stop.is_finished(), "a request is under way");
    slow.write_all(b"56789").await.unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).await.unwrap();
    assert!(String::from_utf8_lossy(&rest).contains("56789"));
    assert_eq!(stop.await.unwrap().unwrap().cause, ExitCause::Stopped);
    assert_eq!(host.ended(1).await.cause, ExitCause::Stopped);

    // Without grace a spinning request does not hold up the end.
    host.start(2, "http-probe", |spec| spec.ports = vec![http_port()]).await.unwrap();
    let report = host.driver.stop(ExecutionId::new(2), Duration::ZERO).await.unwrap();
    assert_eq!(report.cause, ExitCause::Stopped);
}
