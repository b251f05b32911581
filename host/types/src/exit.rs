//! How an attempt ended: a closed list of reasons with their figures.

use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Longest detail text that is journaled, in bytes; the rest stays in the log.
pub const MAX_DETAIL_BYTES: usize = 2_048;

/// Why an attempt or an execution ended.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    minicbor::Encode,
    minicbor::Decode,
)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum ExitReason {
    /// The guest returned; `code` says how.
    #[n(0)]
    Exited,
    /// The guest trapped; the detail has the message and the backtrace.
    #[n(1)]
    Trapped,
    /// The guest's memory limit was reached.
    #[n(2)]
    OutOfMemory,
    /// `timeouts.execution` was reached.
    #[n(3)]
    TimedOut,
    /// The guest ended because it was asked to.
    #[n(4)]
    Stopped,
    /// The guest did not end in time and was ended.
    #[n(5)]
    Killed,
    /// The artifact could not be fetched, verified or compiled.
    #[n(6)]
    ArtifactInvalid,
    /// A port is taken by somebody else.
    #[n(7)]
    PortInUse,
    /// A mount, directory or grant that the spec asks for is not to be had on this host.
    #[n(8)]
    NotGranted,
    /// The engine or the host failed.
    #[n(9)]
    HostFailure,
    /// The host was declared lost.
    #[n(10)]
    HostLost,
    /// The process ended by a signal.
    #[n(11)]
    Signalled,
}

impl ExitReason {
    /// Every reason.
    pub const ALL: &'static [Self] = &[
        Self::Exited,
        Self::Trapped,
        Self::OutOfMemory,
        Self::TimedOut,
        Self::Stopped,
        Self::Killed,
        Self::ArtifactInvalid,
        Self::PortInUse,
        Self::NotGranted,
        Self::HostFailure,
        Self::HostLost,
        Self::Signalled,
    ];

    /// What it means, one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Exited => "The guest returned; its exit code says how.",
            Self::Trapped => "The guest trapped; the detail has the message and the backtrace.",
            Self::OutOfMemory => "The guest reached its memory limit, `spec.resources.memory`.",
            Self::TimedOut => "The guest ran for longer than `spec.timeouts.execution`.",
            Self::Stopped => "The guest ended because it was asked to.",
            Self::Killed => "The guest did not end within `spec.timeouts.kill` and was ended.",
            Self::ArtifactInvalid => "The artifact could not be fetched, verified or compiled.",
            Self::PortInUse => "A static port of the job is taken by another program of the host.",
            Self::NotGranted => {
                "A mount, directory or grant of the spec is not to be had on the host."
            }
            Self::HostFailure => "The engine or the host failed; the detail says how.",
            Self::HostLost => "The host was silent for too long and was declared lost.",
            Self::Signalled => "The process ended by a signal.",
        }
    }

    /// The word in text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Trapped => "trapped",
            Self::OutOfMemory => "out-of-memory",
            Self::TimedOut => "timed-out",
            Self::Stopped => "stopped",
            Self::Killed => "killed",
            Self::ArtifactInvalid => "artifact-invalid",
            Self::PortInUse => "port-in-use",
            Self::NotGranted => "not-granted",
            Self::HostFailure => "host-failure",
            Self::HostLost => "host-lost",
            Self::Signalled => "signalled",
        }
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The end of an attempt, with what a user needs to understand it.
#[derive(
    Clone, Debug, PartialEq, Eq, Serialize, Deserialize, minicbor::Encode, minicbor::Decode,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cbor(map)]
pub struct ExitStatus {
    /// What ended it.
    #[n(0)]
    pub reason: ExitReason,
    /// The guest's exit code, where it returned one.
    #[n(1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Trap message, backtrace or error text, at most [`MAX_DETAIL_BYTES`].
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl ExitStatus {
    /// An exit with nothing to add.
    #[must_use]
    pub const fn of(reason: ExitReason) -> Self {
        Self { reason, code: None, detail: None }
    }

    /// An exit with a text, cut to [`MAX_DETAIL_BYTES`] at a character's edge.
    #[must_use]
    pub fn with_detail(reason: ExitReason, detail: &str) -> Self {
        let mut end = detail.len().min(MAX_DETAIL_BYTES);
        while !detail.is_char_boundary(end) {
            end -= 1;
        }
        Self { reason, code: None, detail: Some(detail[..end].into()) }
    }

    /// The guest returned this code.
    #[must_use]
    pub const fn exited(code: i32) -> Self {
        Self { reason: ExitReason::Exited, code: Some(code), detail: None }
    }

    /// Whether the guest returned 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.reason == ExitReason::Exited && self.code == Some(0)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.as_str())?;
        if let Some(code) = self.code {
            write!(f, " with code {code}")?;
        }
        match self.detail.as_deref().and_then(|d| d.lines().next()) {
            Some(line) => write!(f, ": {line}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_in_the_list_and_says_what_it_means() {
        for number in 0..=u8::MAX {
            let bytes = minicbor::to_vec(number).unwrap();
            let known = minicbor::decode::<ExitReason>(&bytes).is_ok();
            assert_eq!(known, usize::from(number) < ExitReason::ALL.len(), "{number}");
        }
        for reason in ExitReason::ALL {
            assert!(reason.meaning().ends_with('.'), "{reason}");
        }
    }
}
