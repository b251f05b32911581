//! Carries out steps: fetches, drivers, disk. One task for each; what becomes of it comes back as an
//! input. Decides nothing.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pliant_client::{Client, ClientError};
use pliant_driver::{Artifact, Driver, DriverError, Phase, Progress};
use pliant_types::{
    Attempt, Digest, ExecutionId, ExitReason, ExitStatus, Millis, assignment::AssignedExecution,
    codes::Code, report::Results,
};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Limits, archive,
    cache::{Cache, Pin},
    drivers::{Drivers, chain, exit_of},
    logs::LogIndex,
    mounts::MountRoots,
    places::{Places, remove_file},
    spec,
};
use crate::logic::{Event, Input, Step};

/// Pause before a fetch or an upload is tried again; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What the tasks share.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) drivers: Drivers,
    pub(super) cache: Arc<Cache>,
    pub(super) places: Arc<Places>,
    pub(super) mounts: MountRoots,
    pub(super) limits: Limits,
    pub(super) client: Client,
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    pub(super) index: LogIndex,
    pub(super) live: Mutex<BTreeMap<ExecutionId, Live>>,
}

/// What belongs to an execution until it is removed.
#[derive(Debug)]
pub(super) struct Live {
    /// Ends what is done for it.
    cancel: CancellationToken,
    pin: Option<Arc<Pin>>,
    /// What the version needs that may follow; the other one stays until it does.
    next: Option<Arc<Pin>>,
}

/// Whose artifact is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The attempt's.
    Attempt,
    /// The next version's.
    Next,
}

