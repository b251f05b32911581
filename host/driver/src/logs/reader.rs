//! Reads a log series from an offset on, and follows it while its writer lives.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use tokio::sync::watch;

use super::record::{LogRecord, Stream, decode};
use super::segment::{self, Segment};
use super::writer::LogEnd;

/// Bytes that one call reads at most. A longer line is returned in parts.
pub const READ_BATCH_BYTES: u64 = 256 << 10;

#[derive(Debug)]
pub struct LogReader {
    dir: PathBuf,
    offset: u64,
    end: Option<watch::Receiver<LogEnd>>,
}

impl LogReader {
    /// Reads what is there; there is no writer to wait for.
    #[must_use]
    pub fn finished(dir: PathBuf, from: u64) -> Self {
        Self { dir, offset: from, end: None }
    }

    /// Reads what is there and can wait for more of the writer that `end` came from.
    #[must_use]
    pub fn following(dir: PathBuf, from: u64, end: watch::Receiver<LogEnd>) -> Self {
        Self { dir, offset: from, end: Some(end) }
    }

    /// Offset of the next record; a later reader can go on from it.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next records, none when there are none yet. Output that was rotated away is one record
    /// of `Stream::Pliant` that says how much.
    pub fn read(&mut self) -> io::Result<Vec<LogRecord>> {
        let segments = segment::list(&self.dir)?;
        let mut records = Vec::new();
        if let Some(oldest) = segments.first().filter(|oldest| oldest.start > self.offset) {
            records.push(gone(oldest.start - self.offset, oldest.start));
            self.offset = oldest.start;
        }
        let Some(current) = segments.iter().find(|segment| self.offset < segment.end()) else {
            return Ok(records);
        };
        let bytes = match read_at(current, self.offset) {
            // Rotated away since the listing: the next call says so.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(records),
            other => other?,
        };
        let is_last = segments.last() == Some(current);
        let whole = whole_lines(&bytes, is_last && !self.is_closed());
        for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
            self.offset += line.len() as u64;
            records.push(decode(line.strip_suffix(b"\n").unwrap_or(line), self.offset));
        }
        Ok(records)
    }

    /// As `read`, but waits for the writer when there is nothing yet. `None`: this was all.
    pub async fn next(&mut self) -> io::Result<Option<Vec<LogRecord>>> {
        loop {
            let closed = self.is_closed();
            let records = self.read()?;
            if !records.is_empty() {
                return Ok(Some(records));
            }
            let Some(end) = self.end.as_mut().filter(|_| !closed) else { return Ok(None) };
            if end.borrow_and_update().offset > self.offset {
                continue;
            }
            // A writer that is gone without closing has written all that it could.
            if end.changed().await.is_err() {
                self.end = None;
            }
        }
    }

    /// Moves to where the last `lines` lines begin.
    pub fn seek_tail(&mut self, lines: usize) -> io::Result<()> {
        let mut starts = VecDeque::with_capacity(lines.min(65_536));
        let mut probe = Self::finished(self.dir.clone(), 0);
        let mut at = segment::list(&self.dir)?.first().map_or(0, |oldest| oldest.start);
        probe.offset = at;
        loop {
            let records = probe.read()?;
            if records.is_empty() {
                break;
            }
            for record in records {
                if starts.len() == lines {
                    starts.pop_front();
                }
                starts.push_back(at);
                at = record.next_offset;
            }
        }
        self.offset = if lines == 0 { at } else { starts.front().copied().unwrap_or(at) };
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.end.as_ref().is_none_or(|end| end.borrow().closed || end.has_changed().is_err())
    }
}

/// How many of `bytes` are whole lines. A line that does not end within a batch is cut; one that
/// is at the end of a live log waits for its end.
fn whole_lines(bytes: &[u8], may_grow: bool) -> usize {
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(at) if may_grow || bytes.len() as u64 == READ_BATCH_BYTES => at + 1,
        None if may_grow && (bytes.len() as u64) < READ_BATCH_BYTES => 0,
        Some(_) | None => bytes.len(),
    }
}

fn read_at(segment: &Segment, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(&segment.path)?;
    file.seek(SeekFrom::Start(offset - segment.start))?;
    let mut bytes = Vec::new();
    file.take(READ_BATCH_BYTES.min(segment.end() - offset)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn gone(bytes: u64, next_offset: u64) -> LogRecord {
    LogRecord {
        time_ms: 0,
        stream: Stream::Pliant,
        ends_line: true,
        text: format!("{bytes} bytes of older output are no longer kept (log-segments)")
            .into_bytes(),
        next_offset,
    }
}
