//! Every bound of the Wasm driver that is not per execution, with its source.

use std::time::Duration;

/// How often the epoch advances: a guest that computes gives way this often.
/// 1-2 ms cost 0-1 % (05-runtime.md section 2).
pub const EPOCH_TICK: Duration = Duration::from_millis(2);

/// Bytes that one call from a guest may hand to the host (05-runtime.md section 2).
pub const HOST_CALL_BYTES: usize = 16 << 20;

/// Handles (files, sockets, streams) that one instance may hold, and elements of one table
/// (05-runtime.md section 2). Less where the host allows few open files: see [`handles`].
pub const HANDLES: usize = 10_000;

/// One instance gets at most this share of the open files that the process may have, so that a
/// guest that opens files without end leaves some for its neighbours.
pub const HANDLE_SHARE: u64 = 16;

/// Fewest handles of an instance; below this ordinary programs do not run.
pub const HANDLES_AT_LEAST: usize = 64;

/// Bytes of randomness that one call may ask for (05-runtime.md section 2).
pub const RANDOM_BYTES: u64 = 1 << 20;

/// Size of a set of HTTP fields (05-runtime.md section 2).
pub const HTTP_FIELD_BYTES: usize = 64 << 10;

/// Bytes that a guest may write to its log in one call.
pub const LOG_WRITE_BYTES: usize = 64 << 10;

/// Core instances of one store: componentize-py needs 14 (05-runtime.md section 2).
pub const STORE_INSTANCES: usize = 256;

/// Tables of one store.
pub const STORE_TABLES: usize = 256;

/// Memories of one store.
pub const STORE_MEMORIES: usize = 64;

/// Wall time of one compilation (06-cluster.md section 4).
pub const COMPILE_WALL: Duration = Duration::from_secs(60);

/// Processor time of one compilation, seconds: as many cores as take part, for the wall time.
pub const COMPILE_CPU_SECONDS: u64 = 240;

/// Address space of the compile worker. Large guests take 450-650 MB (05-runtime.md section 2);
/// address space counts reserved stacks of its threads too.
pub const COMPILE_ADDRESS_BYTES: u64 = 6 << 30;

/// Largest compiled code that is taken from a worker.
pub const COMPILED_BYTES: u64 = 512 << 20;

/// Text of a worker's failure that is kept.
pub const COMPILE_ERROR_BYTES: usize = 8 << 10;

/// Compilations at the same time.
pub const COMPILES_AT_ONCE: usize = 2;

/// Artifacts whose code is kept mapped.
pub const LOADED_ARTIFACTS: usize = 1_024;

/// Compiled code on disk; the oldest goes first.
pub const CACHE_BYTES: u64 = 8 << 30;

/// Failed digests that are remembered.
pub const FAILED_ARTIFACTS: usize = 1_024;

/// Refusals of one execution that are noted in its log, each kind of target once.
pub const REFUSALS_NOTED: usize = 64;

/// Traps of request handlers of one execution that are noted in its log.
pub const TRAPS_NOTED: u64 = 1_000;

/// Frames of a backtrace that are reported.
pub const BACKTRACE_FRAMES: usize = 64;

/// What a handler may still do after its response was read.
pub const AFTER_RESPONSE: Duration = Duration::from_secs(30);

/// Connections of one HTTP port at the same time; more wait to be accepted.
pub const HTTP_CONNECTIONS: usize = 4_096;

/// A client must send its request head within this time.
pub const HTTP_HEAD: Duration = Duration::from_secs(30);

/// Head of a request, bytes.
pub const HTTP_HEAD_BYTES: usize = 64 << 10;

/// Streams of one HTTP/2 connection at the same time.
pub const HTTP2_STREAMS: u32 = 256;

/// Longest wait for an outbound connection, its TLS included.
pub const OUTBOUND_CONNECT: Duration = Duration::from_secs(10);

/// Longest wait for the first byte of an outbound answer, unless the guest asks for less.
pub const OUTBOUND_FIRST_BYTE: Duration = Duration::from_secs(600);

/// Addresses of one name that are looked at.
pub const OUTBOUND_ADDRESSES: usize = 16;

/// Name look-ups for the grants of one connect.
pub const OUTBOUND_GRANT_NAMES: usize = 64;

/// How many handles an instance may hold when this process may have `open_files`.
#[must_use]
pub fn handles(open_files: u64) -> usize {
    usize::try_from(open_files / HANDLE_SHARE).unwrap_or(HANDLES).clamp(HANDLES_AT_LEAST, HANDLES)
}
