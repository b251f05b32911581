//! One line of output and its form on disk. Knows nothing of files.

use std::io::Write;

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    Stdout,
    Stderr,
    /// Pliant itself: markers about lines that are not there.
    Pliant,
}

impl Stream {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Pliant => "pliant",
        }
    }

    fn parse(name: &[u8]) -> Option<Self> {
        [Self::Stdout, Self::Stderr, Self::Pliant]
            .into_iter()
            .find(|stream| stream.name().as_bytes() == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Milliseconds since 1970 on the host's clock.
    pub time_ms: u64,
    pub stream: Stream,
    /// False when the line goes on in the next record of this stream.
    pub ends_line: bool,
    /// The bytes that the guest wrote, without the line end.
    pub text: Vec<u8>,
    /// Where the next record begins.
    pub next_offset: u64,
}

/// Appends one record to `buffer`; returns its length in bytes.
pub(super) fn encode(buffer: &mut Vec<u8>, time_ms: u64, stream: Stream, line: Line<'_>) -> usize {
    let before = buffer.len();
    let (mark, text) = match line {
        Line::Whole(text) => ('F', text),
        Line::Part(text) => ('P', text),
    };
    write!(buffer, "{time_ms} {} {mark} ", stream.name()).expect("a Vec takes every write");
    buffer.extend_from_slice(text);
    buffer.push(b'\n');
    buffer.len() - before
}

#[derive(Clone, Copy)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    Part(&'a [u8]),
}

/// Reads a line without its line end. What is torn or foreign comes back as Pliant's own text,
/// so that nothing is skipped in silence.
pub(super) fn decode(line: &[u8], next_offset: u64) -> LogRecord {
    parse(line, next_offset).unwrap_or_else(|| LogRecord {
        time_ms: 0,
        stream: Stream::Pliant,
        ends_line: true,
        text: line.to_vec(),
        next_offset,
    })
}

fn parse(line: &[u8], next_offset: u64) -> Option<LogRecord> {
    let mut parts = line.splitn(4, |byte| *byte == b' ');
    let time_ms = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    let stream = Stream::parse(parts.next()?)?;
    let ends_line = match parts.next()? {
        b"F" => true,
        b"P" => false,
        _ => return None,
    };
    Some(LogRecord { time_ms, stream, ends_line, text: parts.next()?.to_vec(), next_offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let mut buffer = Vec::new();
        let length = encode(&mut buffer, 17, Stream::Stderr, Line::Part(b"a  b \x1b[1m"));
        assert_eq!(length, buffer.len());
        let record = decode(&buffer[..length - 1], 99);
        assert_eq!(record.text, b"a  b \x1b[1m");
        assert_eq!((record.time_ms, record.stream, record.ends_line), (17, Stream::Stderr, false));
        assert_eq!(record.next_offset, 99);
    }

    #[test]
    fn a_torn_line_is_shown_and_not_skipped() {
        let record = decode(b"17 stdo", 7);
        assert_eq!((record.stream, record.text.as_slice()), (Stream::Pliant, &b"17 stdo"[..]));
    }
}
