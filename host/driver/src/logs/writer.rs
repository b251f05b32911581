//! Writes guest output within its bounds. Synchronous: a write goes to the page cache at once.
//!
//! What is over the rate is dropped and counted; a marker line says how much. The total is bounded
//! by rotation. A full disk never stops a guest: what could not be written is counted too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};

use tokio::sync::watch;

use super::bucket::Bucket;
use super::record::{Line, Stream, encode};
use super::segment;
use crate::LogSettings;

/// Bytes that a line costs on top of its text, so that empty lines are bounded as well.
const LINE_COST_BYTES: u64 = 32;

/// How far a log has got; readers that follow wait for it to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    pub offset: u64,
    /// No more will be written.
    pub closed: bool,
}

#[derive(Debug)]
pub struct LogWriter {
    settings: LogSettings,
    /// `None` once closed: what has ended holds no file open.
    file: Option<File>,
    segment_start: u64,
    offset: u64,
    open_lines: [Vec<u8>; 2],
    bucket: Bucket,
    dropped: Dropped,
    end: watch::Sender<LogEnd>,
}

#[derive(Debug, Default)]
struct Dropped {
    lines: u64,
    bytes: u64,
    write_failures: u64,
}

impl LogWriter {
    /// Opens the series in `settings.dir`, which is made if needed; older segments stay.
    pub fn open(settings: LogSettings, now_ms: u64) -> io::Result<Self> {
        fs::create_dir_all(&settings.dir)?;
        let start = segment::list(&settings.dir)?.last().map_or(0, segment::Segment::end);
        let file = open_segment(&settings, start)?;
        let bucket = Bucket::full(settings.bytes_per_second, now_ms);
        Ok(Self {
            settings,
            file: Some(file),
            segment_start: start,
            offset: start,
            open_lines: [Vec::new(), Vec::new()],
            bucket,
            dropped: Dropped::default(),
            end: watch::Sender::new(LogEnd { offset: start, closed: false }),
        })
    }

    /// Takes what a guest wrote to one of its streams. Bytes after the last line end wait for it.
    pub fn write(&mut self, stream: Stream, bytes: &[u8], now_ms: u64) {
        let mut rest = bytes;
        let mut batch = Vec::new();
        while !rest.is_empty() {
            let open = self.open_lines[open_line_index(stream)].len();
            let room = self.settings.line_bytes.saturating_sub(open).max(1);
            let window = &rest[..rest.len().min(room + 1)];
            match window.iter().position(|byte| *byte == b'\n') {
                Some(at) => {
                    self.close_line(stream, &rest[..at], now_ms, &mut batch);
                    rest = &rest[at + 1..];
                }
                None if window.len() > room => {
                    self.cut_line(stream, &rest[..room], now_ms, &mut batch);
                    rest = &rest[room..];
                }
                None => {
                    self.open_lines[open_line_index(stream)].extend_from_slice(rest);
                    rest = &[];
                }
            }
        }
        self.flush(&batch);
    }

    /// A line of Pliant's own; not bounded by the guest's rate.
    pub fn note(&mut self, text: &str, now_ms: u64) {
        let mut batch = Vec::new();
        encode(&mut batch, now_ms, Stream::Pliant, Line::Whole(text.as_bytes()));
        self.flush(&batch);
    }

    /// Writes unfinished lines and what was dropped, and tells readers that this was all.
    pub fn close(&mut self, now_ms: u64) {
        let mut batch = Vec::new();
        for stream in [Stream::Stdout, Stream::Stderr] {
            if !self.open_lines[open_line_index(stream)].is_empty() {
                self.close_line(stream, &[], now_ms, &mut batch);
            }
        }
        self.mark_dropped(now_ms, &mut batch);
        self.flush(&batch);
        self.file = None;
        self.end.send_modify(|end| end.closed = true);
    }

    /// Changes whenever something was written, and when the log is closed.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<LogEnd> {
        self.end.subscribe()
    }

    fn close_line(&mut self, stream: Stream, tail: &[u8], now_ms: u64, batch: &mut Vec<u8>) {
        let mut text = std::mem::take(&mut self.open_lines[open_line_index(stream)]);
        text.extend_from_slice(tail);
        self.admit(stream, Line::Whole(&text), now_ms, batch);
    }

    fn cut_line(&mut self, stream: Stream, tail: &[u8], now_ms: u64, batch: &mut Vec<u8>) {
        let mut text = std::mem::take(&mut self.open_lines[open_line_index(stream)]);
        text.extend_from_slice(tail);
        self.admit(stream, Line::Part(&text), now_ms, batch);
    }

    fn admit(&mut self, stream: Stream, line: Line<'_>, now_ms: u64, batch: &mut Vec<u8>) {
        let (Line::Whole(text) | Line::Part(text)) = line;
        let length = text.len() as u64;
        if !self.bucket.take(length + LINE_COST_BYTES, now_ms) {
            self.dropped.lines += 1;
            self.dropped.bytes += length;
            return;
        }
        self.mark_dropped(now_ms, batch);
        encode(batch, now_ms, stream, line);
        if batch.len() as u64 >= self.settings.segment_bytes {
            let full = std::mem::take(batch);
            self.flush(&full);
        }
    }

    fn mark_dropped(&mut self, now_ms: u64, batch: &mut Vec<u8>) {
        let Dropped { lines, bytes, write_failures } = std::mem::take(&mut self.dropped);
        let rate = self.settings.bytes_per_second;
        if lines > 0 {
            let text = format!(
                "dropped {lines} lines ({bytes} bytes): more than {rate} bytes a second \
                 (log-bytes-per-second)"
            );
            encode(batch, now_ms, Stream::Pliant, Line::Whole(text.as_bytes()));
        }
        if write_failures > 0 {
            let text = format!("{write_failures} writes to this log failed");
            encode(batch, now_ms, Stream::Pliant, Line::Whole(text.as_bytes()));
        }
    }

    fn flush(&mut self, batch: &[u8]) {
        if batch.is_empty() {
            return;
        }
        match self.append(batch) {
            Ok(()) => {
                let offset = self.offset;
                self.end.send_modify(|end| end.offset = offset);
            }
            Err(_) => self.dropped.write_failures += 1,
        }
    }

    fn append(&mut self, batch: &[u8]) -> io::Result<()> {
        let is_full = self.offset - self.segment_start >= self.settings.segment_bytes;
        if is_full && self.file.is_some() {
            self.rotate()?;
        }
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("the log is closed"));
        };
        if let Err(error) = file.write_all(batch) {
            // Part of it may be there: the series goes on after what the file really holds.
            self.offset = self.segment_start + file.metadata()?.len();
            return Err(error);
        }
        self.offset += batch.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file = Some(open_segment(&self.settings, self.offset)?);
        self.segment_start = self.offset;
        let segments = segment::list(&self.settings.dir)?;
        let keep = self.settings.segments.max(1) as usize;
        for old in segments.iter().rev().skip(keep) {
            fs::remove_file(&old.path)?;
        }
        Ok(())
    }
}

fn open_line_index(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}

fn open_segment(settings: &LogSettings, start: u64) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(segment::path(&settings.dir, start))
}
