//! The fake driver passes the suite, and its time moves only by `advance`.
#![allow(clippy::unwrap_used)] // a test helper outside a #[test] function is a test too

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pliant_driver::conformance::{Behaviour, Subject, cases};
use pliant_driver::fake::{FakeDriver, FakePrepare, FakeRun, FakeScript, Survival};
use pliant_driver::{
    Artifact, Driver, DriverEvent, ExecutionSpec, ExitCause, Grants, HttpSettings, LogSettings,
    Recovered, SilentProgress, Timeouts,
};
use pliant_types::{Attempt, Cpu, Digest, ExecutionId, Memory};

struct FakeSubject {
    driver: Arc<FakeDriver>,
    dir: tempfile::TempDir,
}

fn digest(behaviour: Behaviour) -> Digest {
    let byte = match behaviour {
        Behaviour::Exits(code) => u8::try_from(code).unwrap(),
        Behaviour::RunsForever => 100,
        Behaviour::Traps => 101,
        Behaviour::Broken => 102,
    };
    Digest::new([byte; 32])
}

fn script(behaviour: Behaviour) -> FakeScript {
    let base = FakeScript { prints: vec!["conformance".to_owned()], ..FakeScript::default() };
    match behaviour {
        Behaviour::Exits(code) => {
            FakeScript { run: FakeRun::ExitAfter { run_ms: 10, code }, ..base }
        }
        Behaviour::RunsForever => base,
        Behaviour::Traps => {
            let message = "unreachable".to_owned();
            FakeScript { run: FakeRun::TrapAfter { run_ms: 10, message }, ..base }
        }
        Behaviour::Broken => {
            FakeScript { prepare: FakePrepare::Invalid("not wasm".to_owned()), ..base }
        }
    }
}

impl FakeSubject {
    fn new() -> Self {
        let driver = Arc::new(FakeDriver::new(Survival::EndsWithProcess));
        for behaviour in [
            Behaviour::Exits(0),
            Behaviour::Exits(1),
            Behaviour::Exits(3),
            Behaviour::RunsForever,
            Behaviour::Traps,
            Behaviour::Broken,
        ] {
            driver.set_script(digest(behaviour), script(behaviour));
        }
        Self { driver, dir: tempfile::tempdir().unwrap() }
    }
}

#[async_trait]
impl Subject for FakeSubject {
    fn driver(&self) -> Arc<dyn Driver> {
        self.driver.clone()
    }

    fn artifact(&self, behaviour: Behaviour) -> Artifact {
        Artifact { digest: digest(behaviour), path: self.dir.path().join("artifact") }
    }

    fn spec(&self, behaviour: Behaviour, execution: ExecutionId) -> ExecutionSpec {
        ExecutionSpec {
            execution,
            attempt: Attempt::FIRST,
            digest: digest(behaviour),
            args: Vec::new(),
            env: [].into(),
            config: [].into(),
            memory: Memory::from_mib(64),
            cpu: Cpu::from_millis(1_000),
            ports: Vec::new(),
            mounts: Vec::new(),
            grants: Grants::default(),
            output_dir: None,
            logs: LogSettings::in_dir(self.dir.path().join(execution.to_string())),
            http: HttpSettings::default(),
            timeouts: Timeouts::default(),
        }
    }

    async fn elapse(&self, by: Duration) {
        self.driver.advance(by).await;
    }
}

#[tokio::test]
async fn passes_every_case() {
    for case in cases() {
        println!("{case:?}");
        case.run(Arc::new(FakeSubject::new())).await;
    }
}

#[tokio::test]
async fn a_slow_prepare_waits_for_fake_time() {
    let subject = FakeSubject::new();
    let slow = FakeScript { prepare_ms: 500, start_ms: 100, ..FakeScript::default() };
    subject.driver.set_script(digest(Behaviour::RunsForever), slow);
    let driver = subject.driver.clone();
    let artifact = subject.artifact(Behaviour::RunsForever);
    let spec = subject.spec(Behaviour::RunsForever, ExecutionId::new(1));
    let work = tokio::spawn(async move {
        driver.prepare(&artifact, &SilentProgress).await.unwrap();
        driver.start(spec).await.unwrap();
    });
    for _ in 0..599 {
        subject.driver.advance(Duration::from_millis(1)).await;
        tokio::task::yield_now().await;
        assert!(!work.is_finished());
    }
    while !work.is_finished() {
        subject.driver.advance(Duration::from_millis(1)).await;
        tokio::task::yield_now().await;
    }
    work.await.unwrap();
}

#[tokio::test]
async fn a_crash_of_the_engine_is_an_event() {
    let subject = FakeSubject::new();
    let mut events = subject.driver.take_events().unwrap();
    let artifact = subject.artifact(Behaviour::RunsForever);
    let id = ExecutionId::new(5);
    subject.driver.prepare(&artifact, &SilentProgress).await.unwrap();
    subject.driver.start(subject.spec(Behaviour::RunsForever, id)).await.unwrap();
    let why = ExitCause::Failed { message: "engine lost".to_owned() };
    assert!(subject.driver.end(id, why.clone()).await);
    assert!(!subject.driver.end(id, why.clone()).await);
    assert!(matches!(events.recv().await, Some(DriverEvent::Started { .. })));
    assert!(matches!(events.recv().await,
        Some(DriverEvent::Ended { report, .. }) if report.cause == why));
    assert_eq!(subject.driver.recover(&[id]).await, [Recovered::Gone { execution: id }]);
}
