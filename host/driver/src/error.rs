//! Why a verb of a driver failed. Codes are stable; texts are for people.

use std::io;
use std::path::PathBuf;

use pliant_types::{Digest, ExecutionId, ExitReason, ExitStatus};

/// A failure of one verb. `Display` names what failed and never repeats its source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    #[error("the {driver} driver cannot {verb}")]
    Unsupported { driver: &'static str, verb: &'static str },
    #[error("execution {0} is not known to this driver")]
    UnknownExecution(ExecutionId),
    #[error("execution {0} is already running")]
    AlreadyRunning(ExecutionId),
    #[error("execution {0} is still running: stop it first")]
    StillRunning(ExecutionId),
    #[error("artifact {0} is not prepared")]
    NotPrepared(Digest),
    #[error("artifact is {actual_bytes} bytes, the limit is {limit_bytes} (artifact-bytes)")]
    ArtifactTooLarge { actual_bytes: u64, limit_bytes: u64 },
    #[error("artifact {expected} has other bytes: their digest is {actual}")]
    DigestMismatch { expected: Digest, actual: Digest },
    #[error("artifact {digest} cannot run here: {}", problems.join("; "))]
    ArtifactInvalid { digest: Digest, problems: Vec<String> },
    #[error("artifact {digest} does not compile: {reason}")]
    CompileFailed { digest: Digest, reason: String },
    #[error("port {name} ({number}) is in use on this host")]
    PortInUse { name: String, number: u16 },
    #[error("port {name} cannot be served: {reason}")]
    PortInvalid { name: String, reason: String },
    #[error("mount {guest_path} cannot be opened at {}", host_path.display())]
    MountUnavailable { guest_path: String, host_path: PathBuf, source: io::Error },
    #[error("grant {grant:?} cannot be read: {reason}")]
    GrantInvalid { grant: String, reason: String },
    #[error("no room for another execution: {limit} are running ({name})")]
    NoRoom { name: &'static str, limit: u64 },
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("the engine failed to {action}: {message}")]
    Engine { action: &'static str, message: String },
}

impl DriverError {
    /// The stable code, as documented in docs/reference/wasm.md.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "unsupported",
            Self::UnknownExecution(_) => "unknown-execution",
            Self::AlreadyRunning(_) => "already-running",
            Self::StillRunning(_) => "still-running",
            Self::NotPrepared(_) => "not-prepared",
            Self::ArtifactTooLarge { .. } => "artifact-too-large",
            Self::DigestMismatch { .. } => "digest-mismatch",
            Self::ArtifactInvalid { .. } => "artifact-invalid",
            Self::CompileFailed { .. } => "compile-failed",
            Self::PortInUse { .. } => "port-in-use",
            Self::PortInvalid { .. } => "port-invalid",
            Self::MountUnavailable { .. } => "mount-unavailable",
            Self::GrantInvalid { .. } => "grant-invalid",
            Self::NoRoom { .. } => "no-room",
            Self::Io { .. } => "io",
            Self::Engine { .. } => "engine",
        }
    }

    /// How an attempt ended that could not be prepared or started because of this.
    #[must_use]
    pub fn status(&self) -> ExitStatus {
        let reason = match self {
            Self::ArtifactTooLarge { .. }
            | Self::DigestMismatch { .. }
            | Self::ArtifactInvalid { .. }
            | Self::CompileFailed { .. } => ExitReason::ArtifactInvalid,
            Self::PortInUse { .. } => ExitReason::PortInUse,
            Self::MountUnavailable { .. }
            | Self::GrantInvalid { .. }
            | Self::PortInvalid { .. } => ExitReason::NotGranted,
            Self::Unsupported { .. }
            | Self::UnknownExecution(_)
            | Self::AlreadyRunning(_)
            | Self::StillRunning(_)
            | Self::NotPrepared(_)
            | Self::NoRoom { .. }
            | Self::Io { .. }
            | Self::Engine { .. } => ExitReason::HostFailure,
        };
        ExitStatus::with_detail(reason, &self.to_string())
    }

    /// Whether the same call with the same input must fail again on every host.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Unsupported { .. }
            | Self::ArtifactTooLarge { .. }
            | Self::ArtifactInvalid { .. }
            | Self::CompileFailed { .. }
            | Self::PortInvalid { .. }
            | Self::GrantInvalid { .. } => true,
            Self::UnknownExecution(_)
            | Self::AlreadyRunning(_)
            | Self::StillRunning(_)
            | Self::NotPrepared(_)
            | Self::DigestMismatch { .. }
            | Self::PortInUse { .. }
            | Self::MountUnavailable { .. }
            | Self::NoRoom { .. }
            | Self::Io { .. }
            | Self::Engine { .. } => false,
        }
    }
}
