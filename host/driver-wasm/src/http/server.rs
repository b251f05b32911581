//! Listens for one execution: accepts connections, speaks HTTP/1.1 and HTTP/2, drains at the end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use pliant_driver::ExitCause;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wasmtime_wasi_http::WasiBody;

use super::counters::HttpCounters;
use super::instance::clone_pre;
use super::instances::Instances;
use super::work::Afterwards;
use crate::compile::HttpProgram;
use crate::guest::GuestSetup;
use crate::limits;

/// Wait after a failed accept (no free file, most likely), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct HttpServer {
    pub(super) setup: Arc<GuestSetup>,
    pub(super) counters: Arc<HttpCounters>,
    pub(super) instances: Arc<Instances>,
    /// Places for requests that are in a guest.
    pub(super) places: Arc<Semaphore>,
    /// Places for requests that wait for one.
    pub(super) queue: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Ends everything at once.
    kill: CancellationToken,
}

impl HttpServer {
    pub(crate) fn new(
        setup: Arc<GuestSetup>,
        handler: &HttpProgram,
        counters: Arc<HttpCounters>,
        kill: CancellationToken,
    ) -> Arc<Self> {
        let settings = setup.spec.http;
        let places = places(settings.concurrency, handler.memory_bytes, setup.memory.limit());
        let tasks = TaskTracker::new();
        let pre = clone_pre(&handler.pre);
        Arc::new(Self {
            instances: Arc::new(Instances::new(setup.clone(), pre, counters.clone())),
            places: Arc::new(Semaphore::new(places)),
            queue: Arc::new(Semaphore::new(settings.queue)),
            connections: Arc::new(Semaphore::new(limits::HTTP_CONNECTIONS)),
            setup,
            counters,
            tasks,
            kill,
        })
    }

    /// Serves until `drain`, then ends what is under way; after `kill` that takes no time. When it
    /// returns, nothing of it runs any more.
    pub(crate) async fn serve(
        self: Arc<Self>,
        listeners: Vec<TcpListener>,
        drain: CancellationToken,
    ) -> ExitCause {
        let idle_end = CancellationToken::new();
        if let Some(reuse) = self.setup.spec.http.reuse {
            let (instances, end) = (self.instances.clone(), idle_end.clone());
            self.tasks.spawn(async move { instances.reap(reuse.max_idle, end).await });
        }
        for listener in listeners {
            self.tasks.spawn(self.clone().accept(listener, drain.clone()));
        }
        tokio::select! { () = drain.cancelled() => {}, () = self.kill.cancelled() => {} }
        idle_end.cancel();
        self.instances.close();
        self.tasks.close();
        self.tasks.wait().await;
        ExitCause::Stopped
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, drain: CancellationToken) {
        loop {
            let free = self.connections.clone().acquire_owned();
            let next = async { (free.await, listener.accept().await) };
            let (permit, accepted) = tokio::select! {
                next = next => next,
                () = drain.cancelled() => return,
                () = self.kill.cancelled() => return,
            };
            match accepted {
                Ok((stream, _peer)) => {
                    let connection = self.clone().converse(stream, drain.clone());
                    let kill = self.kill.clone();
                    self.tasks.spawn(async move {
                        let _permit = permit;
                        tokio::select! { () = connection => {}, () = kill.cancelled() => {} }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn converse(self: Arc<Self>, stream: TcpStream, drain: CancellationToken) {
        // Without it small answers wait for acknowledgements; slower, not wrong.
        let _slower = stream.set_nodelay(true);
        let mut protocol = auto::Builder::new(Tracked(self.tasks.clone()));
        protocol
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HTTP_HEAD)
            .max_buf_size(limits::HTTP_HEAD_BYTES);
        protocol
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(limits::HTTP_HEAD_BYTES).unwrap_or(u32::MAX))
            .max_concurrent_streams(limits::HTTP2_STREAMS);
        let service = service_fn(move |request| self.clone().respond(request));
        let connection = protocol.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = drain.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            // The peer's doing, most of the time.
            tracing::debug!(error, "a connection ended badly");
        }
    }

    pub(super) fn afterwards(&self) -> Afterwards {
        Afterwards { tasks: self.tasks.clone(), kill: self.kill.clone() }
    }

    async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<WasiBody>, Infallible> {
        Ok(self.answer(request).await)
    }
}

/// How many instances may be at work: as many as were asked for and have memory. An instance is
/// counted with a quarter more than it begins with, so that it can grow a little.
fn places(concurrency: usize, instance_bytes: u64, limit_bytes: u64) -> usize {
    let each = instance_bytes.saturating_add(instance_bytes / 4).max(1);
    let fit = usize::try_from(limit_bytes / each).unwrap_or(usize::MAX);
    concurrency.min(fit).max(1)
}

/// Runs the tasks of HTTP/2 streams where they are waited for.
#[derive(Clone)]
struct Tracked(TaskTracker);

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_instances_as_have_memory() {
        assert_eq!(places(128, 1 << 20, 64 << 20), 51);
        assert_eq!(places(16, 1 << 20, 64 << 20), 16);
        assert_eq!(places(16, 128 << 20, 64 << 20), 1, "the first one says that it does not fit");
        assert_eq!(places(0, 0, 0), 1);
    }
}
