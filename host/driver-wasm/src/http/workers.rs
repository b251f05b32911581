//! Who handles a request: a fresh instance each, or one that is kept for several, one at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::channel::oneshot;
use http::{Request, Response};
use pliant_driver::ExitCause;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wasmtime_wasi_http::WasiBody;
use wasmtime_wasi_http::handler::ProxyPre;

use super::counters::HttpCounters;
use super::instance::{Answer, AnswerError, Instance};
use crate::guest::{GuestSetup, GuestState};
use crate::limits;
use crate::run::Metered;

/// A request on its way into a guest.
pub(super) struct Job {
    request: Request<WasiBody>,
    reply: oneshot::Sender<Answer>,
    /// The client is gone or its time is over.
    cancel: CancellationToken,
    /// The response was read or given up.
    body_done: CancellationToken,
    /// Held while the guest works on it.
    _place: OwnedSemaphorePermit,
}

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum NoAnswer {
    Trapped,
    Silent,
    Refused(String),
    NoInstance(String),
}

pub(super) struct Workers {
    shared: Arc<Shared>,
}

struct Shared {
    setup: Arc<GuestSetup>,
    pre: ProxyPre<GuestState>,
    counters: Arc<HttpCounters>,
    tasks: TaskTracker,
    /// Ends every worker at once.
    end: CancellationToken,
    idle: Mutex<Idle>,
}

/// Instances that wait for a request; the one that waited shortest is used first, so that those
/// beyond the need time out.
#[derive(Default)]
struct Idle {
    waiting: Vec<(u64, oneshot::Sender<Job>)>,
    next_number: u64,
    closed: bool,
}

impl Workers {
    pub(super) fn new(
        setup: Arc<GuestSetup>,
        pre: ProxyPre<GuestState>,
        counters: Arc<HttpCounters>,
        tasks: TaskTracker,
        end: CancellationToken,
    ) -> Self {
        let idle = Mutex::default();
        Self { shared: Arc::new(Shared { setup, pre, counters, tasks, end, idle }) }
    }

    /// Instances that wait for a request end; those at work end with it.
    pub(super) fn end_idle(&self) {
        let mut idle = self.shared.idle();
        idle.closed = true;
        idle.waiting.clear();
    }

    /// The response of a guest, and what to cancel when its body is done.
    pub(super) async fn run(
        &self,
        request: Request<WasiBody>,
        cancel: CancellationToken,
        place: OwnedSemaphorePermit,
    ) -> Result<(Response<WasiBody>, CancellationToken), NoAnswer> {
        let (reply, answered) = oneshot::channel();
        let body_done = CancellationToken::new();
        let job = Job { request, reply, cancel, body_done: body_done.clone(), _place: place };
        let failed = self.shared.dispatch(job);
        match answered.await {
            Ok(Ok(response)) => Ok((response, body_done)),
            Ok(Err(AnswerError::Refused(error))) => Err(NoAnswer::Refused(error)),
            Ok(Err(AnswerError::Silent)) => Err(NoAnswer::Silent),
            // The worker ended without a reply; it says why, unless it was ended itself.
            Err(_dropped) => Err(failed.await.unwrap_or(NoAnswer::Silent)),
        }
    }
}

impl Shared {
    /// Hands a job to an idle instance or a new one. What comes back tells why a new one failed.
    fn dispatch(self: &Arc<Self>, job: Job) -> oneshot::Receiver<NoAnswer> {
        let (fail, failed) = oneshot::channel();
        let mut job = job;
        loop {
            let Some((_, worker)) = self.idle().waiting.pop() else { break };
            match worker.send(job) {
                Ok(()) => return failed,
                Err(back) => job = back,
            }
        }
        let shared = self.clone();
        let work = Metered::new(self.setup.cpu.clone(), async move {
            if let Err(why) = shared.work(job).await {
                // The request may have had its answer already.
                let _answered = fail.send(why);
            }
        });
        let end = self.end.clone();
        self.tasks.spawn(async move {
            tokio::select! { () = work => {}, () = end.cancelled() => {} }
        });
        failed
    }

    async fn work(&self, mut job: Job) -> Result<(), NoAnswer> {
        let opened = Instance::open(&self.setup, &self.pre).await;
        let mut instance = opened.map_err(|cause| {
            self.note(&cause);
            NoAnswer::NoInstance(cause.to_string())
        })?;
        let mut served = 0;
        loop {
            self.handle(&mut instance, job).await?;
            served += 1;
            let Some(reuse) = self.setup.spec.http.reuse else { return Ok(()) };
            if served >= reuse.max_requests {
                return Ok(());
            }
            match self.next_job(reuse.max_idle).await {
                Some(next) => job = next,
                None => return Ok(()),
            }
        }
    }

    async fn handle(&self, instance: &mut Instance, job: Job) -> Result<(), NoAnswer> {
        let Job { request, reply, cancel, body_done, _place } = job;
        let too_late = async {
            body_done.cancelled().await;
            tokio::time::sleep(limits::AFTER_RESPONSE).await;
        };
        let handled = tokio::select! {
            handled = instance.handle(request, reply) => handled,
            () = cancel.cancelled() => return Err(NoAnswer::Silent),
            () = too_late => return Err(NoAnswer::Silent),
        };
        handled.map_err(|cause| {
            self.note(&cause);
            NoAnswer::Trapped
        })
    }

    async fn next_job(&self, max_idle: Duration) -> Option<Job> {
        let (sender, mut receiver) = oneshot::channel();
        let number = {
            let mut idle = self.idle();
            if idle.closed {
                return None;
            }
            let number = idle.next_number;
            idle.next_number += 1;
            idle.waiting.push((number, sender));
            number
        };
        if let Ok(job) = tokio::time::timeout(max_idle, &mut receiver).await {
            return job.ok();
        }
        let was_waiting = {
            let mut idle = self.idle();
            let before = idle.waiting.len();
            idle.waiting.retain(|(waiting, _)| *waiting != number);
            idle.waiting.len() < before
        };
        // Somebody took the sender meanwhile: then a job is on its way.
        if was_waiting { None } else { receiver.await.ok() }
    }

    /// The trap of a request, in the log of its task.
    fn note(&self, cause: &ExitCause) {
        if self.counters.add_trap() >= limits::TRAPS_NOTED {
            return;
        }
        self.setup.log.note(&format!("a request handler {cause}"));
        if let ExitCause::Trap { backtrace, .. } | ExitCause::OutOfMemory { backtrace, .. } = cause
        {
            for frame in backtrace {
                self.setup.log.note(&format!("    {frame}"));
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
