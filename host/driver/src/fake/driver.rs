//! The driver trait round the fake machine. Verbs that take time wait for `advance`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pliant_types::{Digest, ExecutionId};
use tokio::sync::{mpsc, watch};

use super::machine::FakeMachine;
use super::script::{FakeScript, Survival};
use crate::logs::{LogReader, LogWriter, Stream};
use crate::{
    Artifact, Driver, DriverDescription, DriverError, DriverEvent, EVENT_QUEUE_LIMIT,
    EventReceiver, ExecutionSpec, ExecutionState, ExitCause, ExitReport, LogRequest, Phase,
    Prepared, Progress, Recovered, Resources, Signal, Started, Usage,
};

const NAME: &str = "fake";

#[derive(Debug)]
pub struct FakeDriver {
    machine: Mutex<FakeMachine>,
    clock_ms: watch::Sender<u64>,
    events: mpsc::Sender<DriverEvent>,
    receiver: Mutex<Option<EventReceiver>>,
}

impl FakeDriver {
    #[must_use]
    pub fn new(survival: Survival) -> Self {
        let (events, receiver) = mpsc::channel(EVENT_QUEUE_LIMIT);
        Self {
            machine: Mutex::new(FakeMachine::new(survival)),
            clock_ms: watch::Sender::new(0),
            events,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    /// What artifacts of this digest do from now on; without a script they run for ever.
    pub fn set_script(&self, digest: Digest, script: FakeScript) {
        self.machine().set_script(digest, script);
    }

    /// Lets fake time pass; what becomes due happens, in order.
    pub async fn advance(&self, by: Duration) {
        let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let (now_ms, events) = {
            let mut machine = self.machine();
            let now_ms = machine.now_ms().saturating_add(by_ms);
            (now_ms, machine.advance_to(now_ms))
        };
        self.send(events).await;
        self.clock_ms.send_replace(now_ms);
    }

    /// Ends a running execution as its engine's crash would. False: it was not running.
    pub async fn end(&self, execution: ExecutionId, cause: ExitCause) -> bool {
        let event = self.machine().end(execution, cause);
        let ended = event.is_some();
        self.send(event).await;
        self.wake();
        ended
    }

    fn machine(&self) -> MutexGuard<'_, FakeMachine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A receiver that is gone belongs to an agent that is gone: nobody misses the event.
    async fn send(&self, events: impl IntoIterator<Item = DriverEvent>) {
        for event in events {
            if self.events.send(event).await.is_err() {
                return;
            }
        }
    }

    fn wake(&self) {
        let now_ms = self.machine().now_ms();
        self.clock_ms.send_replace(now_ms);
    }

    /// Waits until `pass_ms` of fake time have passed.
    async fn pass(&self, pass_ms: u64) {
        let until_ms = self.machine().now_ms().saturating_add(pass_ms);
        let mut clock = self.clock_ms.subscribe();
        let reached = clock.wait_for(|now_ms| *now_ms >= until_ms).await;
        debug_assert!(reached.is_ok(), "the sender lives in self");
    }
}

#[async_trait]
impl Driver for FakeDriver {
    fn describe(&self) -> DriverDescription {
        DriverDescription {
            name: NAME,
            engine_version: "1".to_owned(),
            ..DriverDescription::default()
        }
    }

    fn take_events(&self) -> Option<EventReceiver> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn prepare(
        &self,
        artifact: &Artifact,
        progress: &dyn Progress,
    ) -> Result<Prepared, DriverError> {
        let digest = artifact.digest;
        progress.phase(Phase::Verifying);
        if !self.machine().is_prepared(&digest) {
            progress.phase(Phase::Compiling);
            let prepare_ms = self.machine().script(&digest).prepare_ms;
            self.pass(prepare_ms).await;
        }
        let compiled = self.machine().prepare(digest)?;
        Ok(Prepared { digest, kind: NAME.to_owned(), compiled })
    }

    async fn start(&self, spec: ExecutionSpec) -> Result<Started, DriverError> {
        let script = self.machine().script(&spec.digest);
        self.machine().admit(&spec)?;
        self.pass(script.start_ms).await;
        let event = self.machine().start(&spec)?;
        let ports = match &event {
            DriverEvent::Started { ports, .. } => ports.clone(),
            DriverEvent::Ended { .. } => Vec::new(),
        };
        write_log(&spec, &script.prints)?;
        self.send([event]).await;
        self.advance(Duration::ZERO).await;
        Ok(Started { ports })
    }

    async fn probe(&self, execution: ExecutionId) -> Option<ExecutionState> {
        self.machine().probe(execution)
    }

    async fn signal(&self, execution: ExecutionId, _signal: Signal) -> Result<(), DriverError> {
        self.machine().usage(execution)?;
        Err(DriverError::Unsupported { driver: NAME, verb: "signal" })
    }

    async fn resize(&self, execution: ExecutionId, _to: Resources) -> Result<(), DriverError> {
        self.machine().usage(execution)?;
        Err(DriverError::Unsupported { driver: NAME, verb: "resize" })
    }

    async fn swap(&self, spec: ExecutionSpec) -> Result<(), DriverError> {
        self.machine().usage(spec.execution)?;
        Err(DriverError::Unsupported { driver: NAME, verb: "swap" })
    }

    async fn stop(
        &self,
        execution: ExecutionId,
        grace: Duration,
    ) -> Result<ExitReport, DriverError> {
        let mut clock = self.clock_ms.subscribe();
        if let Some(report) = self.machine().stop(execution, grace)? {
            return Ok(report);
        }
        self.advance(Duration::ZERO).await;
        loop {
            match self.machine().probe(execution) {
                Some(ExecutionState::Ended { report, .. }) => return Ok(report),
                Some(ExecutionState::Running { .. }) => {}
                None => return Err(DriverError::UnknownExecution(execution)),
            }
            let moved = clock.changed().await;
            debug_assert!(moved.is_ok(), "the sender lives in self");
        }
    }

    async fn remove(&self, execution: ExecutionId) -> Result<(), DriverError> {
        self.machine().remove(execution)
    }

    async fn recover(&self, known: &[ExecutionId]) -> Vec<Recovered> {
        self.machine().recover(known)
    }

    async fn logs(&self, request: LogRequest) -> Result<LogReader, DriverError> {
        Ok(LogReader::finished(request.dir, request.from))
    }

    async fn usage(&self, execution: ExecutionId) -> Result<Usage, DriverError> {
        self.machine().usage(execution)
    }

    async fn shutdown(&self) {
        let ended: Vec<DriverEvent> = {
            let mut machine = self.machine();
            let running = machine.running();
            running.into_iter().filter_map(|id| machine.end(id, ExitCause::Stopped)).collect()
        };
        self.send(ended).await;
        self.wake();
    }
}

fn write_log(spec: &ExecutionSpec, lines: &[String]) -> Result<(), DriverError> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut log = LogWriter::open(spec.logs.clone(), 0).map_err(|source| DriverError::Io {
        action: "open the log in",
        path: spec.logs.dir.clone(),
        source,
    })?;
    for line in lines {
        log.write(Stream::Stdout, format!("{line}\n").as_bytes(), 0);
    }
    log.close(0);
    Ok(())
}
