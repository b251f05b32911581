//! Every limit of the core by name (law 8), with where its value comes from.

/// Facts that close a batch at the next decision's edge (14-decisions.md, 12).
pub const BATCH_FACTS: usize = 256;
/// Bytes that close a batch at the next decision's edge (14-decisions.md, 12).
pub const BATCH_BYTES: usize = 128 * 1024;
/// Most facts of one decision (14-decisions.md, 12).
pub const DECISION_FACTS: usize = 4_096;
/// Most bytes of one decision (14-decisions.md, 12).
pub const DECISION_BYTES: usize = 512 * 1024;
/// Most bytes of a spec with its text (14-decisions.md, 12).
pub const SPEC_BYTES: usize = 256 * 1024;
/// Most facts that one run of the planner proposes; it then says `more`. One batch's worth, so that
/// a submission is never stuck behind a large plan.
pub const PLAN_FACTS: usize = 256;
/// Remembered answers of idempotent requests (14-decisions.md, 15).
pub const REMEMBERED_REQUESTS: usize = 100_000;
/// How long an answer is remembered, in milliseconds (14-decisions.md, 15).
pub const REMEMBERED_MILLIS: u64 = 24 * 3_600_000;
/// Final executions that a task keeps beside its live one: enough to see a crash loop.
pub const KEPT_EXECUTIONS: usize = 5;
/// Ended incarnations that a job keeps beside its newest, like the versions of history.
pub const KEPT_INCARNATIONS: usize = 10;
/// Final rollouts that a job keeps beside the active one, like the versions of history.
pub const KEPT_ROLLOUTS: usize = 10;
/// Versions that a job keeps besides the current one (03-jobs.md, section 7).
pub const KEPT_VERSIONS: usize = 10;
/// Most hosts of a cluster in this release (09-performance.md measures 10,000).
pub const HOSTS: usize = 20_000;
/// Most jobs of a cluster.
pub const JOBS: usize = 200_000;
/// Longest message or author of a version, in bytes.
pub const MESSAGE_BYTES: usize = 1_024;
/// Placements of a batch or ops task before it counts as failed: the first and 3 more
/// (03-jobs.md, section 6).
pub const ENDING_PLACEMENTS: u32 = 4;
/// First delay before a new placement, in milliseconds (03-jobs.md, section 6).
pub const PLACE_BACKOFF_FIRST_MILLIS: u64 = 5_000;
/// Longest delay before a new placement, in milliseconds (03-jobs.md, section 6).
pub const PLACE_BACKOFF_LONGEST_MILLIS: u64 = 300_000;
/// An execution that ran this long clears the count of failures (03-jobs.md, section 6).
pub const STABLE_MILLIS: u64 = 600_000;
/// Difference that two machines' clocks may gain during a lease (14-decisions.md, 14).
pub const DRIFT_MILLIS: u64 = 1_000;
/// How long a host has to get room for a live resize before the task is replaced, in milliseconds
/// (03-jobs.md, section 4).
pub const RESIZE_PATIENCE_MILLIS: u64 = 60_000;
/// Runs of a job that live beside each other (14-decisions.md, 8).
pub const PARALLEL_RUNS: usize = 16;
/// Versions of a job that carry a tag; they are never let go.
pub const TAGGED_VERSIONS: usize = 100;
/// Tags of one version.
pub const TAGS: usize = 16;
/// Namespaces of a cluster besides `default`.
pub const NAMESPACES: usize = 10_000;
