//! Why an agent does not start, or cannot go on.

use std::{io, net::SocketAddr, path::PathBuf};

use pliant_client::ClientError;
use pliant_journal::{OpenError, store::MapError};

/// A failure of the agent as a whole. What fails for one execution is its exit instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// A directory of the agent cannot be used.
    #[error("{} cannot be used", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The ledger does not open.
    #[error("the ledger in {path} cannot be opened")]
    Ledger {
        /// Where.
        path: String,
        /// Why.
        source: OpenError,
    },
    /// The ledger holds something that this release cannot read.
    #[error("the entry {key} of the ledger cannot be read: {why}")]
    Entry {
        /// Which.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// The ledger takes nothing more: the agent must not act on what it cannot remember.
    #[error("the ledger cannot be written")]
    Write(#[source] MapError),
    /// The thread that writes the ledger is gone.
    #[error("the ledger's thread is gone")]
    LedgerGone,
    /// The address for logs cannot be listened on.
    #[error("{address} cannot be listened on")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A setting is refused.
    #[error("{setting}: {why}")]
    Setting {
        /// Which.
        setting: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The controller does not know the host that the ledger is of, or is older than it.
    #[error("the controller does not take the host of the ledger in {}: {why}", ledger.display())]
    NotTaken {
        /// Where the ledger is.
        ledger: PathBuf,
        /// In the controller's words.
        why: String,
    },
    /// No client of the controller can be made.
    #[error("the controller cannot be asked")]
    Client(#[source] ClientError),
    /// The machine does not say what it is.
    #[error("the machine does not tell its {what}")]
    Machine {
        /// What was asked.
        what: &'static str,
        /// Why it is not known.
        source: io::Error,
    },
    /// A task of the agent ended by a bug.
    #[error("a task of the agent ended early")]
    Bug,
}
