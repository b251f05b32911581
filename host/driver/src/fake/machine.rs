//! The fake engine as a state machine: told the time, gives events. No clock, no I/O, no tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use pliant_types::{Attempt, Digest, ExecutionId};

use super::script::{FakePrepare, FakeRun, FakeScript, FakeStart, Survival};
use crate::{
    BoundPort, DriverError, DriverEvent, ExecutionSpec, ExecutionState, ExitCause, ExitReport,
    PortNumber, Recovered, Usage,
};

const FIRST_DYNAMIC_PORT: u16 = 20_000;

#[derive(Debug)]
pub struct FakeMachine {
    now_ms: u64,
    survival: Survival,
    scripts: BTreeMap<Digest, FakeScript>,
    prepared: BTreeSet<Digest>,
    executions: BTreeMap<ExecutionId, FakeExecution>,
    next_port: u16,
}

#[derive(Debug)]
struct FakeExecution {
    attempt: Attempt,
    started_ms: u64,
    ports: Vec<BoundPort>,
    run: FakeRun,
    stop_ms: u64,
    stops_at_ms: Option<u64>,
    ended: Option<ExitReport>,
}

impl FakeMachine {
    #[must_use]
    pub fn new(survival: Survival) -> Self {
        Self {
            now_ms: 0,
            survival,
            scripts: BTreeMap::new(),
            prepared: BTreeSet::new(),
            executions: BTreeMap::new(),
            next_port: FIRST_DYNAMIC_PORT,
        }
    }

    pub fn set_script(&mut self, digest: Digest, script: FakeScript) {
        self.scripts.insert(digest, script);
    }

    #[must_use]
    pub fn script(&self, digest: &Digest) -> FakeScript {
        self.scripts.get(digest).cloned().unwrap_or_default()
    }

    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    #[must_use]
    pub fn is_prepared(&self, digest: &Digest) -> bool {
        self.prepared.contains(digest)
    }

    /// The end of a prepare: the caller has let `script.prepare_ms` pass. True: work was done.
    pub fn prepare(&mut self, digest: Digest) -> Result<bool, DriverError> {
        match self.script(&digest).prepare {
            FakePrepare::Succeeds => Ok(self.prepared.insert(digest)),
            FakePrepare::Invalid(problem) => {
                Err(DriverError::ArtifactInvalid { digest, problems: vec![problem] })
            }
            FakePrepare::Fails(message) => Err(DriverError::Engine { action: "prepare", message }),
        }
    }

    /// Whether a start may begin now.
    pub fn admit(&self, spec: &ExecutionSpec) -> Result<(), DriverError> {
        if !self.prepared.contains(&spec.digest) {
            return Err(DriverError::NotPrepared(spec.digest));
        }
        match self.executions.get(&spec.execution) {
            Some(execution) if execution.ended.is_none() => {
                Err(DriverError::AlreadyRunning(spec.execution))
            }
            _ => Ok(()),
        }
    }

    /// The end of a start: the caller has let `script.start_ms` pass since `admit`.
    pub fn start(&mut self, spec: &ExecutionSpec) -> Result<DriverEvent, DriverError> {
        self.admit(spec)?;
        let script = self.script(&spec.digest);
        if let FakeStart::Fails(message) = script.start {
            return Err(DriverError::Engine { action: "start", message });
        }
        let ports = self.bind(spec)?;
        let execution = FakeExecution {
            attempt: spec.attempt,
            started_ms: self.now_ms,
            ports: ports.clone(),
            run: script.run,
            stop_ms: script.stop_ms,
            stops_at_ms: None,
            ended: None,
        };
        self.executions.insert(spec.execution, execution);
        Ok(DriverEvent::Started { execution: spec.execution, attempt: spec.attempt, ports })
    }

    /// Asks an execution to stop. `Some`: it had ended already.
    pub fn stop(
        &mut self,
        id: ExecutionId,
        grace: Duration,
    ) -> Result<Option<ExitReport>, DriverError> {
        let now_ms = self.now_ms;
        let execution = self.executions.get_mut(&id).ok_or(DriverError::UnknownExecution(id))?;
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let at_ms = now_ms.saturating_add(execution.stop_ms.min(grace_ms));
        let earlier_ms = execution.stops_at_ms.unwrap_or(u64::MAX);
        execution.stops_at_ms = Some(earlier_ms.min(at_ms));
        Ok(execution.ended.clone())
    }

    /// Ends an execution from outside, as a crash of its engine would.
    pub fn end(&mut self, id: ExecutionId, cause: ExitCause) -> Option<DriverEvent> {
        let now_ms = self.now_ms;
        let execution = self.executions.get_mut(&id).filter(|found| found.ended.is_none())?;
        Some(execution.end(id, cause, now_ms))
    }

    /// Moves time to `now_ms` (never back) and returns what ended until then, in order of time.
    pub fn advance_to(&mut self, now_ms: u64) -> Vec<DriverEvent> {
        self.now_ms = self.now_ms.max(now_ms);
        let mut due: Vec<(u64, ExecutionId, ExitCause)> = self
            .executions
            .iter()
            .filter_map(|(id, execution)| execution.next_end().map(|(at, why)| (at, *id, why)))
            .filter(|(at_ms, _, _)| *at_ms <= self.now_ms)
            .collect();
        due.sort_by_key(|(at_ms, id, _)| (*at_ms, *id));
        due.into_iter()
            .filter_map(|(at_ms, id, why)| {
                self.executions.get_mut(&id).map(|execution| execution.end(id, why, at_ms))
            })
            .collect()
    }

