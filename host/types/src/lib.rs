//! Names, ids, numbers, quantities, the job spec, phases, assignments and reports.
//!
//! What every crate of the host side agrees on. Holds no policy and no I/O; `no_std` + `alloc`.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod address;
pub mod assignment;
pub mod class;
pub mod codes;
pub mod digest;
pub mod duration;
pub mod effective;
pub mod exit;
pub mod health;
pub mod host;
pub mod id;
pub mod name;
pub mod number;
pub mod phase;
pub mod quantity;
pub mod report;
pub mod spec;
pub mod tag;
pub mod text;
pub mod time;
pub mod validate;

pub use class::ChangeClass;
pub use digest::Digest;
pub use duration::Millis;
pub use effective::Effective;
pub use exit::{ExitReason, ExitStatus};
pub use id::{ExecutionId, HostId, JobUid, ResizeId, RolloutId, TokenId};
pub use name::{HostName, JobName, Namespace, PortName};
pub use number::{
    AllocationNumber, Attempt, Epoch, Fence, Generation, Incarnation, Revision, TaskNumber, Version,
};
pub use phase::{Health, Phase};
pub use quantity::{Cpu, Memory};
pub use spec::{JobSpec, Kind};
pub use tag::{Tag, VersionRef};
pub use time::Time;
