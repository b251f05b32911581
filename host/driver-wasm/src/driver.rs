//! The driver trait for Wasm. Each verb is short: the work is in the modules.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pliant_driver::logs::LogReader;
use pliant_driver::{
    Artifact, Driver, DriverDescription, DriverError, EVENT_QUEUE_LIMIT, EventReceiver,
    ExecutionSpec, ExecutionState, ExitReport, LogRequest, Prepared, Progress, Recovered,
    Resources, Signal, Started, Usage,
};
use pliant_types::ExecutionId;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::compile::{ENGINE_VERSION, Preparer};
use crate::engine::{EngineSet, Ticker};
use crate::guest::linker;
use crate::run::{Core, Registry, launch};
use crate::settings::WasmSettings;

const NAME: &str = "wasm";

/// Runs Wasm executions inside this process. Made once per agent.
pub struct WasmDriver {
    core: Arc<Core>,
    description: DriverDescription,
    receiver: Mutex<Option<EventReceiver>>,
    runtime: Mutex<Option<Runtime>>,
    _ticker: Ticker,
}

impl std::fmt::Debug for WasmDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WasmDriver").field("description", &self.description).finish_non_exhaustive()
    }
}

impl WasmDriver {
    /// Reserves the pool, opens the code cache, starts the runtime for guests.
    pub fn new(settings: WasmSettings) -> Result<Self, DriverError> {
        let set = EngineSet::new(settings.pool).map_err(|error| failed("start", &error))?;
        let ticker = Ticker::start(&set.engine).map_err(|error| io_failed(&error))?;
        let linker = linker(&set.engine).map_err(|error| failed("link its interfaces", &error))?;
        let preparer = Preparer::new(
            set.engine.clone(),
            linker,
            &settings.cache_dir,
            settings.compiler.clone(),
        )?;
        let runtime = guest_runtime(settings.guest_threads).map_err(|error| io_failed(&error))?;
        let (events, receiver) = mpsc::channel(EVENT_QUEUE_LIMIT);
        let core = Core {
            settings,
            engine: set.engine.clone(),
            places: set.pool_size,
            preparer: Arc::new(preparer),
            registry: Registry::default(),
            events,
            guests: runtime.handle().clone(),
            tasks: TaskTracker::new(),
        };
        Ok(Self {
            core: Arc::new(core),
            description: describe(&set),
            receiver: Mutex::new(Some(receiver)),
            runtime: Mutex::new(Some(runtime)),
            _ticker: ticker,
        })
    }
}

fn guest_runtime(threads: usize) -> std::io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if threads > 0 {
        builder.worker_threads(threads);
    }
    builder.thread_name("wasm-guest").enable_all().build()
}

fn describe(set: &EngineSet) -> DriverDescription {
    let pool = set.pool_size.map_or("on-demand".to_owned(), |size| size.to_string());
    let attributes = [
        ("wasm.engine", format!("wasmtime {ENGINE_VERSION}")),
        ("wasm.pool", pool),
        ("wasm.worlds", "wasi:cli@0.2 wasi:http@0.2 wasi:cli@0.3 wasi:http@0.3 wasip1".to_owned()),
    ];
    let attributes: BTreeMap<String, String> =
        attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    DriverDescription {
        name: NAME,
        engine_version: ENGINE_VERSION.to_owned(),
        attributes,
        max_executions: set.pool_size.map(u64::from),
        notes: set.notes.clone(),
    }
}

fn failed(action: &'static str, error: &wasmtime::Error) -> DriverError {
    DriverError::Engine { action, message: format!("{error:#}") }
}

fn io_failed(error: &std::io::Error) -> DriverError {
    DriverError::Engine { action: "start its threads", message: error.to_string() }
}

#[async_trait]
impl Driver for WasmDriver {
    fn describe(&self) -> DriverDescription {
        self.description.clone()
    }

    fn take_events(&self) -> Option<EventReceiver> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn prepare(
        &self,
        artifact: &Artifact,
        progress: &dyn Progress,
    ) -> Result<Prepared, DriverError> {
        self.core.preparer.prepare(artifact, progress).await
    }

    async fn start(&self, spec: ExecutionSpec) -> Result<Started, DriverError> {
        launch(&self.core, spec).await
    }

    async fn probe(&self, execution: ExecutionId) -> Option<ExecutionState> {
        self.core.registry.get(execution).map(|live| live.state())
    }

    async fn signal(&self, execution: ExecutionId, _signal: Signal) -> Result<(), DriverError> {
        self.core.registry.known(execution)?;
        Err(DriverError::Unsupported { driver: NAME, verb: "signal" })
    }

    /// More of both at once; less memory than is in use only bounds what comes after.
    async fn resize(&self, execution: ExecutionId, to: Resources) -> Result<(), DriverError> {
        let live = self.core.registry.known(execution)?;
        live.setup.memory.set_limit(to.memory.bytes());
        live.setup.cpu.set_milli(to.cpu.millis());
        Ok(())
    }

    async fn swap(&self, spec: ExecutionSpec) -> Result<(), DriverError> {
        self.core.registry.known(spec.execution)?;
        Err(DriverError::Unsupported { driver: NAME, verb: "swap" })
    }

    /// Requests under way get `grace`. A command of WASI 0.2 cannot be told, so it ends at once.
    async fn stop(
        &self,
        execution: ExecutionId,
        grace: Duration,
    ) -> Result<ExitReport, DriverError> {
        let live = self.core.registry.known(execution)?;
        live.drain.cancel();
        if live.is_http {
            // Whether it ended in time or not, the next line settles it.
            let _in_time = tokio::time::timeout(grace, live.end()).await;
        }
        live.kill.cancel();
        live.end().await.ok_or_else(|| DriverError::Engine {
            action: "stop an execution",
            message: "its runtime is gone".to_owned(),
        })
    }

    async fn remove(&self, execution: ExecutionId) -> Result<(), DriverError> {
        self.core.registry.remove(execution)
    }

    /// Guests live in this process: after a restart of it there are none.
    async fn recover(&self, known: &[ExecutionId]) -> Vec<Recovered> {
        let one = |execution: &ExecutionId| {
            let execution = *execution;
            match self.core.registry.get(execution).map(|live| live.state()) {
                Some(ExecutionState::Running { attempt, ports }) => {
                    Recovered::Running { execution, attempt, ports }
                }
                Some(ExecutionState::Ended { .. }) | None => Recovered::Gone { execution },
            }
        };
        known.iter().map(one).collect()
    }

    async fn logs(&self, request: LogRequest) -> Result<LogReader, DriverError> {
        let LogRequest { execution, dir, from } = request;
        Ok(match self.core.registry.get(execution) {
            Some(live) if live.setup.spec.logs.dir == dir => {
                LogReader::following(dir, from, live.setup.log.watch())
            }
            Some(_) | None => LogReader::finished(dir, from),
        })
    }

    async fn usage(&self, execution: ExecutionId) -> Result<Usage, DriverError> {
        let live = self.core.registry.known(execution)?;
        Ok(live.ended().map_or_else(|| live.usage(), |report| report.usage))
    }

    async fn shutdown(&self) {
        for (_, live) in self.core.registry.running() {
            live.drain.cancel();
            live.kill.cancel();
        }
        self.core.tasks.close();
        self.core.tasks.wait().await;
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            // Dropping a runtime waits for its threads, which must not be done on one of another's.
            let joined = tokio::task::spawn_blocking(move || drop(runtime)).await;
            debug_assert!(joined.is_ok(), "dropping a runtime does not panic");
        }
    }
}

impl Drop for WasmDriver {
    fn drop(&mut self) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }
}
