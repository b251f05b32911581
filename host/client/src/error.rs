//! Everything that a call can end in besides its answer.

use std::path::PathBuf;

use pliant_api::problem::Problem;
use pliant_types::Digest;
use pliant_types::codes::Code;

/// Why a call gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The controller refused, and says why.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// No controller answers.
    #[error("no controller answers at {address}")]
    Unreachable {
        /// Where it was looked for.
        address: String,
        /// What the network said.
        source: reqwest::Error,
    },
    /// The answer did not come, or not whole, in time.
    #[error("the connection to {address} broke off")]
    Broken {
        /// Where.
        address: String,
        /// What the network said.
        source: reqwest::Error,
    },
    /// Something other than a controller of this API answers.
    #[error(
        "{address} answered with status {status}, which is not an answer of this API: {excerpt:?}"
    )]
    Unexpected {
        /// Where.
        address: String,
        /// HTTP status.
        status: u16,
        /// The start of the body.
        excerpt: String,
    },
    /// The answer has another form than this client knows.
    #[error("the answer of {path} cannot be read")]
    Unreadable {
        /// Which route.
        path: String,
        /// What was wrong with it.
        source: serde_json::Error,
    },
    /// An answer or a frame is larger than its limit.
    #[error("the answer of {path} is larger than {limit_bytes} bytes")]
    AnswerTooLarge {
        /// Which route.
        path: String,
        /// The limit.
        limit_bytes: usize,
    },
    /// The address cannot or may not be reached.
    #[error("the address {address:?} cannot be used: {reason}")]
    Address {
        /// As it was given.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// This machine cannot make HTTP connections.
    #[error("no HTTP client can be made: {reason}")]
    Setup {
        /// What is wrong.
        reason: String,
    },
    /// A stream of events was silent for too long.
    #[error("the stream {path} was silent for {silent_secs} s")]
    Silent {
        /// Which route.
        path: String,
        /// For how long.
        silent_secs: u64,
    },
    /// A stream of events is none.
    #[error("the stream {path} cannot be read on")]
    BadStream {
        /// Which route.
        path: String,
        /// What is wrong with it.
        source: pliant_api::sse::FrameError,
    },
    /// Bytes were fetched that are not those that were asked for.
    #[error("the bytes have the digest {found}, not {expected}")]
    WrongDigest {
        /// What was asked for.
        expected: Digest,
        /// What came.
        found: Digest,
    },
    /// A local file failed.
    #[error("{} cannot be used", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// How.
        source: std::io::Error,
    },
}

impl ClientError {
    /// The code of the table of errors that fits.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(problem) => problem.code,
            Self::Unreachable { .. } | Self::Broken { .. } | Self::Silent { .. } => {
                Code::Unreachable
            }
            Self::WrongDigest { .. } => Code::DigestMismatch,
            Self::Address { .. } => Code::BodyInvalid,
            Self::Unexpected { .. }
            | Self::Unreadable { .. }
            | Self::AnswerTooLarge { .. }
            | Self::Setup { .. }
            | Self::BadStream { .. } => Code::Internal,
            Self::File { .. } => Code::FileUnusable,
        }
    }

    /// The exit code of a command that ends with this.
    #[must_use]
    pub fn exit(&self) -> u8 {
        self.code().row().exit
    }

    /// Whether the same call may succeed a moment later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused(problem) => problem.retryable,
            Self::Unreachable { .. } | Self::Broken { .. } | Self::Silent { .. } => true,
            _ => false,
        }
    }
}
