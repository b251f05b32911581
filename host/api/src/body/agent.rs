//! What agents and the controller say to each other, besides the types that both use as they are:
//! `Registration`, `Registered`, `Renewed`, `Report`, `Assignment`, `AssignmentDelta`.

use pliant_types::Fence;
use pliant_types::assignment::{Assignment, AssignmentDelta};
use pliant_types::{Epoch, Generation};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the assignment stream of a host carries; the frame's id is `epoch-generation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum AssignmentEvent {
    /// Everything, at the start and whenever a change cannot be told.
    Whole {
        /// The assignment.
        assignment: Assignment,
    },
    /// What changed.
    Delta {
        /// The change.
        delta: AssignmentDelta,
    },
    /// The controller is stopping; connect again.
    Shutdown,
}

impl AssignmentEvent {
    /// The frame's word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Whole { .. } => "whole",
            Self::Delta { .. } => "delta",
            Self::Shutdown => "shutdown",
        }
    }

    /// The frame's id.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        let (epoch, generation): (Epoch, Generation) = match self {
            Self::Whole { assignment } => (assignment.epoch, assignment.generation),
            Self::Delta { delta } => (delta.epoch, delta.generation),
            Self::Shutdown => return None,
        };
        Some(format!("{epoch}-{generation}"))
    }
}

/// The answer of a report: it is durable, and need not be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportAnswer {
    /// The controller's term.
    #[schema(value_type = u64)]
    pub epoch: Epoch,
    /// The host's fence; another one than the agent's means: register again.
    #[schema(value_type = u32)]
    pub fence: Fence,
}
