//! Server-sent events: one frame as bytes, and bytes as frames. Knows no body and no connection.

use std::fmt::Write as _;

/// Media type of a stream of events.
pub const EVENT_STREAM: &str = "text/event-stream";
/// Media type of the same stream as one JSON document a line.
pub const NDJSON: &str = "application/x-ndjson";
/// Largest frame that a reader takes, in bytes: an assignment of 10,000 executions fits.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;
/// Sent when nothing else was for some seconds, so that both ends see a dead connection.
pub const HEARTBEAT: &str = ":\n\n";

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// From where a reader goes on.
    pub id: Option<String>,
    /// What kind of event it is.
    pub event: Option<String>,
    /// The body.
    pub data: String,
}

impl Frame {
    /// The frame as it is sent.
    #[must_use]
    pub fn encode(&self) -> String {
        const INFALLIBLE: &str = "a string takes everything";
        let mut text = String::with_capacity(self.data.len() + 64);
        if let Some(id) = &self.id {
            writeln!(text, "id: {id}").expect(INFALLIBLE);
        }
        if let Some(event) = &self.event {
            writeln!(text, "event: {event}").expect(INFALLIBLE);
        }
        for line in self.data.split('\n') {
            writeln!(text, "data: {line}").expect(INFALLIBLE);
        }
        text.push('\n');
        text
    }
}

/// Why a stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame exceeded [`MAX_FRAME_BYTES`].
    #[error("a frame is larger than {MAX_FRAME_BYTES} bytes")]
    TooLarge,
    /// A line was not UTF-8.
    #[error("a line of the stream is not UTF-8")]
    NotText,
}

/// Turns bytes, as they come in pieces, into frames.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    frame: Frame,
    has_data: bool,
    after_return: bool,
}

impl Decoder {
    /// Takes the next piece and gives every frame that is complete now.
    ///
    /// # Errors
    /// When the stream cannot be read on; the reader connects again.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Frame>, FrameError> {
        let mut frames = Vec::new();
        for &byte in piece {
            // A line ends with \n, \r or \r\n.
            let second_half = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            if second_half {
                continue;
            }
            if byte == b'\n' || byte == b'\r' {
                frames.extend(self.end_of_line()?);
            } else {
                self.line.push(byte);
                if self.line.len() + self.frame.data.len() > MAX_FRAME_BYTES {
                    return Err(FrameError::TooLarge);
                }
            }
        }
        Ok(frames)
    }

    fn end_of_line(&mut self) -> Result<Option<Frame>, FrameError> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8(line).map_err(|_| FrameError::NotText)?;
        if line.is_empty() {
            let frame = std::mem::take(&mut self.frame);
            return Ok(std::mem::take(&mut self.has_data).then_some(frame));
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.frame.id = Some(value.to_owned()),
            "event" => self.frame.event = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
                self.has_data = true;
            }
            // A comment (empty field) is a heartbeat; other fields are not used here.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: &str, event: &str, data: &str) -> Frame {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Frame { id: some(id), event: some(event), data: data.to_owned() }
    }

    #[test]
    fn a_stream_in_any_pieces_gives_the_same_frames() {
        let sent = [frame("1", "snapshot", "{}"), frame("", "", "a\n\nb"), frame("3-4", "ü", "")];
        let text: String =
            sent.iter().flat_map(|frame| [frame.encode(), HEARTBEAT.to_owned()]).collect();
        for size in [1, 2, 3, 7, text.len()] {
            let mut decoder = Decoder::default();
            let got: Vec<Frame> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| decoder.push(piece).unwrap())
                .collect();
            assert_eq!(got, sent, "in pieces of {size}");
        }
    }

    #[test]
    fn every_end_of_line_is_understood_and_half_a_frame_is_none() {
        let mut decoder = Decoder::default();
        let frames = decoder.push(b"data: a\r\n\r\ndata:b\r\rdata: c\n").unwrap();
        assert_eq!(frames, [frame("", "", "a"), frame("", "", "b")]);
        assert_eq!(decoder.push(b"retry: 3\n: x\n\n").unwrap(), [frame("", "", "c")]);
    }

    #[test]
    fn what_is_not_text_is_told() {
        assert_eq!(Decoder::default().push(b"data: \xff\n"), Err(FrameError::NotText));
    }
}
