//! The Wasm driver passes the suite of all drivers.

#![allow(clippy::unwrap_used, clippy::panic)] // a test helper is a test

mod common;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use common::{artifact_at, guest, spec_in};
use pliant_driver::conformance::{Behaviour, Subject, cases};
use pliant_driver::{Artifact, Driver, ExecutionSpec};
use pliant_driver_wasm::{PoolMode, WasmDriver, WasmSettings};
use pliant_types::ExecutionId;

struct WasmSubject {
    driver: Arc<WasmDriver>,
    dir: tempfile::TempDir,
}

impl WasmSubject {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // A cache of its own: the suite wants to see the first compilation.
        let mut settings = WasmSettings::new(dir.path().join("cache"), common::compiler());
        settings.pool = PoolMode::OnDemand;
        settings.guest_threads = 2;
        let driver = Arc::new(WasmDriver::new(settings).unwrap());
        std::fs::write(dir.path().join("broken"), "this is not wasm").unwrap();
        Self { driver, dir }
    }
}

#[async_trait]
impl Subject for WasmSubject {
    fn driver(&self) -> Arc<dyn Driver> {
        self.driver.clone()
    }

    fn artifact(&self, behaviour: Behaviour) -> Artifact {
        match behaviour {
            Behaviour::Exits(_) => guest("exit-code"),
            // An HTTP handler runs until it is stopped and takes any port.
            Behaviour::RunsForever => guest("hello-http"),
            Behaviour::Traps => guest("trap"),
            Behaviour::Broken => artifact_at(self.dir.path().join("broken")),
        }
    }

    fn spec(&self, behaviour: Behaviour, execution: ExecutionId) -> ExecutionSpec {
        let mut spec = spec_in(&self.dir, execution, self.artifact(behaviour).digest);
        if let Behaviour::Exits(code) = behaviour {
            spec.args = vec![code.to_string(), "conformance".to_owned()];
        }
        spec
    }

    async fn elapse(&self, _by: Duration) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passes_every_case() {
    for case in cases() {
        println!("{case:?}");
        let subject = Arc::new(WasmSubject::new());
        case.run(subject.clone()).await;
        subject.driver.shutdown().await;
    }
}
