//! Artifacts: bytes by their digest, streamed in, verified, inspected once.

mod fetch;
mod gate;
mod meta;
mod store;

pub use fetch::{FetchError, Fetcher};
pub use meta::{ArtifactMeta, Verdict};
pub use store::{ArtifactStore, MAX_ARCHIVE_BYTES, StoreError};
