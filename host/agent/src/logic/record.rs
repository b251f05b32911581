//! What an agent must remember over a restart, as values. How it is stored is the shell's.

use std::{collections::BTreeMap, sync::Arc};

use pliant_types::{
    Attempt, ExecutionId, ExitStatus, Fence, HostId, Phase, Version,
    assignment::{AssignedExecution, TaskTemplate},
    report::{Obeyed, Results},
};
use serde::{Deserialize, Serialize};

use super::{Moment, Restarts, Stage};

/// What the agent knows of its own host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// The id that the controller gave.
    pub host: Option<HostId>,
    /// The fence that the controller gave with it.
    pub fence: Option<Fence>,
    /// The highest assignment that was obeyed.
    pub obeyed: Option<Obeyed>,
    /// Until when the lease was good; written only while exclusive executions run.
    #[serde(default)]
    pub lease_end: Option<Moment>,
    /// The boot in which this was written; moments of another boot mean nothing.
    pub boot: String,
}

/// One execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// As it was assigned last.
    pub assigned: AssignedExecution,
    /// The fence under which it was placed.
    pub fence: Fence,
    /// The attempt that may have begun; it never begins twice.
    pub attempt: Attempt,
    /// Where it is.
    pub stage: Stage,
    /// The furthest phase that it reached.
    pub reached: Phase,
    /// What is used of the restart budget.
    pub restarts: Restarts,
    /// When its first attempt was up.
    pub first_up: Option<Moment>,
    /// How the last attempt ended.
    pub exit: Option<ExitStatus>,
    /// What it left.
    pub results: Option<Results>,
    /// What the attempt that was started last obeys; nothing before the first start.
    #[serde(default)]
    pub obeys: Option<Obeys>,
    /// What was assigned and cannot, or may not, be had in place.
    #[serde(default)]
    pub refused: Option<Refused>,
}

/// A version that an attempt obeys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obeys {
    /// The version.
    pub version: Version,
    /// Its template.
    pub template: Arc<TaskTemplate>,
}

/// A version that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The version.
    pub version: Version,
    /// Why, in words with numbers.
    pub why: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.version, self.why)
    }
}

impl Record {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> ExecutionId {
        self.assigned.execution
    }

    /// Whether a crash would leave the same of both: stages of an attempt that may have begun are
    /// one and the same then, and what was started first is what was assigned first.
    #[must_use]
    pub fn is_same_after_crash(&self, next: &Self) -> bool {
        let both_open = !self.stage.is_remembered() && !next.stage.is_remembered();
        let stage = if both_open { self.stage } else { next.stage };
        let obeys = if self.obeys.is_some() { next.obeys.clone() } else { None };
        self == &Self { stage, obeys, ..next.clone() }
    }

    /// Whether `next` must be durable before anything follows from it: what was promised, which
    /// attempt may begin, what ended, what was asked to stop. That an attempt is up may be lost.
    #[must_use]
    pub fn is_urgent(&self, next: &Self) -> bool {
        self.assigned != next.assigned
            || self.attempt != next.attempt
            || self.exit != next.exit
            || self.refused != next.refused
            || (self.obeys.is_some() && self.obeys != next.obeys)
            || self.stage.is_remembered() != next.stage.is_remembered()
            || (next.stage.is_remembered() && self.stage != next.stage)
    }
}

/// One change of what is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The host.
    Host(HostRecord),
    /// An execution.
    Put(Box<Record>),
    /// An execution that is over and done with.
    Remove(ExecutionId),
}

impl Edit {
    /// What it changes: an execution, or the host.
    #[must_use]
    pub const fn key(&self) -> Option<ExecutionId> {
        match self {
            Self::Host(_) => None,
            Self::Put(record) => Some(record.assigned.execution),
            Self::Remove(id) => Some(*id),
        }
    }
}

/// All that is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// The host.
    pub host: HostRecord,
    /// The executions.
    pub executions: BTreeMap<ExecutionId, Record>,
}

impl Image {
    /// Carries a change out.
    pub fn apply(&mut self, edit: &Edit) {
        match edit {
            Edit::Host(host) => self.host = host.clone(),
            Edit::Put(record) => {
                self.executions.insert(record.id(), (**record).clone());
            }
            Edit::Remove(id) => {
                self.executions.remove(id);
            }
        }
    }
}
