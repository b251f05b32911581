//! Standard output and standard error of a guest: straight into its log.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pliant_driver::logs::{LogEnd, LogWriter, Stream};
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::limits;

/// The log of one attempt, shared by its instances.
#[derive(Clone, Debug)]
pub(crate) struct GuestLog(Arc<Mutex<LogWriter>>);

impl GuestLog {
    pub(crate) fn new(writer: LogWriter) -> Self {
        Self(Arc::new(Mutex::new(writer)))
    }

    pub(crate) fn write(&self, stream: Stream, bytes: &[u8]) {
        self.writer().write(stream, bytes, now_ms());
    }

    /// A line of Pliant's own.
    pub(crate) fn note(&self, text: &str) {
        self.writer().note(text, now_ms());
    }

    pub(crate) fn close(&self) {
        self.writer().close(now_ms());
    }

    pub(crate) fn watch(&self) -> watch::Receiver<LogEnd> {
        self.writer().watch()
    }

    fn writer(&self) -> MutexGuard<'_, LogWriter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Milliseconds since 1970, for log lines only.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// One of the two streams; any number may write to the same log.
#[derive(Clone, Debug)]
pub(super) struct GuestOutput {
    log: GuestLog,
    stream: Stream,
}

impl GuestOutput {
    pub(super) fn new(log: GuestLog, stream: Stream) -> Self {
        Self { log, stream }
    }
}

impl IsTerminal for GuestOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestOutput {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for GuestOutput {
    async fn ready(&mut self) {}
}

impl OutputStream for GuestOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log.write(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(limits::LOG_WRITE_BYTES)
    }
}

impl AsyncWrite for GuestOutput {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(limits::LOG_WRITE_BYTES)];
        self.log.write(self.stream, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
