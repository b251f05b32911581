//! The core: command to fact to state; planner; engine; checker.
//!
//! `no_std` + `alloc`. Knows no clock, no I/O, no randomness, no floats and no hash order: the time
//! is an argument, ids are handed out by the state, and the same facts give the same state, byte for
//! byte, everywhere. The twelve laws are in 02-architecture.md; each has a test in tests/laws.rs.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod about;
mod answer;
mod apply;
mod assignment;
mod check;
mod codec;
mod command;
mod decide;
mod diff;
mod engine;
mod fact;
mod forecast;
mod lease;
pub mod limits;
mod place;
mod plan;
mod rejection;
pub mod state;
mod table;

pub use answer::{Answer, Change, SubmitAnswer, SubmitOutcome};
pub use apply::apply;
pub use assignment::{assigned_execution, assignment};
pub use check::{Violation, check};
pub use codec::{
    CodecError, Decision, decode_batch, decode_snapshot, encode_batch, encode_snapshot,
};
pub use command::{
    Command, DeleteJob, Expect, Force, HostSeen, HostSilent, IdempotencyKey, JobRef,
    NamespaceCommand, Principal, RegisterHost, ReportHost, Request, RerunJob, Rollback,
    RolloutCommand, RolloutVerb, ScaleJob, ScaleTo, SetHostMode, StartJob, StartTerm, StopJob,
    Submit, TagVersion,
};
pub use decide::{decide, differences, must_exist, resolve};
pub use engine::{Engine, Release, Reply, ReplyTag, Staged};
pub use fact::{Fact, FactKind};
pub use forecast::{Forecast, Step, TaskStep, forecast};
pub use lease::{LeaseRules, Leases};
pub use plan::{Plan, PlanReport, Wait, plan};
pub use pliant_types::ChangeClass;
pub use rejection::Rejection;
pub use state::State;
