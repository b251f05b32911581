//! What the driver knows of each execution, from its start until it is removed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pliant_driver::{BoundPort, DriverError, ExecutionState, ExitReport, Usage};
use pliant_types::{Attempt, ExecutionId};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::guest::GuestSetup;
use crate::http::HttpCounters;

/// One attempt that was started.
pub(crate) struct Live {
    pub(crate) attempt: Attempt,
    pub(crate) ports: Vec<BoundPort>,
    pub(crate) setup: Arc<GuestSetup>,
    pub(crate) counters: Arc<HttpCounters>,
    /// Whether it is an HTTP handler, which can be drained.
    pub(crate) is_http: bool,
    /// Take no new work.
    pub(crate) drain: CancellationToken,
    /// End now.
    pub(crate) kill: CancellationToken,
    /// Set once, at the end.
    pub(crate) report: watch::Receiver<Option<ExitReport>>,
    /// The event of the end is with the agent.
    pub(crate) told: CancellationToken,
}

impl Live {
    pub(crate) fn ended(&self) -> Option<ExitReport> {
        self.report.borrow().clone()
    }

    /// Waits for the end.
    pub(crate) async fn end(&self) -> Option<ExitReport> {
        let mut report = self.report.clone();
        // The sender is dropped without a report only when the runtime itself is torn down.
        let ended = report.wait_for(Option::is_some).await.ok()?;
        ended.clone()
    }

    pub(crate) fn usage(&self) -> Usage {
        usage(&self.setup, &self.counters)
    }

    pub(crate) fn state(&self) -> ExecutionState {
        let attempt = self.attempt;
        match self.ended() {
            Some(report) => ExecutionState::Ended { attempt, report },
            None => ExecutionState::Running { attempt, ports: self.ports.clone() },
        }
    }
}

pub(super) fn usage(setup: &GuestSetup, counters: &HttpCounters) -> Usage {
    Usage {
        memory_bytes: setup.memory.used(),
        memory_peak_bytes: setup.memory.peak(),
        cpu_ms: u64::try_from(setup.cpu.used().as_millis()).unwrap_or(u64::MAX),
        requests: counters.answered(),
    }
}

enum Entry {
    /// A start is under way; what was there before comes back if it fails.
    Starting(Option<Arc<Live>>),
    Started(Arc<Live>),
}

/// All executions of the driver.
#[derive(Default)]
pub(crate) struct Registry(Mutex<HashMap<ExecutionId, Entry>>);

impl Registry {
    /// Claims an execution for a start.
    pub(super) fn begin(&self, id: ExecutionId) -> Result<(), DriverError> {
        let mut entries = self.entries();
        let before = match entries.remove(&id) {
            None => None,
            Some(Entry::Started(live)) if live.ended().is_some() => Some(live),
            Some(running) => {
                entries.insert(id, running);
                return Err(DriverError::AlreadyRunning(id));
            }
        };
        entries.insert(id, Entry::Starting(before));
        Ok(())
    }

    /// Returns the attempt before, if there was one.
    pub(super) fn finish(&self, id: ExecutionId, live: Arc<Live>) -> Option<Arc<Live>> {
        match self.entries().insert(id, Entry::Started(live)) {
            Some(Entry::Starting(before)) => before,
            Some(Entry::Started(_)) | None => None,
        }
    }

    pub(super) fn give_up(&self, id: ExecutionId) {
        let mut entries = self.entries();
        if let Some(Entry::Starting(Some(before))) = entries.remove(&id) {
            entries.insert(id, Entry::Started(before));
        }
    }

    pub(crate) fn get(&self, id: ExecutionId) -> Option<Arc<Live>> {
        match self.entries().get(&id) {
            Some(Entry::Started(live)) => Some(live.clone()),
            Some(Entry::Starting(_)) | None => None,
        }
    }

    pub(crate) fn known(&self, id: ExecutionId) -> Result<Arc<Live>, DriverError> {
        self.get(id).ok_or(DriverError::UnknownExecution(id))
    }

    pub(crate) fn remove(&self, id: ExecutionId) -> Result<(), DriverError> {
        let mut entries = self.entries();
        match entries.get(&id) {
            Some(Entry::Started(live)) if live.ended().is_some() => {
                entries.remove(&id);
                Ok(())
            }
            Some(_) => Err(DriverError::StillRunning(id)),
            None => Err(DriverError::UnknownExecution(id)),
        }
    }

    pub(crate) fn running(&self) -> Vec<(ExecutionId, Arc<Live>)> {
        let entries = self.entries();
        let started = entries.iter().filter_map(|(id, entry)| match entry {
            Entry::Started(live) => Some((*id, live.clone())),
            Entry::Starting(_) => None,
        });
        started.filter(|(_, live)| live.ended().is_none()).collect()
    }

    /// Addresses that running executions hold.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let running = self.running();
        running.iter().flat_map(|(_, live)| live.ports.iter().map(|port| port.address)).collect()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<ExecutionId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
