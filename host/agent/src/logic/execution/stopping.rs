//! How an execution is brought to its end: asked, merged with other reasons, cut off, over.

use pliant_types::{ExitReason, ExitStatus, Millis};

use super::{
    event::Event,
    machine::Execution,
    stage::{Ending, Stage, StopCause, Stopping},
};
use crate::logic::{Moment, Step, Then};

/// How often what does not end is cut off again.
pub const KILL_AGAIN: Millis = Millis::from_secs(10);

impl Execution {
    /// The driver is told to end it: the start came back after a stop was asked, or it runs.
    pub(super) fn stop(&mut self, event: &Event, now: Moment) -> Step {
        let stopping = match self.record.stage {
            Stage::StoppingStart(stopping) => stopping,
            Stage::Restarting(ending) => ending.merged(event.stopping(now)),
            _ => event.stopping(now),
        };
        if let Event::Started { ports, .. } = event {
            self.ports.clone_from(ports);
        }
        self.change = None;
        self.record.stage = Stage::Stopping(stopping);
        self.reach(pliant_types::Phase::Stopping);
        self.ask_stop(stopping.deadline.since(now), Then::Over)
    }

    pub(super) fn ask_stop(&self, grace: Millis, then: Then) -> Step {
        Step::Stop {
            execution: self.id(),
            engine: self.template().engine.clone(),
            attempt: self.record.attempt,
            grace,
            then,
        }
    }

    /// The earlier deadline counts; being forgotten outweighs every other cause.
    pub(super) fn merge(&mut self, event: &Event, now: Moment) -> Option<Step> {
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
        is_earlier.then(|| self.ask_stop(merged.deadline.since(now), Then::Over))
    }

    /// It is over because it was to stop.
    pub(super) fn end(&mut self, event: Event, now: Moment) -> Option<Step> {
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

    /// Cuts off what did not end in its time.
    pub fn kill_if_due(&mut self, now: Moment) -> Option<Step> {
        let (deadline, killed, then) = match &mut self.record.stage {
            Stage::Stopping(Stopping { deadline, killed, .. }) => (deadline, killed, Then::Over),
            Stage::Restarting(Ending { deadline, killed, .. }) => (deadline, killed, Then::Next),
            _ => return None,
        };
        if now < *deadline {
            return None;
        }
        *killed = true;
        *deadline = now.after(KILL_AGAIN);
        self.detail = Some("did not end in its time and is cut off".to_owned());
        Some(self.ask_stop(Millis::ZERO, then))
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