impl Worker {
    /// Begins a step.
    pub(super) fn carry_out(self: &Arc<Self>, step: Step) {
        let worker = Arc::clone(self);
        match step {
            Step::Prepare { execution, attempt, engine, digest } => {
                self.spawn(execution, async move {
                    let done = worker.prepare(execution, attempt, &engine, digest).await;
                    worker.event(execution, done).await;
                });
            }
            Step::Start { assigned, attempt } => {
                self.spawn(assigned.execution, async move {
                    if let Err(exit) = worker.start(&assigned, attempt).await {
                        worker.event(assigned.execution, Event::Failed { attempt, exit }).await;
                    }
                });
            }
            Step::PrepareNext { execution, version, engine, digest } => {
                self.spawn(execution, async move {
                    let done = worker.prepare_next(execution, version, &engine, digest).await;
                    worker.event(execution, done).await;
                });
            }
            Step::Resize { execution, engine, attempt, to } => {
                self.spawn(execution, async move {
                    let done = match worker.resize(execution, &engine, to).await {
                        Ok(()) => Event::Resized { attempt },
                        Err(why) => Event::ResizeRefused { attempt, why },
                    };
                    worker.event(execution, done).await;
                });
            }
            Step::Stop { execution, engine, attempt, grace, then: _ } => {
                self.spawn(execution, async move {
                    if let Some(exit) = worker.stop(execution, &engine, grace).await {
                        worker.event(execution, Event::Ended { attempt, exit }).await;
                    }
                });
            }
            Step::Collect { execution, attempt } => {
                self.spawn(execution, async move {
                    let event = match worker.collect(execution, attempt).await {
                        Ok(results) => Event::Collected { attempt, results },
                        Err(exit) => Event::Failed { attempt, exit },
                    };
                    worker.event(execution, event).await;
                });
            }
            Step::Remove { execution, engine } => {
                self.end(execution);
                self.tasks.spawn(async move { worker.remove(execution, &engine).await });
            }
        }
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what is done for an execution and lets its artifact go.
    fn end(&self, id: ExecutionId) {
        let ended = self.live().remove(&id);
        if let Some(ended) = ended {
            ended.cancel.cancel();
        }
    }

    fn spawn(&self, id: ExecutionId, work: impl Future<Output = ()> + Send + 'static) {
        let cancel = {
            let mut live = self.live();
            let one = live.entry(id).or_insert_with(|| Live {
                cancel: self.stop.child_token(),
                pin: None,
                next: None,
            });
            one.cancel.clone()
        };
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = work => {}
            }
        });
    }

    async fn event(&self, id: ExecutionId, event: Event) {
        // The receiver is gone only when the agent stops.
        let _ = self.inputs.send(Input::Execution(id, event)).await;
    }

    async fn prepare(
        &self,
        id: ExecutionId,
        attempt: Attempt,
        engine: &str,
        digest: Digest,
    ) -> Event {
        let told = Told { id, attempt: Some(attempt), inputs: self.inputs.clone() };
        match self.make_ready(&told, engine, digest, Whose::Attempt).await {
            Ok(()) => Event::Prepared { attempt },
            Err(exit) => Event::Failed { attempt, exit },
        }
    }

    pub(super) async fn make_ready(
        &self,
        told: &Told,
        engine: &str,
        digest: Digest,
        whose: Whose,
    ) -> Result<(), ExitStatus> {
        let driver = self.drivers.get(engine)?;
        let pin = Arc::new(self.cache.pin(digest));
        if let Some(live) = self.live().get_mut(&told.id) {
            match whose {
                Whose::Attempt => (live.pin, live.next) = (Some(Arc::clone(&pin)), None),
                Whose::Next => live.next = Some(Arc::clone(&pin)),
            }
        }
        match self.prepare_once(told, &*driver, &pin, digest).await? {
            Err(DriverError::DigestMismatch { .. }) => {
                // The file was changed behind the agent's back: once more with a new one.
                pin.spoiled();
                let again = self.prepare_once(told, &*driver, &pin, digest).await?;
                again.map_err(|error| exit_of(&error))
            }
            other => other.map_err(|error| exit_of(&error)),
        }
    }

    async fn prepare_once(
        &self,
        told: &Told,
        driver: &dyn Driver,
        pin: &Pin,
        digest: Digest,
    ) -> Result<Result<(), DriverError>, ExitStatus> {
        let path = self.patient(told, "fetch the artifact", || pin.file(&self.client)).await?;
        let prepared = driver.prepare(&Artifact { digest, path }, told).await;
        Ok(prepared.map(|_| ()))
    }

    /// Repeats what fails only because the controller cannot be asked now.
    async fn patient<T, F, W>(&self, told: &Told, what: &str, work: W) -> Result<T, ExitStatus>
    where
        F: Future<Output = Result<T, ClientError>>,
        W: Fn() -> F,
    {
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match work().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if !error.is_transient() {
                return Err(exit_of_client(what, &error));
            }
            told.say(format!("cannot {what} yet: {error}"));
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn start(
        &self,
        assigned: &AssignedExecution,
        attempt: Attempt,
    ) -> Result<(), ExitStatus> {
        let id = assigned.execution;
        let driver = self.drivers.get(&assigned.template.engine)?;
        let (places, mounts, copy) =
            (Arc::clone(&self.places), self.mounts.clone(), assigned.clone());
        let spec = on_disk(move || {
            let spec = spec::resolve(&copy, attempt, &mounts, &places)?;
            places
                .ready(id, attempt)
                .map_err(|error| disk_failed("make its directories", &error))?;
            Ok(spec)
        })
        .await?;
        driver.start(spec).await.map_err(|error| exit_of(&error))?;
        self.index.started(id, attempt);
        Ok(())
    }

    /// The exit, if the driver says it here and not by an event.
    async fn stop(&self, id: ExecutionId, engine: &str, grace: Millis) -> Option<ExitStatus> {
        let driver = self.drivers.get(engine).ok()?;
        match driver.stop(id, Duration::from_millis(grace.get())).await {
            Ok(report) => Some(report.cause.status()),
            Err(DriverError::UnknownExecution(_)) => Some(ExitStatus::of(ExitReason::Stopped)),
            Err(error) => {
                tracing::error!(execution = %id, error = chain(&error), "it cannot be stopped");
                None
            }
        }
    }

    async fn collect(
        &self,
        id: ExecutionId,
        attempt: Attempt,
    ) -> Result<Option<Results>, ExitStatus> {
        let told = Told { id, attempt: Some(attempt), inputs: self.inputs.clone() };
        let (output, into, limits) =
            (self.places.output(id), self.places.results(id), self.limits.clone());
        let path = into.clone();
        let archived = on_disk(move || {
            archive::archive(&output, &into, &limits).map_err(|error| {
                let words = format!("its results are not kept: {}", chain(&error));
                ExitStatus::with_detail(ExitReason::HostFailure, &words)
            })
        })
        .await?;
        if archived.entries == 0 {
            return Ok(None);
        }
        told.say(format!("sends {} files, {} bytes of results", archived.files, archived.bytes));
        let view = self.patient(&told, "send its results", || self.client.upload(&path)).await?;
        if let Err(error) = remove_file(&path) {
            tracing::warn!(execution = %id, %error, "an archive that was sent stays on the disk");
        }
        let (digest, size_bytes) = (view.digest, view.size_bytes);
        Ok(Some(Results { digest, size_bytes, files: archived.files }))
    }

    /// Lets the driver forget it; tries until it does, for the controller waits for that.
    async fn remove(&self, id: ExecutionId, engine: &str) {
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.remove_once(id, engine).await {
            tracing::error!(execution = %id, error = chain(&error), "it cannot be removed");
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let places = Arc::clone(&self.places);
        let retired = on_disk(move || {
            places.retire(id).map_err(|error| disk_failed("remove its directories", &error))
        });
        if let Err(exit) = retired.await {
            tracing::warn!(execution = %id, %exit, "its directories stay");
        }
        self.event(id, Event::Removed).await;
    }

    async fn remove_once(&self, id: ExecutionId, engine: &str) -> Result<(), DriverError> {
        // An engine that this host has no more has nothing of it that runs.
        let Ok(driver) = self.drivers.get(engine) else { return Ok(()) };
        match driver.remove(id).await {
            Err(DriverError::UnknownExecution(_)) => Ok(()),
            Err(DriverError::StillRunning(_)) => {
                driver.stop(id, Duration::ZERO).await?;
                driver.remove(id).await
            }
            other => other,
        }
    }
}

/// Runs what blocks on the disk beside the runtime's threads.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ExitStatus> + Send + 'static,
) -> Result<T, ExitStatus> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => {
            let words = format!("a task of the agent ended early: {error}");
            Err(ExitStatus::with_detail(ExitReason::HostFailure, &words))
        }
    }
}

