//! What can happen to one execution, and which attempt it is about.

use std::collections::BTreeMap;

use pliant_types::{Attempt, ExitStatus, Millis, PortName, Version, report::Results};

use super::{
    stage::{StopCause, Stopping},
    table::EventKind,
};
use crate::logic::Moment;

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
    /// What the version that follows in place needs is ready; the attempt runs on meanwhile.
    NextPrepared {
        /// The version.
        version: Version,
    },
    /// It cannot be made ready.
    NextFailed {
        /// The version.
        version: Version,
        /// How.
        exit: ExitStatus,
    },
    /// The running guest has other limits.
    Resized {
        /// This attempt.
        attempt: Attempt,
    },
    /// Its limits are as they were.
    ResizeRefused {
        /// This attempt.
        attempt: Attempt,
        /// Why, with numbers.
        why: String,
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

impl Event {
    pub(super) const fn kind(&self) -> EventKind {
        match self {
            Self::Begin => EventKind::Begin,
            Self::Prepared { .. } => EventKind::Prepared,
            Self::Failed { .. } => EventKind::Failed,
            Self::Started { .. } => EventKind::Started,
            Self::Ended { .. } => EventKind::Ended,
            Self::NextPrepared { .. } => EventKind::NextPrepared,
            Self::NextFailed { .. } => EventKind::NextFailed,
            Self::Resized { .. } => EventKind::Resized,
            Self::ResizeRefused { .. } => EventKind::ResizeRefused,
            Self::StopAsked { .. } => EventKind::StopAsked,
            Self::Forget { .. } => EventKind::Forget,
            Self::Collected { .. } => EventKind::Collected,
            Self::Removed => EventKind::Removed,
        }
    }

    /// The attempt that it is about, if it is about one.
    pub(super) const fn attempt(&self) -> Option<Attempt> {
        match self {
            Self::Prepared { attempt }
            | Self::Failed { attempt, .. }
            | Self::Started { attempt, .. }
            | Self::Ended { attempt, .. }
            | Self::Resized { attempt }
            | Self::ResizeRefused { attempt, .. }
            | Self::Collected { attempt, .. } => Some(*attempt),
            Self::Begin
            | Self::NextPrepared { .. }
            | Self::NextFailed { .. }
            | Self::StopAsked { .. }
            | Self::Forget { .. }
            | Self::Removed => None,
        }
    }

    pub(super) fn exit(self) -> Option<ExitStatus> {
        match self {
            Self::Failed { exit, .. }
            | Self::Ended { exit, .. }
            | Self::NextFailed { exit, .. } => Some(exit),
            _ => None,
        }
    }

    /// The stop that a stop or a forgetting begins.
    pub(super) const fn stopping(&self, now: Moment) -> Stopping {
        let (cause, grace) = match self {
            Self::StopAsked { cause, grace } => (*cause, *grace),
            Self::Forget { grace } => (StopCause::Forgotten, *grace),
            _ => (StopCause::Forgotten, Millis::ZERO),
        };
        Stopping { cause, deadline: now.after(grace), killed: false }
    }
}
