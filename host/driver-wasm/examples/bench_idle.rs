//! P11: how much an idle Wasm task costs. Starts many tickers that sleep and prints one JSON line.
//!
//! `cargo run --release -p pliant-driver-wasm --example bench_idle -- [COUNT] [GUEST.wasm]`

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a benchmark prints, and stops at a failure

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pliant_driver::{
    Artifact, Driver, DriverEvent, ExecutionSpec, Grants, HttpSettings, LogSettings,
    SilentProgress, Timeouts,
};
use pliant_driver_wasm::{CompilerCommand, WasmDriver, WasmSettings};
use pliant_types::{Attempt, Cpu, Digest, ExecutionId, Memory};
use sha2::{Digest as _, Sha256};

const IDLE_SECONDS: u64 = 10;

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let count: u64 = args.next().map_or(10_000, |text| text.parse().unwrap());
    let path = PathBuf::from(args.next().unwrap_or("target/guests/ticker.wasm".to_owned()));
    let digest = Digest::new(Sha256::digest(std::fs::read(&path).unwrap()).into());
    let dir = tempfile::tempdir().unwrap();
    let compiler = CompilerCommand { program: worker(), args: Vec::new() };
    let settings = WasmSettings::new(dir.path().join("cache"), compiler);
    let driver = Arc::new(WasmDriver::new(settings).unwrap());
    let mut events = driver.take_events().unwrap();
    driver.prepare(&Artifact { digest, path }, &SilentProgress).await.unwrap();

    let before_kib = resident_kib();
    let began = Instant::now();
    let seen = tokio::spawn(async move {
        let mut started = 0;
        while let Some(event) = events.recv().await {
            match event {
                DriverEvent::Started { .. } => started += 1,
                DriverEvent::Ended { report, .. } => return Err(format!("{}", report.cause)),
            }
            if started == count {
                break;
            }
        }
        Ok(events)
    });
    for number in 0..count {
        driver.start(spec(&dir, ExecutionId::new(number), digest)).await.unwrap();
    }
    let _events = seen.await.unwrap().unwrap();
    let up_ms = began.elapsed().as_millis();
    // All of them have reached their sleep when the process has come to rest.
    let mut last = process_time();
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = process_time();
        if now - last < Duration::from_millis(25) {
            break;
        }
        last = now;
    }
    let after_kib = resident_kib();
    let cpu_before = process_time();
    tokio::time::sleep(Duration::from_secs(IDLE_SECONDS)).await;
    let cpu_ms = (process_time() - cpu_before).as_millis();
    println!(
        "{{\"figure\":\"P11\",\"tasks\":{count},\"up_ms\":{up_ms},\"resident_kib\":{after_kib},\
         \"kib_per_task\":{},\"cpu_ms_in_{IDLE_SECONDS}_s\":{cpu_ms},\"pool\":{:?}}}",
        (after_kib - before_kib) / count,
        driver.describe().max_executions,
    );
    driver.shutdown().await;
}

fn worker() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().join("pliant-compile-worker")
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn process_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

fn spec(dir: &tempfile::TempDir, execution: ExecutionId, digest: Digest) -> ExecutionSpec {
    ExecutionSpec {
        execution,
        attempt: Attempt::FIRST,
        digest,
        args: Vec::new(),
        env: [("INTERVAL_MS".to_owned(), "100000000".to_owned())].into(),
        config: [].into(),
        memory: Memory::from_mib(64),
        cpu: Cpu::from_millis(100),
        ports: Vec::new(),
        mounts: Vec::new(),
        grants: Grants::default(),
        output_dir: None,
        logs: LogSettings::in_dir(dir.path().join(execution.to_string())),
        http: HttpSettings::default(),
        timeouts: Timeouts::default(),
    }
}