fn disk_failed(what: &str, error: &std::io::Error) -> ExitStatus {
    ExitStatus::with_detail(ExitReason::HostFailure, &format!("cannot {what}: {error}"))
}

/// A refusal that will not pass, as an exit.
fn exit_of_client(what: &str, error: &ClientError) -> ExitStatus {
    let reason = match error.code() {
        Code::ArtifactNotFound | Code::DigestMismatch | Code::TooLarge | Code::ArtifactInvalid => {
            ExitReason::ArtifactInvalid
        }
        _ => ExitReason::HostFailure,
    };
    ExitStatus::with_detail(reason, &format!("cannot {what}: {}", chain(error)))
}

/// Tells what an attempt does now.
pub(super) struct Told {
    pub(super) id: ExecutionId,
    /// Nothing while another one runs, whose words are shown.
    pub(super) attempt: Option<Attempt>,
    pub(super) inputs: mpsc::Sender<Input>,
}

impl Told {
    fn say(&self, detail: String) {
        let Some(attempt) = self.attempt else { return };
        let input = Input::Progress { execution: self.id, attempt, detail };
        // Words may be lost when much is going on; states may not, and go another way.
        let _ = self.inputs.try_send(input);
    }
}

impl Progress for Told {
    fn phase(&self, phase: Phase) {
        let words = match phase {
            Phase::Verifying => "verifying the artifact",
            Phase::Inspecting => "inspecting the artifact",
            Phase::Compiling => "compiling",
            Phase::Loading => "loading",
        };
        self.say(words.to_owned());
    }
}
