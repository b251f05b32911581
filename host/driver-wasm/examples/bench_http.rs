//! P7: requests a second and latency of the HTTP hello at the agent's own listener, against a plain
//! hyper server and, if it is installed, `wasmtime serve` of the same component. Load: `wrk`.
//!
//! `cargo run --release -p pliant-driver-wasm --example bench_http -- [SECONDS] [GUEST.wasm]`;
//! WASMTIME names the `wasmtime` program. One JSON line a figure; ratios within one run count.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a benchmark prints, and stops at a failure

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use pliant_driver::{
    Artifact, Driver, ExecutionSpec, Grants, HttpSettings, LogSettings, PortNumber, PortProtocol,
    PortSpec, Reuse, SilentProgress, Timeouts,
};
use pliant_driver_wasm::{CompilerCommand, WasmDriver, WasmSettings};
use pliant_types::{Attempt, Cpu, Digest, ExecutionId, Memory};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};

const CONNECTIONS: [u32; 2] = [1, 64];

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let seconds: u32 = args.next().map_or(5, |text| text.parse().unwrap());
    let guest = PathBuf::from(args.next().unwrap_or("target/guests/hello-http.wasm".to_owned()));
    let dir = tempfile::tempdir().unwrap();
    let compiler = CompilerCommand { program: worker(), args: Vec::new() };
    let settings = WasmSettings::new(dir.path().join("cache"), compiler);
    let driver = WasmDriver::new(settings).unwrap();
    let _events = driver.take_events().unwrap();
    let digest = Digest::new(Sha256::digest(std::fs::read(&guest).unwrap()).into());
    driver.prepare(&Artifact { digest, path: guest.clone() }, &SilentProgress).await.unwrap();

    measure("hyper", plain().await, seconds).await;
    let fresh = start(&driver, &dir, (1, digest), None).await;
    measure("pliant-fresh", fresh, seconds).await;
    let reuse = Reuse { max_requests: 100_000, max_idle: Duration::from_secs(10) };
    let reused = start(&driver, &dir, (2, digest), Some(reuse)).await;
    measure("pliant-reuse", reused, seconds).await;
    if let Some(wasmtime) = std::env::var_os("WASMTIME") {
        for (name, reuse) in [("wasmtime-fresh", "1"), ("wasmtime-reuse", "100000")] {
            let (mut server, address) = wasmtime_serve(Path::new(&wasmtime), &guest, reuse).await;
            measure(name, address, seconds).await;
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }
    driver.shutdown().await;
}

async fn plain() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let hello = service_fn(async |_request| {
                    let body = Full::new(Bytes::from_static(b"Hello from Pliant\n"));
                    Ok::<_, Infallible>(Response::new(body))
                });
                auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), hello)
                    .await
            });
        }
    });
    address
}

async fn start(
    driver: &WasmDriver,
    dir: &tempfile::TempDir,
    (number, digest): (u64, Digest),
    reuse: Option<Reuse>,
) -> SocketAddr {
    let execution = ExecutionId::new(number);
    let name = "http".to_owned();
    let spec = ExecutionSpec {
        execution,
        attempt: Attempt::FIRST,
        digest,
        args: Vec::new(),
        env: [].into(),
        config: [].into(),
        memory: Memory::from_mib(1_024),
        cpu: Cpu::from_millis(64_000),
        ports: vec![PortSpec { name, protocol: PortProtocol::Http, number: PortNumber::Dynamic }],
        mounts: Vec::new(),
        grants: Grants::default(),
        output_dir: None,
        logs: LogSettings::in_dir(dir.path().join(execution.to_string())),
        http: HttpSettings { reuse, ..HttpSettings::default() },
        timeouts: Timeouts::default(),
    };
    driver.start(spec).await.unwrap().ports[0].address
}

async fn wasmtime_serve(wasmtime: &Path, guest: &Path, reuse: &str) -> (Child, SocketAddr) {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let server = Command::new(wasmtime)
        .args(["serve", "--addr", &address.to_string(), "--max-instance-reuse-count", reuse])
        .arg("-Scli")
        .arg(guest)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (server, address)
}

async fn measure(name: &str, address: SocketAddr, seconds: u32) {
    let url = Arc::new(format!("http://{address}/"));
    for connections in CONNECTIONS {
        let threads = connections.min(2);
        let args = [
            "--latency".to_owned(),
            format!("-d{seconds}s"),
            format!("-c{connections}"),
            format!("-t{threads}"),
            url.to_string(),
        ];
        let ran = tokio::task::spawn_blocking(move || Command::new("wrk").args(args).output());
        let output = ran.await.unwrap().expect("wrk is installed (apt-get install wrk)");
        let text = String::from_utf8(output.stdout).unwrap();
        let field = |label: &str| {
            let line = text.lines().map(str::trim).find(|line| line.starts_with(label));
            line.and_then(|line| line.split_whitespace().last()).unwrap_or("?").to_owned()
        };
        println!(
            "{{\"figure\":\"P7\",\"server\":\"{name}\",\"connections\":{connections},\
             \"requests_per_second\":{},\"p50\":\"{}\",\"p99\":\"{}\",\"failed\":{}}}",
            field("Requests/sec:"),
            field("50%"),
            field("99%"),
            text.contains("Non-2xx") || text.contains("Socket errors"),
        );
    }
}

fn worker() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().join("pliant-compile-worker")
}
