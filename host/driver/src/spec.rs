//! What one execution is to run with. Plain values, resolved by the agent: defaults are filled
//! in, artifacts are local, paths exist. Nothing here is read from a job file directly.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use pliant_types::{Attempt, Cpu, Digest, ExecutionId, Memory};

/// Everything that a driver needs to start one attempt of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionSpec {
    pub execution: ExecutionId,
    /// Which start within the execution this is.
    pub attempt: Attempt,
    /// The artifact to run; `prepare` must have succeeded for it.
    pub digest: Digest,
    /// Arguments after the program's own name.
    pub args: Vec<String>,
    /// The whole environment of the guest: nothing of the host's is added.
    pub env: BTreeMap<String, String>,
    /// What `wasi:config/store` answers.
    pub config: BTreeMap<String, String>,
    /// Upper bound of all memories of the guest together.
    pub memory: Memory,
    /// Share of processor time.
    pub cpu: Cpu,
    pub ports: Vec<PortSpec>,
    pub mounts: Vec<MountSpec>,
    pub grants: Grants,
    /// Directory that the guest sees as `/output`, read-write. It exists.
    pub output_dir: Option<PathBuf>,
    pub logs: LogSettings,
    pub http: HttpSettings,
    pub timeouts: Timeouts,
}

/// A named port of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    pub name: String,
    pub protocol: PortProtocol,
    pub number: PortNumber,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortProtocol {
    Http,
    Tcp,
}

/// Which number a port gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortNumber {
    /// A free one; the driver reports which.
    Dynamic,
    /// Exactly this one; if it is taken, the start fails with `port-in-use`.
    Static(u16),
}

/// A port as it was really bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundPort {
    pub name: String,
    pub protocol: PortProtocol,
    pub address: SocketAddr,
}

/// A directory of the host that the guest may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountSpec {
    pub host_path: PathBuf,
    pub guest_path: String,
    pub access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// What the guest may reach outside of itself. Empty lists grant nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// `[scheme://]host[:port]`, host exact or `*.suffix`. Source: 06-cluster.md section 4.
    pub http_out: Vec<String>,
    /// `host:port`, port a number or `*`.
    pub tcp_out: Vec<String>,
    /// `host:port`, as `tcp_out`.
    pub udp_out: Vec<String>,
    /// Names of ports with protocol tcp that the guest itself may listen on.
    pub tcp_listen: Vec<String>,
}

/// Where guest output goes and how much of it is kept. Limits are per attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    pub dir: PathBuf,
    /// A segment is closed when it has reached this size, bytes.
    pub segment_bytes: u64,
    /// Segments kept; the oldest goes first.
    pub segments: u32,
    /// Longer lines are written in parts, bytes.
    pub line_bytes: usize,
    /// What may be written in a second, bytes; ten seconds may be saved up.
    pub bytes_per_second: u64,
}

impl LogSettings {
    /// The defaults: 4 segments of 4 MiB, lines of 16 KiB, 1 MiB a second.
    #[must_use]
    pub fn in_dir(dir: PathBuf) -> Self {
        Self {
            dir,
            segment_bytes: 4 << 20,
            segments: 4,
            line_bytes: 16 << 10,
            bytes_per_second: 1 << 20,
        }
    }
}

/// How requests reach an HTTP handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// `None`: a fresh instance for each request.
    pub reuse: Option<Reuse>,
    /// Requests in a guest at the same time.
    pub concurrency: usize,
    /// Requests that may wait for a free place; more get 503.
    pub queue: usize,
    /// Largest request body, bytes; more get 413.
    pub body_bytes: u64,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self { reuse: None, concurrency: 128, queue: 1_024, body_bytes: 64 << 20 }
    }
}

/// Limits of an instance that serves more than one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reuse {
    pub max_requests: u64,
    pub max_idle: Duration,
}

/// Every one of them is kept outside the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From a request's head to the response's head.
    pub request: Duration,
    /// Longest run of the attempt; `None` is no limit.
    pub execution: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { request: Duration::from_secs(60), execution: None }
    }
}
