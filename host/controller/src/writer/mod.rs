//! The one writer: a bounded inbox, batches staged ahead, one append each, then release.
//!
//! Two threads: the stager decides the next batch while the appender makes the last one durable.
//! Trouble with the journal ends the term; the writer opens it again inside the process while
//! reads are served and writes answer 503 (14-decisions.md, 23).

mod append;
mod inbox;
mod recover;
mod resolve;
mod snapshots;
mod term;
mod waiting;

pub use inbox::{Asked, Inbox, WriteError};
pub use recover::{OpenedState, ReadError, open_state};
pub use term::{JournalState, Writer, WriterSettings};