    /// When the next execution ends, if time alone ends one.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<u64> {
        self.executions.values().filter_map(FakeExecution::next_end).map(|(at_ms, _)| at_ms).min()
    }

    #[must_use]
    pub fn probe(&self, id: ExecutionId) -> Option<ExecutionState> {
        let execution = self.executions.get(&id)?;
        let attempt = execution.attempt;
        Some(match &execution.ended {
            None => ExecutionState::Running { attempt, ports: execution.ports.clone() },
            Some(report) => ExecutionState::Ended { attempt, report: report.clone() },
        })
    }

    pub fn remove(&mut self, id: ExecutionId) -> Result<(), DriverError> {
        match self.executions.get(&id) {
            None => Err(DriverError::UnknownExecution(id)),
            Some(execution) if execution.ended.is_none() => Err(DriverError::StillRunning(id)),
            Some(_) => {
                self.executions.remove(&id);
                Ok(())
            }
        }
    }

    pub fn usage(&self, id: ExecutionId) -> Result<Usage, DriverError> {
        let execution = self.executions.get(&id).ok_or(DriverError::UnknownExecution(id))?;
        Ok(match &execution.ended {
            Some(report) => report.usage,
            None => execution.usage(self.now_ms),
        })
    }

    /// Every execution that has not ended.
    #[must_use]
    pub fn running(&self) -> Vec<ExecutionId> {
        let running = self.executions.iter().filter(|(_, execution)| execution.ended.is_none());
        running.map(|(id, _)| *id).collect()
    }

    /// The process of the driver ends without a word; prepared artifacts are on disk and stay.
    pub fn restart_process(&mut self) {
        if self.survival == Survival::EndsWithProcess {
            self.executions.clear();
        }
    }

    #[must_use]
    pub fn recover(&self, known: &[ExecutionId]) -> Vec<Recovered> {
        known.iter().map(|id| self.recover_one(*id)).collect()
    }

    fn recover_one(&self, id: ExecutionId) -> Recovered {
        match self.probe(id) {
            Some(ExecutionState::Running { attempt, ports }) => {
                Recovered::Running { execution: id, attempt, ports }
            }
            Some(ExecutionState::Ended { .. }) | None => Recovered::Gone { execution: id },
        }
    }

    fn bind(&mut self, spec: &ExecutionSpec) -> Result<Vec<BoundPort>, DriverError> {
        let mut taken: BTreeSet<u16> = self
            .executions
            .values()
            .filter(|execution| execution.ended.is_none())
            .flat_map(|execution| execution.ports.iter().map(|port| port.address.port()))
            .collect();
        let mut bound = Vec::new();
        for port in &spec.ports {
            let number = match port.number {
                PortNumber::Static(number) if taken.contains(&number) => {
                    return Err(DriverError::PortInUse { name: port.name.clone(), number });
                }
                PortNumber::Static(number) => number,
                PortNumber::Dynamic => self.free_port(&taken),
            };
            taken.insert(number);
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, number));
            bound.push(BoundPort { name: port.name.clone(), protocol: port.protocol, address });
        }
        Ok(bound)
    }

    fn free_port(&mut self, taken: &BTreeSet<u16>) -> u16 {
        while taken.contains(&self.next_port) {
            self.step_port();
        }
        let port = self.next_port;
        self.step_port();
        port
    }

    fn step_port(&mut self) {
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_DYNAMIC_PORT);
    }
}

impl FakeExecution {
    /// When it ends by itself or by its stop, whichever is first, and why.
    fn next_end(&self) -> Option<(u64, ExitCause)> {
        if self.ended.is_some() {
            return None;
        }
        let own = match &self.run {
            FakeRun::Forever => None,
            FakeRun::ExitAfter { run_ms, code } => Some((*run_ms, ExitCause::Code(*code))),
            FakeRun::TrapAfter { run_ms, message } => {
                let backtrace = vec!["fake!run".to_owned()];
                Some((*run_ms, ExitCause::Trap { message: message.clone(), backtrace }))
            }
        };
        let own = own.map(|(run_ms, why)| (self.started_ms.saturating_add(run_ms), why));
        let stop = self.stops_at_ms.map(|at_ms| (at_ms, ExitCause::Stopped));
        match (own, stop) {
            (Some(own), Some(stop)) => Some(if own.0 <= stop.0 { own } else { stop }),
            (own, stop) => own.or(stop),
        }
    }

    fn end(&mut self, execution: ExecutionId, cause: ExitCause, at_ms: u64) -> DriverEvent {
        let report = ExitReport { cause, usage: self.usage(at_ms) };
        self.ended = Some(report.clone());
        DriverEvent::Ended { execution, attempt: self.attempt, report }
    }

    fn usage(&self, now_ms: u64) -> Usage {
        Usage { cpu_ms: now_ms.saturating_sub(self.started_ms), ..Usage::default() }
    }
}
