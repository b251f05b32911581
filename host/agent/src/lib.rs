//! What runs on a host: pure decisions (`logic`) and the daemon that carries them out (`daemon`).
//!
//! Beside them is the host's router (`router`), which only reads where ready tasks are.
//! The agent obeys an assignment and reports what it observes. It does not know the core and
//! cannot second-guess it. Without the feature `daemon` only the logic is there, for the simulator.

#[cfg(feature = "daemon")]
mod daemon;
pub mod logic;
#[cfg(feature = "daemon")]
mod router;

#[cfg(feature = "daemon")]
pub use daemon::*;
#[cfg(feature = "daemon")]
pub use router::{Router, RouterConfig, RouterError};
