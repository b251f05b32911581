//! What each transition of an execution does: stages, steps, what is remembered.

use std::collections::BTreeMap;

use pliant_types::{
    Attempt, ExecutionId, ExitReason, ExitStatus, Fence, Millis, Phase, PortName,
    assignment::AssignedExecution, report::Observation, report::Results,
};

use super::{
    stage::{Stage, StopCause, Stopping},
    table::{EventKind, Go, next},
    verdict::{AfterEnd, after_end},
};
use crate::logic::{Moment, Record, Restarts, Step};

/// How often what does not end is cut off again.
pub const KILL_AGAIN: Millis = Millis::from_secs(10);

/// Something that happened to one execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It may begin, or its back-off is over.
    Begin,
    /// The artifact is ready.
    Prepared {
        /// For this attempt.
        attempt: Attempt,
    },
    /// Preparing, starting or collecting failed; nothing of it runs.
    Failed {
        /// This attempt.
        attempt: Attempt,
        /// How.
        exit: ExitStatus,
    },
    /// The guest runs.
    Started {
        /// This attempt.
        attempt: Attempt,
        /// Real port numbers.
        ports: BTreeMap<PortName, u16>,
    },
    /// The guest has ended, for whatever reason.
    Ended {
        /// This attempt.
        attempt: Attempt,
        /// How.
        exit: ExitStatus,
    },
    /// It must end.
    StopAsked {
        /// Why.
        cause: StopCause,
        /// The time it has.
        grace: Millis,
    },
    /// Nobody lists it any more.
    Forget {
        /// The time it has, if it runs.
        grace: Millis,
    },
    /// What it left is in the artifact store.
    Collected {
        /// Of this attempt.
        attempt: Attempt,
        /// What; nothing if it left nothing.
        results: Option<Results>,
    },
    /// The driver has forgotten it.
    Removed,
}

/// One execution.
#[derive(Clone, Debug)]
pub struct Execution {
    /// What is remembered.
    pub record: Record,
    /// Real port numbers of the attempt that runs.
    pub ports: BTreeMap<PortName, u16>,
    /// What its attempt does now, in words.
    pub detail: Option<String>,
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
        })
    }

    /// One that was remembered.
    #[must_use]
    pub const fn from_record(record: Record) -> Self {
        Self { record, ports: BTreeMap::new(), detail: None, told: None }
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
        self.record.stage = Stage::Preparing;
        self.detail = None;
        Step::Prepare {
            execution: self.id(),
            attempt: self.record.attempt,
            engine: self.record.assigned.template.engine.clone(),
            digest: self.record.assigned.template.digest,
        }
    }

    fn start(&mut self) -> Step {
        self.record.stage = Stage::Starting;
        self.detail = None;
        let assigned = Box::new(self.record.assigned.clone());
        Step::Start { assigned, attempt: self.record.attempt }
    }

    fn run(&mut self, event: Event, now: Moment) -> Option<Step> {
        if let Event::Started { ports, .. } = event {
            self.ports = ports;
        }
        self.record.stage = Stage::Up { since: now };
        self.record.first_up = self.record.first_up.or(Some(now));
        self.reach(Phase::Running);
        None
    }

    /// An end that nobody asked for.
    fn judge(&mut self, event: Event, now: Moment) -> Option<Step> {
        let exit = event.exit()?;
        let ran = match self.record.stage {
            Stage::Up { since } => now.since(since),
            _ => Millis::ZERO,
        };
        let template = self.record.assigned.template.clone();
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

    /// The driver is told to end it: the start came back after a stop was asked, or it runs.
    fn stop(&mut self, event: &Event, now: Moment) -> Step {
        let stopping = match self.record.stage {
            Stage::StoppingStart(stopping) => stopping,
            _ => event.stopping(now),
        };
        if let Event::Started { ports, .. } = event {
            self.ports.clone_from(ports);
        }
        self.record.stage = Stage::Stopping(stopping);
        self.reach(Phase::Stopping);
        self.ask_stop(stopping.deadline.since(now))
    }

    fn ask_stop(&self, grace: Millis) -> Step {
        Step::Stop {
            execution: self.id(),
            engine: self.record.assigned.template.engine.clone(),
            attempt: self.record.attempt,
            grace,
        }
    }

    /// The earlier deadline counts; being forgotten outweighs every other cause.
    fn merge(&mut self, event: &Event, now: Moment) -> Option<Step> {
        let (Stage::StoppingStart(old) | Stage::Stopping(old)) = self.record.stage else {
            return None;
        };
        let new = event.stopping(now);
        let is_earlier = new.deadline < old.deadline && !old.killed;
        let merged = Stopping {
            cause: if new.cause == StopCause::Forgotten { new.cause } else { old.cause },
            deadline: if is_earlier { new.deadline } else { old.deadline },
            killed: old.killed,
        };
        if matches!(self.record.stage, Stage::StoppingStart(_)) {
            self.record.stage = Stage::StoppingStart(merged);
            return None;
        }
        self.record.stage = Stage::Stopping(merged);
        is_earlier.then(|| self.ask_stop(merged.deadline.since(now)))
    }

    /// It is over because it was to stop.
    fn end(&mut self, event: Event, now: Moment) -> Option<Step> {
        let (cause, killed) = match (self.record.stage, &event) {
            (Stage::StoppingStart(stopping) | Stage::Stopping(stopping), _) => {
                (stopping.cause, stopping.killed || now >= stopping.deadline)
            }
            (_, Event::StopAsked { cause, .. }) => (*cause, false),
            _ => (StopCause::Forgotten, false),
        };
        if cause == StopCause::Forgotten {
            return Some(self.remove());
        }
        self.record.exit = Some(exit_of_stop(cause, killed, event.exit()));
        self.finish(cause.phase());
        None
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

    fn remove(&mut self) -> Step {
        self.record.stage = Stage::Removing;
        self.ports.clear();
        let engine = self.record.assigned.template.engine.clone();
        Step::Remove { execution: self.id(), engine }
    }

    fn finish(&mut self, phase: Phase) {
        self.record.stage = Stage::Ended;
        self.ports.clear();
        self.detail = None;
        self.reach(phase);
    }

    /// Phases only go forward.
    fn reach(&mut self, phase: Phase) {
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
            _ => None,
        };
        [stage, self.time_limit()].into_iter().flatten().min()
    }

    /// When `timeouts.execution` is over, if it still can end it.
    #[must_use]
    pub fn time_limit(&self) -> Option<Moment> {
        let limit = self.record.assigned.template.execution_timeout;
        let can_end = matches!(
            self.record.stage,
            Stage::Preparing | Stage::Starting | Stage::Up { .. } | Stage::Waiting { .. }
        );
        let first_up = self.record.first_up.filter(|_| can_end && limit != Millis::ZERO);
        first_up.map(|at| at.after(limit))
    }

    /// Cuts off what did not end in its time.
    pub fn kill_if_due(&mut self, now: Moment) -> Option<Step> {
        let Stage::Stopping(stopping) = &mut self.record.stage else { return None };
        if now < stopping.deadline {
            return None;
        }
        stopping.killed = true;
        stopping.deadline = now.after(KILL_AGAIN);
        self.detail = Some("did not end in its time and is cut off".to_owned());
        Some(self.ask_stop(Millis::ZERO))
    }
}

