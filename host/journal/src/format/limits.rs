//! Every limit of the journal, by name.

/// Bytes of one batch's payload. A decision has at most 512 KiB and a batch closes at the next
/// decision's edge after 128 KiB (design decision 12), so 1 MiB leaves room for both.
pub const MAX_PAYLOAD_BYTES: usize = 1024 * 1024;

/// Bytes of one value in the store. Tree nodes of sled above 128 KiB go to files that it never
/// syncs; chunks of this size keep every node far below (measured, see `0003-sled-shape.md`).
pub const CHUNK_BYTES: usize = 4_000;

/// Snapshots that are kept; a trim goes only below the older.
pub const SNAPSHOTS_KEPT: usize = 2;

/// Copies of the store that are kept from unclean stops.
pub const ASIDE_KEPT: usize = 2;

/// Batches that one step of a trim removes at once, so that its store batch stays small.
pub const TRIM_STEP: u64 = 256;

/// Bytes of a key in a durable map.
pub const MAX_KEY_BYTES: usize = 255;

/// Bytes of a value in a durable map.
pub const MAX_VALUE_BYTES: usize = 64 * 1024;

/// Edits in one commit of a durable map.
pub const MAX_EDITS: usize = 1_024;
