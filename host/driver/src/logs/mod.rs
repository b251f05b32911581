//! Output of guests on disk: one bounded series of segments per execution directory.
//!
//! A segment is named after the offset of its first byte in the whole series, so an offset stays
//! good over rotation. A line is `<unix ms> <stream> <F|P> <text>`; `P` says that the line goes on
//! in the next record of the same stream. Text is kept byte for byte: whoever shows it escapes it.

mod bucket;
mod reader;
mod record;
mod segment;
mod writer;

pub use reader::{LogReader, READ_BATCH_BYTES};
pub use record::{LogRecord, Stream};
pub use writer::{LogEnd, LogWriter};
