//! What a Wasm artifact is and needs, read from its bytes. Compiles nothing and runs nothing.
//!
//! A crate of its own, because the controller inspects at submit and the CLI on request, and
//! neither may compile an engine. The Wasm driver inspects again before it compiles.
//!
//! Order: bounded walk over the structure (limits), validation, then imports and exports against
//! what hosts offer.

mod adapt;
mod inspect;
pub mod limits;
mod offered;
mod preview1;
mod scan;

pub use adapt::{AdaptError, as_component};
pub use inspect::{ArtifactKind, Inspection, Problem, inspect};
pub use scan::InspectError;
