//! What a guest may reach: nothing by default, what was granted within what the operator allows.

#![allow(clippy::unwrap_used, clippy::panic)] // a test helper is a test

mod common;

use std::net::SocketAddr;

use common::{Host, port};
use pliant_driver::{Driver, ExitCause, Grants, PortNumber, PortProtocol};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// Answers HTTP requests with `served` and lines with themselves. Ends with the test's runtime.
async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    address
}

async fn answer(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    if !line.starts_with("GET ") {
        stream.write_all(line.as_bytes()).await.unwrap();
        return;
    }
    let mut header = String::new();
    while stream.read_line(&mut header).await.unwrap() > 2 {
        header.clear();
    }
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nserved";
    stream.write_all(answer.as_bytes()).await.unwrap();
}

fn host_that_allows_loopback() -> Host {
    Host::with(|settings| settings.outbound.allowed = vec!["127.0.0.0/8".parse().unwrap()])
}

async fn reach(host: &mut Host, grants: Grants, targets: &[String]) -> String {
    let (cause, log) = host
        .run(1, "outbound", |spec| {
            spec.args = targets.to_vec();
            spec.grants = grants;
        })
        .await;
    assert_eq!(cause, ExitCause::Code(0), "{log}");
    log
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_reachable_by_default() {
    let mut host = host_that_allows_loopback();
    let at = server().await;
    let targets = [format!("http://{at}/"), format!("tcp:{at}"), format!("udp:{at}")];
    let log = reach(&mut host, Grants::default(), &targets).await;
    for target in &targets {
        assert!(log.contains(&format!("stdout: {target}: refused")), "{log}");
    }
    let expected = format!("pliant: refused: http to {at} is not granted (capabilities.http-out)");
    assert!(log.contains(&expected), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_reaches_what_the_operator_allows() {
    let mut host = host_that_allows_loopback();
    let (at, other) = (server().await, server().await);
    let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let udp = receiver.local_addr().unwrap();
    let grants = Grants {
        http_out: vec![format!("localhost:{}", at.port())],
        tcp_out: vec![format!("localhost:{}", at.port())],
        udp_out: vec![udp.to_string()],
        ..Grants::default()
    };
    let granted =
        [format!("http://localhost:{}/page", at.port()), format!("tcp:{at}"), format!("udp:{udp}")];
    let refused = [
        format!("http://{at}/"), // granted by name, asked for by address
        format!("http://{other}/"),
        format!("tcp:{other}"),
    ];
    let targets: Vec<String> = granted.iter().chain(&refused).cloned().collect();
    let log = reach(&mut host, grants, &targets).await;
    assert!(log.contains(&format!("stdout: {}: ok 200 served", granted[0])), "{log}");
    assert!(log.contains(&format!("stdout: {}: ok ping", granted[1])), "{log}");
    assert!(log.contains(&format!("stdout: {}: ok 1 sent", granted[2])), "{log}");
    for target in &refused {
        assert!(log.contains(&format!("stdout: {target}: refused")), "{target}\n{log}");
    }
    let expected = format!("pliant: refused: tcp to {other} is not granted (capabilities.tcp-out)");
    assert!(log.contains(&expected), "{log}");
    let mut datagram = [0; 16];
    let length = receiver.recv(&mut datagram).await.unwrap();
    assert_eq!(&datagram[..length], b"ping");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_need_the_operator_even_when_granted() {
    let mut host = Host::new();
    let at = server().await;
    let grants = Grants {
        http_out: vec!["*".to_owned(), at.to_string(), format!("localhost:{}", at.port())],
        tcp_out: vec!["*:*".to_owned()],
        ..Grants::default()
    };
    let targets = [
        format!("http://{at}/"),
        format!("http://localhost:{}/", at.port()),
        format!("tcp:{at}"),
        format!("tcp:[::ffff:127.0.0.1]:{}", at.port()),
        "tcp:169.254.169.254:80".to_owned(),
    ];
    let log = reach(&mut host, grants, &targets).await;
    for target in &targets {
        assert!(log.contains(&format!("stdout: {target}: refused")), "{target}\n{log}");
    }
    assert!(log.contains("is not allowed on this host: it is a loopback address"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clusters_own_ports_are_never_reachable() {
    let at = server().await;
    let mut host = Host::with(|settings| {
        settings.outbound.allowed = vec!["127.0.0.0/8".parse().unwrap()];
        settings.outbound.control = vec![at];
    });
    let grants = Grants {
        http_out: vec![at.to_string()],
        tcp_out: vec![at.to_string()],
        ..Grants::default()
    };
    let targets = [format!("http://{at}/"), format!("tcp:{at}")];
    let log = reach(&mut host, grants, &targets).await;
    assert!(!log.contains(": ok"), "{log}");
    assert!(log.contains("it belongs to the cluster itself"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_listens_on_its_granted_port_only() {
    let mut host = Host::new();
    let ports = host
        .start(1, "echo-tcp", |spec| {
            spec.ports = vec![port("echo", PortProtocol::Tcp, PortNumber::Dynamic)];
            spec.grants.tcp_listen = vec!["echo".to_owned()];
        })
        .await
        .unwrap();
    host.log_shows(1, "listening").await;
    let mut stream = TcpStream::connect(ports[0].address).await.unwrap();
    stream.write_all(b"across").await.unwrap();
    let mut back = [0; 6];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"across");

    let other = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for grant in [vec!["echo".to_owned()], Vec::new()] {
        let number = 2 + grant.len() as u64;
        let (cause, log) = host
            .run(number, "echo-tcp", |spec| {
                spec.ports = vec![port("echo", PortProtocol::Tcp, PortNumber::Dynamic)];
                spec.args = vec![other.to_string()];
                spec.grants.tcp_listen = grant;
            })
            .await;
        assert_eq!(cause, ExitCause::Code(9), "{log}");
    }
    host.driver.shutdown().await;
}
