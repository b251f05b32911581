//! The instances of one execution: a fresh one for each request, or those that are kept for the
//! next ones, each with one request at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pliant_driver::ExitCause;
use tokio_util::sync::CancellationToken;
use wasmtime_wasi_http::handler::ProxyPre;

use super::counters::HttpCounters;
use super::instance::Instance;
use crate::guest::{GuestSetup, GuestState};
use crate::limits;

/// How often at most idle instances are looked at.
const REAP_AT_MOST_EVERY: Duration = Duration::from_millis(10);

pub(super) struct Instances {
    pub(super) setup: Arc<GuestSetup>,
    pre: ProxyPre<GuestState>,
    counters: Arc<HttpCounters>,
    idle: Mutex<Idle>,
}

/// The one that waited shortest is used first, so that those beyond the need grow old.
#[derive(Default)]
struct Idle {
    kept: Vec<Kept>,
    closed: bool,
}

/// An instance with its history.
pub(super) struct Kept {
    pub(super) instance: Instance,
    served: u64,
    since: Instant,
}

impl Instances {
    pub(super) fn new(
        setup: Arc<GuestSetup>,
        pre: ProxyPre<GuestState>,
        counters: Arc<HttpCounters>,
    ) -> Self {
        Self { setup, pre, counters, idle: Mutex::default() }
    }

    /// An instance for a request.
    pub(super) async fn take(&self) -> Result<Kept, ExitCause> {
        let idle = self.idle().kept.pop();
        match idle {
            Some(kept) => Ok(kept),
            None => {
                let instance = Instance::open(&self.setup, &self.pre).await?;
                Ok(Kept { instance, served: 0, since: Instant::now() })
            }
        }
    }

    /// An instance whose request is done; it is kept if that was asked for.
    pub(super) fn give_back(&self, mut kept: Kept) {
        kept.served += 1;
        kept.since = Instant::now();
        let may_stay =
            self.setup.spec.http.reuse.is_some_and(|reuse| kept.served < reuse.max_requests);
        let mut idle = self.idle();
        if may_stay && !idle.closed {
            idle.kept.push(kept);
        }
    }

    /// Removes instances that waited too long, until `end`.
    pub(super) async fn reap(&self, max_idle: Duration, end: CancellationToken) {
        let mut rounds = tokio::time::interval((max_idle / 2).max(REAP_AT_MOST_EVERY));
        loop {
            tokio::select! { _ = rounds.tick() => {}, () = end.cancelled() => return }
            let now = Instant::now();
            let old = |kept: &mut Kept| now.saturating_duration_since(kept.since) >= max_idle;
            let expired: Vec<Kept> = self.idle().kept.extract_if(.., old).collect();
            drop(expired);
        }
    }

    /// Nothing is kept any more.
    pub(super) fn close(&self) {
        let mut idle = self.idle();
        idle.closed = true;
        idle.kept.clear();
    }

    /// A request that went wrong in the guest, in the log of its task.
    pub(super) fn note(&self, cause: &ExitCause) {
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
