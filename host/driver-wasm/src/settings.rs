//! What an operator sets for the Wasm driver of a host. Not what a job asks for.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use crate::compile::CompilerCommand;
use crate::outbound::OutboundPolicy;

#[derive(Clone, Debug)]
pub struct WasmSettings {
    /// Compiled code and its key; made with mode 0700.
    pub cache_dir: PathBuf,
    /// How to start the compile worker.
    pub compiler: CompilerCommand,
    pub pool: PoolMode,
    /// Threads that run guests; 0: one for each processor.
    pub guest_threads: usize,
    /// Address that task ports are bound to.
    pub bind_address: IpAddr,
    pub outbound: OutboundPolicy,
}

impl WasmSettings {
    /// Loopback only, nothing private reachable, a pool if it can be had.
    #[must_use]
    pub fn new(cache_dir: PathBuf, compiler: CompilerCommand) -> Self {
        Self {
            cache_dir,
            compiler,
            pool: PoolMode::WhenPossible,
            guest_threads: 0,
            bind_address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            outbound: OutboundPolicy::default(),
        }
    }
}

/// How memory of instances is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMode {
    /// One reservation at start; on demand where it fails.
    WhenPossible,
    /// Reserve for each instance; for hosts with little address space.
    OnDemand,
}
