//! Keeps a future within a processor share: measures the thread's processor time of each poll and
//! pauses when the share is used up. Epoch yields bound the length of a poll.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Sleep, sleep};

use crate::accounts::CpuAccount;

pub(crate) struct Metered<T> {
    work: Pin<Box<dyn Future<Output = T> + Send>>,
    account: Arc<CpuAccount>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<T> Metered<T> {
    pub(crate) fn new(
        account: Arc<CpuAccount>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        Self { work: Box::pin(work), account, pause: None }
    }
}

impl<T> Future for Metered<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match self.account.wait(Instant::now()) {
                Some(wait) => self.pause = Some(Box::pin(sleep(wait))),
                None => break,
            }
        }
        let before = thread_time();
        let polled = self.work.as_mut().poll(cx);
        self.account.book(thread_time().saturating_sub(before));
        polled
    }
}

/// Processor time that this thread has used.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanoseconds)
}