/// How a stop is told: by its cause, with what the guest itself gave.
fn exit_of_stop(cause: StopCause, killed: bool, exit: Option<ExitStatus>) -> ExitStatus {
    match cause {
        StopCause::TimedOut => ExitStatus::with_detail(
            ExitReason::TimedOut,
            "timeouts.execution was over before it had done its work",
        ),
        StopCause::LeaseOver => ExitStatus::with_detail(
            ExitReason::HostFailure,
            "the host's lease was over, and an exclusive task must not run without one",
        ),
        StopCause::Asked | StopCause::Forgotten if killed => ExitStatus::of(ExitReason::Killed),
        StopCause::Asked | StopCause::Forgotten => {
            let own = exit.filter(|exit| exit.reason == ExitReason::Exited);
            own.unwrap_or_else(|| ExitStatus::of(ExitReason::Stopped))
        }
    }
}

impl Event {
    const fn kind(&self) -> EventKind {
        match self {
            Self::Begin => EventKind::Begin,
            Self::Prepared { .. } => EventKind::Prepared,
            Self::Failed { .. } => EventKind::Failed,
            Self::Started { .. } => EventKind::Started,
            Self::Ended { .. } => EventKind::Ended,
            Self::StopAsked { .. } => EventKind::StopAsked,
            Self::Forget { .. } => EventKind::Forget,
            Self::Collected { .. } => EventKind::Collected,
            Self::Removed => EventKind::Removed,
        }
    }

    const fn attempt(&self) -> Option<Attempt> {
        match self {
            Self::Prepared { attempt }
            | Self::Failed { attempt, .. }
            | Self::Started { attempt, .. }
            | Self::Ended { attempt, .. }
            | Self::Collected { attempt, .. } => Some(*attempt),
            Self::Begin | Self::StopAsked { .. } | Self::Forget { .. } | Self::Removed => None,
        }
    }

    fn exit(self) -> Option<ExitStatus> {
        match self {
            Self::Failed { exit, .. } | Self::Ended { exit, .. } => Some(exit),
            _ => None,
        }
    }

    /// The stop that a stop or a forgetting begins.
    const fn stopping(&self, now: Moment) -> Stopping {
        let (cause, grace) = match self {
            Self::StopAsked { cause, grace } => (*cause, *grace),
            Self::Forget { grace } => (StopCause::Forgotten, *grace),
            _ => (StopCause::Forgotten, Millis::ZERO),
        };
        Stopping { cause, deadline: now.after(grace), killed: false }
    }
}
