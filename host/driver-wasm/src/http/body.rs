//! The body of a guest's response, which knows whether its reader stayed to the end.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, DropGuard};
use wasmtime_wasi_http::{Error, WasiBody};

/// When it is dropped, `done` says so; when it was not read to its end, the guest is ended too:
/// nobody is left to read what it writes.
pub(super) struct GuardedBody {
    body: WasiBody,
    cancel: CancellationToken,
    ended: bool,
    _done: DropGuard,
}

impl GuardedBody {
    pub(super) fn new(body: WasiBody, cancel: CancellationToken, done: CancellationToken) -> Self {
        Self { body, cancel, ended: false, _done: done.drop_guard() }
    }
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.ended |= matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for GuardedBody {
    fn drop(&mut self) {
        if !self.ended && !self.body.is_end_stream() {
            self.cancel.cancel();
        }
    }
}
