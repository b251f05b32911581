//! A request at work: the guest is polled by whoever waits for its answer, first for the head, then
//! with each piece of the body. No task and no thread lies between the connection and the guest.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::channel::oneshot;
use http::{Request, Response};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wasmtime_wasi_http::{Error, WasiBody};

use super::instance::{Answer, AnswerError};
use super::instances::Instances;
use crate::limits;
use crate::run::Metered;

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum NoAnswer {
    Trapped,
    Silent,
    Refused(String),
    NoInstance(String),
}

/// Where what a guest does after its response goes on.
#[derive(Clone)]
pub(super) struct Afterwards {
    pub(super) tasks: TaskTracker,
    pub(super) kill: CancellationToken,
}

type Outcome = Result<(), NoAnswer>;

/// The guest's side of a request. Dropping it ends the guest.
struct Work {
    guest: Metered<Outcome>,
    afterwards: Afterwards,
    /// Held while the guest works.
    place: OwnedSemaphorePermit,
}

/// Runs a request in an instance until there is the head of its response.
pub(super) async fn answer(
    instances: Arc<Instances>,
    request: Request<WasiBody>,
    place: OwnedSemaphorePermit,
    afterwards: Afterwards,
) -> Result<Response<DrivenBody>, NoAnswer> {
    let (reply, mut answered) = oneshot::channel();
    let cpu = instances.setup.cpu.clone();
    let mut guest = Metered::new(cpu, handle(instances, request, reply));
    let first = std::future::poll_fn(|cx| {
        // The guest first: it is what makes the answer.
        let ended = Pin::new(&mut guest).poll(cx);
        match Pin::new(&mut answered).poll(cx) {
            Poll::Ready(answer) => Poll::Ready((answer.ok(), ended)),
            Poll::Pending if ended.is_ready() => Poll::Ready((None, ended)),
            Poll::Pending => Poll::Pending,
        }
    });
    let (answer, ended) = first.await;
    let response = match (answer, ended) {
        (Some(Ok(response)), Poll::Ready(_)) => return Ok(response.map(DrivenBody::alone)),
        (Some(Ok(response)), Poll::Pending) => response,
        (Some(Err(AnswerError::Refused(error))), _) => return Err(NoAnswer::Refused(error)),
        (_, Poll::Ready(Err(why))) => return Err(why),
        (Some(Err(AnswerError::Silent)) | None, _) => return Err(NoAnswer::Silent),
    };
    let work = Work { guest, afterwards, place };
    Ok(response.map(|body| DrivenBody { body, work: Some(work), ended: false }))
}

async fn handle(
    instances: Arc<Instances>,
    request: Request<WasiBody>,
    reply: oneshot::Sender<Answer>,
) -> Outcome {
    let mut kept = instances.take().await.map_err(|cause| {
        instances.note(&cause);
        NoAnswer::NoInstance(cause.to_string())
    })?;
    kept.instance.handle(request, reply).await.map_err(|cause| {
        instances.note(&cause);
        NoAnswer::Trapped
    })?;
    instances.give_back(kept);
    Ok(())
}

/// The body of a response, which polls the guest that writes it.
pub(super) struct DrivenBody {
    body: WasiBody,
    work: Option<Work>,
    ended: bool,
}

impl DrivenBody {
    fn alone(body: WasiBody) -> Self {
        Self { body, work: None, ended: false }
    }
}

impl Body for DrivenBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(work) = &mut self.work
            && Pin::new(&mut work.guest).poll(cx).is_ready()
        {
            // How it ended is in the log, and in the body if that was cut short.
            self.work = None;
        }
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

impl Drop for DrivenBody {
    /// A guest whose response was read to its end may go on for a while; one whose reader went
    /// away is ended, as nobody is left to read what it writes.
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        if !self.ended && !self.body.is_end_stream() {
            return;
        }
        let Work { guest, afterwards: Afterwards { tasks, kill }, place } = work;
        tasks.spawn(async move {
            let _place = place;
            let rest = tokio::time::timeout(limits::AFTER_RESPONSE, guest);
            tokio::select! { _ended = rest => {}, () = kill.cancelled() => {} }
        });
    }
}
