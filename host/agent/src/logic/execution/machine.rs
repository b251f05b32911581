//! What each transition of an execution does: stages, steps, what is remembered.

use std::{collections::BTreeMap, sync::Arc};

use pliant_types::{
    Attempt, ExecutionId, Fence, Millis, Phase, PortName, assignment::AssignedExecution,
    report::Observation,
};

use super::{
    event::Event,
    stage::Stage,
    table::{Go, next},
    turn::UnderWay,
    verdict::{AfterEnd, after_end},
};
use crate::logic::{Moment, Obeys, Record, Restarts, Step};

/// One execution.
#[derive(Clone, Debug)]
pub struct Execution {
    /// What is remembered.
    pub record: Record,
    /// Real port numbers of the attempt that runs.
    pub ports: BTreeMap<PortName, u16>,
    /// What its attempt does now, in words.
    pub detail: Option<String>,
    /// A change of the attempt that runs.
    pub(super) change: Option<UnderWay>,
    /// The observation that the controller has made durable.
    pub told: Option<Observation>,
}

impl Execution {
    /// A new one; it has not begun.
    #[must_use]
    pub fn new(assigned: AssignedExecution, fence: Fence) -> Self {
        Self::from_record(Record {
            assigned,
            fence,
            attempt: Attempt::FIRST,
            stage: Stage::Held,
            reached: Phase::Preparing,
            restarts: Restarts::default(),
            first_up: None,
            exit: None,
            results: None,
            obeys: None,
            refused: None,
        })
    }

    /// One that was remembered.
    #[must_use]
    pub const fn from_record(record: Record) -> Self {
        Self { record, ports: BTreeMap::new(), detail: None, change: None, told: None }
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> ExecutionId {
        self.record.assigned.execution
    }

    /// Takes an event and says what must be done.
    pub fn on(&mut self, event: Event, now: Moment) -> Option<Step> {
        if event.attempt().is_some_and(|attempt| attempt != self.record.attempt) {
            return None;
        }
        match next(self.record.stage.kind(), event.kind()) {
            Go::Stay => None,
            Go::Prepare => Some(self.prepare()),
            Go::Start => Some(self.start()),
            Go::Run => self.run(event, now),
            Go::Judge => self.judge(event, now),
            Go::AwaitStart => {
                self.record.stage = Stage::StoppingStart(event.stopping(now));
                self.reach(Phase::Stopping);
                None
            }
            Go::Stop => Some(self.stop(&event, now)),
            Go::Restart => self.next_prepared(&event, now),
            Go::Refuse => self.next_failed(event),
            Go::Resized => self.resized(event),
            Go::Turn => self.turn(event, now),
            Go::Merge => self.merge(&event, now),
            Go::End => self.end(event, now),
            Go::Complete => self.complete(event),
            Go::Spoil => self.spoil(event),
            Go::Remove => Some(self.remove()),
            Go::Gone => None,
        }
    }

    fn prepare(&mut self) -> Step {
        if matches!(self.record.stage, Stage::Waiting { .. }) {
            self.record.attempt = self.record.attempt.next();
        }
        self.prepare_step()
    }

    pub(super) fn prepare_step(&mut self) -> Step {
        self.record.stage = Stage::Preparing;
        self.detail = None;
        let template = self.template();
        Step::Prepare {
            execution: self.id(),
            attempt: self.record.attempt,
            engine: template.engine.clone(),
            digest: template.digest,
        }
    }

    fn start(&mut self) -> Step {
        let (version, template) = self.next();
        let template = Arc::clone(template);
        let assigned = AssignedExecution {
            version,
            template: Arc::clone(&template),
            ..self.record.assigned.clone()
        };
        self.record.stage = Stage::Starting;
        self.record.obeys = Some(Obeys { version, template });
        self.detail = None;
        Step::Start { assigned: Box::new(assigned), attempt: self.record.attempt }
    }

    fn run(&mut self, event: Event, now: Moment) -> Option<Step> {
        if let Event::Started { ports, .. } = event {
            self.ports = ports;
        }
        self.record.stage = Stage::Up { since: now };
        self.record.first_up = self.record.first_up.or(Some(now));
        self.reach(Phase::Running);
        self.pursue()
    }

    /// An end that nobody asked for.
    pub(super) fn judge(&mut self, event: Event, now: Moment) -> Option<Step> {
        let exit = event.exit()?;
        self.change = None;
        if let Some(again) = self.fall_back(&exit) {
            return Some(again);
        }
        let ran = match self.record.stage {
            Stage::Up { since } => now.since(since),
            Stage::Restarting(ending) => now.since(ending.since),
            _ => Millis::ZERO,
        };
        let template = Arc::clone(self.template());
        let after = after_end(&template, &exit, &mut self.record.restarts, ran, now);
        self.record.exit = Some(exit);
        self.ports.clear();
        match after {
            AfterEnd::Done => {
                self.reach(Phase::Running);
                self.record.stage = Stage::Collecting;
                Some(Step::Collect { execution: self.id(), attempt: self.record.attempt })
            }
            AfterEnd::Again(until) => {
                self.record.stage = Stage::Waiting { until };
                self.detail = Some(format!(
                    "restarts in {}, {} of {} restarts used",
                    until.since(now),
                    self.record.restarts.used(),
                    template.restart.attempts
                ));
                None
            }
            AfterEnd::GiveUp => {
                self.finish(Phase::Failed);
                None
            }
        }
    }

    fn complete(&mut self, event: Event) -> Option<Step> {
        if let Event::Collected { results, .. } = event {
            self.record.results = results;
        }
        self.finish(Phase::Completed);
        None
    }

    fn spoil(&mut self, event: Event) -> Option<Step> {
        self.record.exit = event.exit().or(self.record.exit.take());
        self.finish(Phase::Failed);
        None
    }

    pub(super) fn remove(&mut self) -> Step {
        let engine = self.template().engine.clone();
        self.record.stage = Stage::Removing;
        self.ports.clear();
        Step::Remove { execution: self.id(), engine }
    }

    pub(super) fn finish(&mut self, phase: Phase) {
        self.record.stage = Stage::Ended;
        self.ports.clear();
        self.detail = None;
        self.reach(phase);
    }

    /// Phases only go forward.
    pub(super) fn reach(&mut self, phase: Phase) {
        if self.record.reached.may_become(phase) {
            self.record.reached = phase;
        }
    }

    /// When time alone makes something happen.
    #[must_use]
    pub fn due(&self) -> Option<Moment> {
        let stage = match self.record.stage {
            Stage::Waiting { until } => Some(until),
            Stage::Stopping(stopping) => Some(stopping.deadline),
            Stage::Restarting(ending) => Some(ending.deadline),
            _ => None,
        };
        [stage, self.time_limit()].into_iter().flatten().min()
    }

    /// When `timeouts.execution` is over, if it still can end it.
    #[must_use]
    pub fn time_limit(&self) -> Option<Moment> {
        let limit = self.template().execution_timeout;
        let can_end = matches!(
            self.record.stage,
            Stage::Preparing
                | Stage::Starting
                | Stage::Up { .. }
                | Stage::Restarting(_)
                | Stage::Waiting { .. }
        );
        let first_up = self.record.first_up.filter(|_| can_end && limit != Millis::ZERO);
        first_up.map(|at| at.after(limit))
    }
}
