//! What tests of the Wasm driver share: a host of their own, guests by name, waiting for ends.

#![allow(dead_code, unreachable_pub)] // each test file uses its part
#![allow(clippy::unwrap_used, clippy::panic)] // a test helper is a test

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pliant_driver::logs::{LogReader, LogRecord};
use pliant_driver::{
    Access, Artifact, Driver, DriverError, DriverEvent, EventReceiver, ExecutionSpec, ExitCause,
    ExitReport, Grants, HttpSettings, LogSettings, MountSpec, PortNumber, PortProtocol, PortSpec,
    SilentProgress, Timeouts,
};
use pliant_driver_wasm::{CompilerCommand, WasmDriver, WasmSettings};
use pliant_types::{Attempt, Cpu, Digest, ExecutionId, Memory};
use sha2::{Digest as _, Sha256};

/// Everything that is waited for must happen within this time, on a slow machine as well.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Where `make guests` puts the guests.
pub fn guest_path(name: &str) -> PathBuf {
    let dir = std::env::var_os("PLIANT_GUESTS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/guests"),
        PathBuf::from,
    );
    let path = dir.join(format!("{name}.wasm"));
    assert!(path.exists(), "{} is missing: run `make guests` first", path.display());
    path
}

pub fn artifact_at(path: PathBuf) -> Artifact {
    let digest = Digest::new(Sha256::digest(std::fs::read(&path).unwrap()).into());
    Artifact { digest, path }
}

pub fn guest(name: &str) -> Artifact {
    artifact_at(guest_path(name))
}

/// A driver in directories of its own.
pub struct Host {
    pub driver: Arc<WasmDriver>,
    pub dir: tempfile::TempDir,
    pub events: EventReceiver,
    ended: BTreeMap<(ExecutionId, Attempt), ExitReport>,
}

pub fn compiler() -> CompilerCommand {
    CompilerCommand {
        program: env!("CARGO_BIN_EXE_pliant-compile-worker").into(),
        args: Vec::new(),
    }
}

impl Host {
    pub fn new() -> Self {
        Self::with(|_settings| {})
    }

    pub fn with(change: impl FnOnce(&mut WasmSettings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = WasmSettings::new(shared_cache(), compiler());
        settings.guest_threads = 2;
        change(&mut settings);
        let driver = Arc::new(WasmDriver::new(settings).unwrap());
        let events = driver.take_events().unwrap();
        Self { driver, dir, events, ended: BTreeMap::new() }
    }

    /// A spec for a guest with 64 MiB, one core, nothing granted.
    pub fn spec(&self, number: u64, artifact: &Artifact) -> ExecutionSpec {
        spec_in(&self.dir, ExecutionId::new(number), artifact.digest)
    }

    pub async fn prepare(&self, artifact: &Artifact) {
        self.driver.prepare(artifact, &SilentProgress).await.unwrap();
    }

    /// Prepares the guest and starts it as it is changed.
    pub async fn start(
        &self,
        number: u64,
        name: &str,
        change: impl FnOnce(&mut ExecutionSpec),
    ) -> Result<Vec<pliant_driver::BoundPort>, DriverError> {
        let artifact = guest(name);
        self.prepare(&artifact).await;
        let mut spec = self.spec(number, &artifact);
        change(&mut spec);
        self.driver.start(spec).await.map(|started| started.ports)
    }

    /// Waits for the end of the first attempt.
    pub async fn ended(&mut self, number: u64) -> ExitReport {
        let key = (ExecutionId::new(number), Attempt::FIRST);
        loop {
            if let Some(report) = self.ended.remove(&key) {
                return report;
            }
            let event = tokio::time::timeout(PATIENCE, self.events.recv()).await;
            let event = event.unwrap_or_else(|_| panic!("{} did not end", key.0)).unwrap();
            if let DriverEvent::Ended { execution, attempt, report } = event {
                self.ended.insert((execution, attempt), report);
            }
        }
    }

    /// Runs a guest to its end and returns how it ended and what it wrote.
    pub async fn run(
        &mut self,
        number: u64,
        name: &str,
        change: impl FnOnce(&mut ExecutionSpec),
    ) -> (ExitCause, String) {
        self.start(number, name, change).await.unwrap();
        let report = self.ended(number).await;
        (report.cause, self.log(number))
    }

    pub fn log_dir(&self, number: u64) -> PathBuf {
        self.dir.path().join(ExecutionId::new(number).to_string()).join("logs")
    }

    /// All that is in the log, one line each: `stream: text`.
    pub fn log(&self, number: u64) -> String {
        let mut reader = LogReader::finished(self.log_dir(number), 0);
        let mut text = String::new();
        loop {
            let records = reader.read().unwrap();
            if records.is_empty() {
                return text;
            }
            for record in records {
                text += &line(&record);
            }
        }
    }

    /// Follows the log until a line contains `what`.
    pub async fn log_shows(&self, number: u64, what: &str) {
        let request = pliant_driver::LogRequest {
            execution: ExecutionId::new(number),
            dir: self.log_dir(number),
            from: 0,
        };
        let mut reader = self.driver.logs(request).await.unwrap();
        let found = async {
            while let Some(records) = reader.next().await.unwrap() {
                if records.iter().any(|record| line(record).contains(what)) {
                    return true;
                }
            }
            false
        };
        let found = tokio::time::timeout(PATIENCE, found).await.unwrap_or(false);
        assert!(found, "{what:?} is not in the log:\n{}", self.log(number));
    }
}

fn line(record: &LogRecord) -> String {
    let text = String::from_utf8_lossy(&record.text);
    let end = if record.ends_line { "" } else { "…" };
    format!("{}: {text}{end}\n", record.stream.name())
}

/// Compiled code is shared by all tests of a build, so that each guest is compiled once.
fn shared_cache() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("code-cache")
}

pub fn spec_in(dir: &tempfile::TempDir, id: ExecutionId, digest: Digest) -> ExecutionSpec {
    let own = dir.path().join(id.to_string());
    let output = own.join("output");
    std::fs::create_dir_all(&output).unwrap();
    ExecutionSpec {
        execution: id,
        attempt: Attempt::FIRST,
        digest,
        args: Vec::new(),
        env: BTreeMap::new(),
        config: BTreeMap::new(),
        memory: Memory::from_mib(64),
        cpu: Cpu::from_millis(1_000),
        ports: Vec::new(),
        mounts: Vec::new(),
        grants: Grants::default(),
        output_dir: Some(output),
        logs: LogSettings::in_dir(own.join("logs")),
        http: HttpSettings::default(),
        timeouts: Timeouts::default(),
    }
}

pub fn port(name: &str, protocol: PortProtocol, number: PortNumber) -> PortSpec {
    PortSpec { name: name.to_owned(), protocol, number }
}

pub fn http_port() -> PortSpec {
    port("http", PortProtocol::Http, PortNumber::Dynamic)
}

pub fn read_only(host_path: impl Into<PathBuf>, guest_path: &str) -> MountSpec {
    MountSpec {
        host_path: host_path.into(),
        guest_path: guest_path.to_owned(),
        access: Access::ReadOnly,
    }
}

/// Waits until `condition` holds, looking again whenever the runtime has nothing better to do.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain until {what}");
        tokio::task::yield_now().await;
    }
}
