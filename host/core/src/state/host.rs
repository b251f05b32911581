//! Hosts: what they are and where they stand.

use minicbor::{Decode, Encode};
use pliant_types::{
    Fence, Generation, HostId, Time,
    host::{HostDescription, HostMode, HostStage},
};

/// A machine that runs an agent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Host {
    /// Its id.
    #[n(0)]
    pub id: HostId,
    /// What it said of itself.
    #[n(1)]
    pub description: HostDescription,
    /// Where it stands with the controller.
    #[n(2)]
    pub stage: HostStage,
    /// What people want of it.
    #[n(3)]
    pub mode: HostMode,
    /// +1 each time it is declared lost or comes back from a boot.
    #[n(4)]
    pub fence: Fence,
    /// Counts its assignments.
    #[n(5)]
    pub generation: Generation,
    /// When its lease ended, while it is silent.
    #[n(6)]
    pub lease_end: Option<Time>,
    /// When it registered first.
    #[n(7)]
    pub registered_at: Time,
    /// It came back with less than its executions hold; true until they fit again.
    #[n(8)]
    pub oversubscribed: bool,
}

impl Host {
    /// Whether new executions may be placed on it.
    #[must_use]
    pub fn takes_work(&self) -> bool {
        self.stage == HostStage::Up && self.mode == HostMode::Active
    }
}
