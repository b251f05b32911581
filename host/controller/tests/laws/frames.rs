//! Streams of server-sent events as frames.

use crate::rig::Rig;
use futures::StreamExt;
use pliant_api::sse::{Decoder, EVENT_STREAM, Frame};
use reqwest::Method;

impl Rig {
    /// The cluster's events, as a stream of frames.
    pub(crate) async fn watch(&self, path: &str, last: Option<u64>) -> Frames {
        let mut request = self.request(Method::GET, path).header("accept", EVENT_STREAM);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let bytes = answer.bytes_stream().boxed();
        Frames { bytes, decoder: Decoder::default(), ready: Vec::new() }
    }
}

/// Frames of one stream as they come.
pub(crate) struct Frames {
    bytes: futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    decoder: Decoder,
    ready: Vec<Frame>,
}

impl Frames {
    /// The next frame; nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if !self.ready.is_empty() {
                return Some(self.ready.remove(0));
            }
            let piece = self.bytes.next().await?.unwrap();
            self.ready = self.decoder.push(&piece).unwrap();
        }
    }

    /// Frames up to the first that fits, with it.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await.expect("the stream goes on");
            let last = fits(&frame);
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }
}
