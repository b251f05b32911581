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

/// Chunks that one store batch writes; a larger batch of the journal is written in parts.
///
/// sled calls bytes stable that no fsync has made durable yet, and reuses a segment (512 KiB) when
/// what replaced its contents is stable and a whole segment behind. So no more than one segment may
/// be written between two fsyncs, or a power cut could take old bytes before the new ones are
/// there. Writing a chunk costs about 18 KB of log (fragment, consolidated node, relocated node).
/// With 13 and 24 the largest ever seen was 453 KB, over a mix with many batches of 1 MiB; the power
/// tests assert the bound. 13 chunks hold 256 facts of 200 bytes.
pub const CHUNKS_PER_WRITE: usize = 13;

/// Chunks that one store batch removes, by the same bound.
pub const CHUNKS_PER_REMOVAL: usize = 24;

/// Bytes of a key in a durable map.
pub const MAX_KEY_BYTES: usize = 255;

/// Bytes of a value in a durable map.
pub const MAX_VALUE_BYTES: usize = 64 * 1024;

/// Edits in one commit of a durable map.
pub const MAX_EDITS: usize = 256;

/// Bytes of keys and values that one commit of a durable map may touch: those that it puts and those
/// that it removes; a replaced value counts as the larger of the two. It is one largest value and
/// some small ones. The reason is that of [`CHUNKS_PER_WRITE`]: a map's commit cannot be written in
/// parts.
pub const MAX_COMMIT_BYTES: usize = MAX_VALUE_BYTES + 4 * 1024;
