//! What the logic is told and what it answers with: closed lists.

use std::collections::BTreeMap;

use pliant_types::{
    Attempt, Cpu, Digest, ExecutionId, ExitStatus, Fence, HostId, Memory, Millis, PortName,
    Version,
    assignment::AssignedExecution,
    report::{InventoryItem, Obeyed, Observation, Registered, Renewed, Report, Results},
};

use super::{Edit, Event, Moment, Offer};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// Something of one execution; the attempt in it must be the current one, or nothing happens.
    Execution(ExecutionId, Event),
    /// What an attempt does now, in words.
    Progress {
        /// Which execution.
        execution: ExecutionId,
        /// Which attempt.
        attempt: Attempt,
        /// The words.
        detail: String,
    },
    /// From the assignment stream.
    Offered(Offer),
    /// The stream cannot be read on by itself.
    StreamLost(Trouble),
    /// The controller took the host in.
    Registered(Registered),
    /// It did not, or could not be asked.
    RegisterFailed(Trouble),
    /// The lease was renewed.
    Renewed {
        /// When the renewal was sent.
        sent: Moment,
        /// The answer.
        renewed: Renewed,
    },
    /// It was not.
    RenewFailed(Trouble),
    /// A report is durable.
    Reported {
        /// Which.
        ticket: Ticket,
        /// The host's fence as the controller has it.
        fence: Fence,
    },
    /// A report was not taken.
    ReportFailed(Trouble),
    /// Time went by.
    Tick,
}

/// Why a call to the controller gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The sender belongs to an older life of the host, or is not known: register again.
    Fenced,
    /// No answer, or a refusal that may pass.
    NoAnswer,
}

/// What the answer of a report acknowledges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ticket(pub(super) Vec<Observation>);

/// What drivers, cache and disk must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Fetch the artifact and make it ready; answered by `Prepared` or `Failed`.
    Prepare {
        /// Which execution.
        execution: ExecutionId,
        /// For which attempt.
        attempt: Attempt,
        /// `wasm` or `container`.
        engine: String,
        /// What to fetch.
        digest: Digest,
    },
    /// Start an attempt; answered by `Started` or `Failed`, then `Ended`.
    Start {
        /// How.
        assigned: Box<AssignedExecution>,
        /// Which attempt.
        attempt: Attempt,
    },
    /// Ask the running attempt to end within `grace`; zero ends it at once. Answered by `Ended`.
    Stop {
        /// Which execution.
        execution: ExecutionId,
        /// Its engine.
        engine: String,
        /// Its attempt.
        attempt: Attempt,
        /// The time it has.
        grace: Millis,
        /// What follows.
        then: Then,
    },
    /// While an attempt runs, fetch and make ready what another version needs; answered by
    /// `NextPrepared` or `NextFailed`.
    PrepareNext {
        /// Which execution.
        execution: ExecutionId,
        /// The other version.
        version: Version,
        /// Its engine.
        engine: String,
        /// What to fetch.
        digest: Digest,
    },
    /// Change the limits of the running attempt; answered by `Resized` or `ResizeRefused`.
    Resize {
        /// Which execution.
        execution: ExecutionId,
        /// Its engine.
        engine: String,
        /// Its attempt.
        attempt: Attempt,
        /// Its limits from now on.
        to: NewLimits,
    },
    /// Keep what it left in its output; answered by `Collected` or `Failed`.
    Collect {
        /// Which execution.
        execution: ExecutionId,
        /// Its attempt.
        attempt: Attempt,
    },
    /// Let the driver forget it; answered by `Removed`.
    Remove {
        /// Which execution.
        execution: ExecutionId,
        /// Its engine.
        engine: String,
    },
}

/// Other limits for an attempt that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewLimits {
    /// CPU share.
    pub cpu: Cpu,
    /// Memory.
    pub memory: Memory,
    /// Refuse them unless the attempt uses less memory than this, bytes.
    pub below_bytes: Option<u64>,
}

/// What follows the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing: the execution is over.
    Over,
    /// The next attempt of the same execution.
    Next,
}

/// What must be asked of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Register; the description is the shell's.
    Register {
        /// The id from before.
        host: Option<HostId>,
        /// What was obeyed.
        obeyed: Option<Obeyed>,
        /// What is still here.
        inventory: Vec<InventoryItem>,
    },
    /// Renew the lease.
    Renew(HostId),
    /// Send a report.
    Report {
        /// Whose.
        host: HostId,
        /// What.
        report: Box<Report>,
        /// Comes back with the answer.
        ticket: Ticket,
    },
    /// Read the assignment stream from its whole; an older reading ends.
    Follow(HostId),
    /// End the reading of the stream.
    Unfollow,
}

/// The answer to one input. In this order: make `edits` durable, carry out `steps` and `calls`;
/// `later` may be written at any time and may be lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Before anything else.
    pub edits: Vec<Edit>,
    /// At some time.
    pub later: Vec<Edit>,
    /// For drivers and disk.
    pub steps: Vec<Step>,
    /// For the controller.
    pub calls: Vec<Call>,
}

impl Output {
    /// An edit that must be durable first. An older one that may wait is overtaken by it.
    pub fn must(&mut self, edit: Edit) {
        self.later.retain(|older| older.key() != edit.key());
        self.edits.push(edit);
    }

    /// An edit that may wait.
    pub fn may(&mut self, edit: Edit) {
        self.later.push(edit);
    }

    /// Puts the answer to a later input behind this one, so that both share a commit.
    pub fn append(&mut self, newer: Self) {
        newer.edits.into_iter().for_each(|edit| self.must(edit));
        self.later.extend(newer.later);
        self.steps.extend(newer.steps);
        self.calls.extend(newer.calls);
    }
}

/// What a driver found of an execution after a restart of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Which execution still runs.
    pub execution: ExecutionId,
    /// Its attempt.
    pub attempt: Attempt,
    /// Its ports.
    pub ports: BTreeMap<PortName, u16>,
}

/// What becomes of an attempt's end in words of an input.
impl Input {
    /// An end of an attempt.
    #[must_use]
    pub const fn ended(execution: ExecutionId, attempt: Attempt, exit: ExitStatus) -> Self {
        Self::Execution(execution, Event::Ended { attempt, exit })
    }

    /// A collection that is done.
    #[must_use]
    pub const fn collected(
        execution: ExecutionId,
        attempt: Attempt,
        results: Option<Results>,
    ) -> Self {
        Self::Execution(execution, Event::Collected { attempt, results })
    }
}
