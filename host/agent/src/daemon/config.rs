//! Settings of an agent. Drivers come beside them: they have settings of their own.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use pliant_client::Reach;
use pliant_journal::store::MemoryMap;
use pliant_types::HostName;

use super::AgentError;

/// Settings of an agent.
#[derive(Clone, Debug)]
pub struct Config {
    /// The agent's own directory; made if need be, locked while the agent runs.
    pub data_dir: PathBuf,
    /// `http://ADDRESS:PORT` of the controller.
    pub controller: String,
    /// The controller's token; the agent asks the same of who reads logs.
    pub token: String,
    /// The host's own name.
    pub name: HostName,
    /// Labels for placement, `label.KEY` in constraints.
    pub labels: BTreeMap<String, String>,
    /// Where logs are served; port 0 is a free one.
    pub listen: SocketAddr,
    /// Directories below which jobs may mount; none by default.
    pub mount_roots: Vec<PathBuf>,
    /// Most executions at once.
    pub max_executions: u32,
    /// Hundredths of the machine's memory that are not offered to tasks.
    pub reserved_memory_percent: u8,
    /// CPU that is offered to tasks; absent is every core.
    pub cpu: Option<pliant_types::Cpu>,
    /// Memory that is offered to tasks; absent is all but the reserved share.
    pub memory: Option<pliant_types::Memory>,
    /// The machine's boot; absent is what the machine says.
    pub boot: Option<String>,
    /// Which addresses the controller may have without TLS.
    pub reach: Reach,
    /// Where the ledger is.
    pub ledger: LedgerPlace,
    /// Bounds of what is kept.
    pub limits: Limits,
}

/// Where the ledger is.
#[derive(Clone, Debug, Default)]
pub enum LedgerPlace {
    /// In the data directory.
    #[default]
    Disk,
    /// In memory: for tests, where the "disk" outlives the agent.
    Memory(MemoryMap),
}

/// Bounds of what an agent keeps on its disk.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of artifacts in the cache; the least recently used go first.
    pub cache_bytes: u64,
    /// Files in the cache.
    pub cache_files: usize,
    /// Ended executions whose logs are kept.
    pub kept_executions: usize,
    /// How long they are kept.
    pub kept_for: Duration,
    /// Entries of an output directory that are kept as results.
    pub output_entries: u32,
    /// Bytes of all files in it; with its archive's own it must fit an artifact.
    pub output_bytes: u64,
    /// Directories within each other in it.
    pub output_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cache_bytes: 10 << 30,
            cache_files: 1_000,
            kept_executions: 200,
            kept_for: Duration::from_secs(7 * 86_400),
            output_entries: 10_000,
            output_bytes: 240 << 20,
            output_depth: 64,
        }
    }
}

/// Most executions on a host unless the operator says otherwise.
const MAX_EXECUTIONS: u32 = 1_000;
/// What the system and Pliant itself need.
const RESERVED_MEMORY_PERCENT: u8 = 10;

impl Config {
    /// The defaults for a directory, a controller with its token, and a name.
    #[must_use]
    pub fn new(data_dir: PathBuf, controller: String, token: String, name: HostName) -> Self {
        Self {
            data_dir,
            controller,
            token,
            name,
            labels: BTreeMap::new(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            mount_roots: Vec::new(),
            max_executions: MAX_EXECUTIONS,
            reserved_memory_percent: RESERVED_MEMORY_PERCENT,
            cpu: None,
            memory: None,
            boot: None,
            reach: Reach::Loopback,
            ledger: LedgerPlace::Disk,
            limits: Limits::default(),
        }
    }

    pub(super) fn check(&self) -> Result<(), AgentError> {
        let refuse = |setting, why: &str| Err(AgentError::Setting { setting, why: why.to_owned() });
        if !self.listen.ip().is_loopback() && self.reach == Reach::Loopback {
            return refuse("listen", "only loopback addresses are served without TLS");
        }
        if self.reserved_memory_percent > 90 {
            return refuse("reserved_memory_percent", "at least 10 % must be left for tasks");
        }
        if self.max_executions == 0 {
            return refuse("max_executions", "a host must take at least one execution");
        }
        Ok(())
    }
}
