//! What a driver brings to the suite, and what the cases do with it again and again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pliant_types::{Attempt, ExecutionId};

use crate::{
    Artifact, Driver, DriverError, DriverEvent, EventReceiver, ExecutionSpec, ExitReport,
    SilentProgress, Started,
};

/// Artifacts that the suite needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Behaviour {
    /// Prints `conformance` to stdout and ends with this code.
    Exits(u32),
    /// Runs until it is stopped; takes any port it is given.
    RunsForever,
    /// Ends by a trap (or the nearest thing that the engine has).
    Traps,
    /// Bytes that the engine cannot run.
    Broken,
}

/// A driver under test. Each case gets its own.
#[async_trait]
pub trait Subject: Send + Sync + 'static {
    fn driver(&self) -> Arc<dyn Driver>;

    /// An artifact that behaves so; the same each time.
    fn artifact(&self, behaviour: Behaviour) -> Artifact;

    /// A spec of `execution` for that artifact with directories that exist and no ports.
    fn spec(&self, behaviour: Behaviour, execution: ExecutionId) -> ExecutionSpec;

    /// Lets time pass for drivers whose time is not real.
    async fn elapse(&self, by: Duration);
}

/// A subject with its events taken.
pub(crate) struct Bench {
    pub(crate) subject: Arc<dyn Subject>,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) events: EventReceiver,
}

impl Bench {
    pub(super) fn new(subject: Arc<dyn Subject>) -> Self {
        let driver = subject.driver();
        let events = driver.take_events().expect("a fresh driver has its events");
        Self { subject, driver, events }
    }

    pub(crate) async fn prepare(&self, behaviour: Behaviour) {
        let artifact = self.subject.artifact(behaviour);
        let prepared = self.driver.prepare(&artifact, &SilentProgress).await;
        assert!(prepared.is_ok(), "prepare of {behaviour:?}: {prepared:?}");
    }

    /// Prepares and starts attempt 1.
    pub(crate) async fn start(&self, behaviour: Behaviour, number: u64) -> ExecutionId {
        self.prepare(behaviour).await;
        let id = ExecutionId::new(number);
        let started = self.driver.start(self.subject.spec(behaviour, id)).await;
        assert!(started.is_ok(), "start of {behaviour:?}: {started:?}");
        id
    }

    pub(crate) async fn start_spec(&self, spec: ExecutionSpec) -> Result<Started, DriverError> {
        self.driver.start(spec).await
    }

    /// The next event; time passes meanwhile.
    pub(crate) async fn event(&mut self) -> DriverEvent {
        loop {
            if let Ok(event) = self.events.try_recv() {
                return event;
            }
            self.subject.elapse(Duration::from_secs(1)).await;
            let soon = tokio::time::timeout(Duration::from_secs(20), self.events.recv()).await;
            let event = soon.ok().flatten();
            assert!(event.is_some(), "an event within 20 s");
            if let Some(event) = event {
                return event;
            }
        }
    }

    /// Expects `Started` then `Ended` of this attempt and returns the report.
    pub(crate) async fn started_and_ended(
        &mut self,
        id: ExecutionId,
        attempt: Attempt,
    ) -> ExitReport {
        self.started(id, attempt).await;
        self.ended(id, attempt).await
    }

    pub(crate) async fn started(&mut self, id: ExecutionId, attempt: Attempt) {
        let event = self.event().await;
        assert!(
            matches!(&event, DriverEvent::Started { execution, attempt: at, .. }
                if *execution == id && *at == attempt),
            "expected the start of {id} attempt {attempt}, got {event:?}"
        );
    }

    pub(crate) async fn ended(&mut self, id: ExecutionId, attempt: Attempt) -> ExitReport {
        let event = self.event().await;
        let report = match &event {
            DriverEvent::Ended { execution, attempt: at, report }
                if *execution == id && *at == attempt =>
            {
                Some(report.clone())
            }
            DriverEvent::Ended { .. } | DriverEvent::Started { .. } => None,
        };
        assert!(report.is_some(), "expected the end of {id} attempt {attempt}, got {event:?}");
        report.expect("checked on the line above")
    }

    /// Asserts that nothing more is told.
    pub(crate) fn quiet(&mut self) {
        let event = self.events.try_recv().ok();
        assert_eq!(event, None, "an event too many");
    }
}
