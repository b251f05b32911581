//! Where an execution is, as its agent sees it. Finer than a phase.

use pliant_types::{Phase, phase::AttemptState};
use serde::{Deserialize, Serialize};

use crate::logic::Moment;

/// Where an execution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// May not begin yet: the lease is not renewed, or the controller was not heard after a
    /// restart of the agent.
    Held,
    /// The artifact is fetched and made ready.
    Preparing,
    /// The driver was told to start.
    Starting,
    /// The guest runs.
    Up {
        /// Since when.
        since: Moment,
    },
    /// The driver was told to end the attempt; the next one begins by another version.
    Restarting(Ending),
    /// The last attempt has ended; the next one waits for its back-off.
    Waiting {
        /// Until when.
        until: Moment,
    },
    /// It has done its work; what it left is kept.
    Collecting,
    /// Was asked to end while the driver was starting it.
    StoppingStart(Stopping),
    /// The driver was told to end it.
    Stopping(Stopping),
    /// It is over; the record stays until the controller lists it no longer.
    Ended,
    /// The driver was told to forget it.
    Removing,
}

/// The end of an attempt that another one follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Since when the attempt was up.
    pub since: Moment,
    /// When its time is over; it is cut off then, and again each [`super::KILL_AGAIN`].
    pub deadline: Moment,
    /// Whether that time was over once.
    pub killed: bool,
}

impl Ending {
    /// A stop that comes meanwhile: nothing follows any more, and the earlier deadline counts.
    pub(super) fn merged(self, stopping: Stopping) -> Stopping {
        let Stopping { cause, deadline, .. } = stopping;
        Stopping { cause, deadline: deadline.min(self.deadline), killed: self.killed }
    }
}

/// A stop that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    /// Why.
    pub cause: StopCause,
    /// When its time is over; it is cut off then, and again each [`super::KILL_AGAIN`].
    pub deadline: Moment,
    /// Whether that time was over once.
    pub killed: bool,
}

/// Why an execution must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopCause {
    /// The assignment says so.
    Asked,
    /// `timeouts.execution` is over.
    TimedOut,
    /// It is exclusive and the host's lease is over.
    LeaseOver,
    /// Nobody lists it any more: it ends without a report.
    Forgotten,
}

/// A stage without what it holds: the rows of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StageKind {
    Held,
    Preparing,
    Starting,
    Up,
    Restarting,
    Waiting,
    Collecting,
    StoppingStart,
    Stopping,
    Ended,
    Removing,
}

impl StageKind {
    #[cfg(test)]
    pub(super) const ALL: [Self; 11] = [
        Self::Held,
        Self::Preparing,
        Self::Starting,
        Self::Up,
        Self::Restarting,
        Self::Waiting,
        Self::Collecting,
        Self::StoppingStart,
        Self::Stopping,
        Self::Ended,
        Self::Removing,
    ];
}

impl Stage {
    pub(super) const fn kind(self) -> StageKind {
        match self {
            Self::Held => StageKind::Held,
            Self::Preparing => StageKind::Preparing,
            Self::Starting => StageKind::Starting,
            Self::Up { .. } => StageKind::Up,
            Self::Restarting(_) => StageKind::Restarting,
            Self::Waiting { .. } => StageKind::Waiting,
            Self::Collecting => StageKind::Collecting,
            Self::StoppingStart(_) => StageKind::StoppingStart,
            Self::Stopping(_) => StageKind::Stopping,
            Self::Ended => StageKind::Ended,
            Self::Removing => StageKind::Removing,
        }
    }

    /// Whether a driver may have something of it that runs.
    #[must_use]
    pub const fn may_run(self) -> bool {
        matches!(
            self,
            Self::Starting
                | Self::Up { .. }
                | Self::Restarting(_)
                | Self::StoppingStart(_)
                | Self::Stopping(_)
        )
    }

    /// Whether it is a stage that must survive a crash: an end, a wait, a stop. The other ones
    /// are one and the same after a crash: the attempt may have run.
    #[must_use]
    pub const fn is_remembered(self) -> bool {
        match self {
            Self::Waiting { .. }
            | Self::Collecting
            | Self::StoppingStart(_)
            | Self::Stopping(_)
            | Self::Ended
            | Self::Removing => true,
            Self::Held
            | Self::Preparing
            | Self::Starting
            | Self::Up { .. }
            | Self::Restarting(_) => false,
        }
    }

    /// Whether nobody lists it any more.
    #[must_use]
    pub const fn is_forgotten(self) -> bool {
        match self {
            Self::StoppingStart(stop) | Self::Stopping(stop) => {
                matches!(stop.cause, StopCause::Forgotten)
            }
            Self::Removing => true,
            _ => false,
        }
    }

    /// Where the attempt is, as it is reported.
    #[must_use]
    pub const fn attempt_state(self) -> AttemptState {
        match self {
            Self::Held | Self::Waiting { .. } => AttemptState::Waiting,
            Self::Preparing => AttemptState::Preparing,
            Self::Starting | Self::StoppingStart(_) => AttemptState::Starting,
            Self::Up { .. } | Self::Restarting(_) | Self::Stopping(_) => AttemptState::Up,
            Self::Collecting | Self::Ended | Self::Removing => AttemptState::Ended,
        }
    }
}

impl StopCause {
    /// The final phase of an execution that ended for this.
    #[must_use]
    pub const fn phase(self) -> Phase {
        match self {
            Self::Asked | Self::Forgotten => Phase::Stopped,
            Self::TimedOut | Self::LeaseOver => Phase::Failed,
        }
    }
}
