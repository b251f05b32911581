//! The verb `start`: everything that can fail is done before the guest runs.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pliant_driver::logs::LogWriter;
use pliant_driver::{
    DriverError, DriverEvent, ExecutionSpec, ExitCause, ExitReport, PortProtocol, PortSpec, Started,
};
use pliant_types::{Attempt, ExecutionId};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wasmtime::Engine;

use super::live::{Live, Registry, usage};
use super::ports::{Ports, bind};
use super::{command, quota::Metered};
use crate::compile::{Preparer, Program};
use crate::guest::{GuestLog, GuestSetup, now_ms};
use crate::http::HttpServer;
use crate::outbound::OutboundRules;
use crate::settings::WasmSettings;

/// The parts of the driver that verbs and tasks share.
pub(crate) struct Core {
    pub(crate) settings: WasmSettings,
    pub(crate) engine: Engine,
    /// Instances that fit at the same time; `None`: no bound but memory.
    pub(crate) places: Option<u32>,
    pub(crate) preparer: Arc<Preparer>,
    pub(crate) registry: Registry,
    pub(crate) events: mpsc::Sender<DriverEvent>,
    /// Where guests run.
    pub(crate) guests: Handle,
    pub(crate) tasks: TaskTracker,
}

/// An attempt that is ready to run.
struct Launch {
    id: ExecutionId,
    attempt: Attempt,
    program: Arc<Program>,
    setup: Arc<GuestSetup>,
    ports: Ports,
}

pub(crate) async fn launch(core: &Arc<Core>, spec: ExecutionSpec) -> Result<Started, DriverError> {
    let id = spec.execution;
    core.registry.begin(id)?;
    let ready = match make_ready(core, spec) {
        Ok(ready) => ready,
        Err(error) => {
            core.registry.give_up(id);
            return Err(error);
        }
    };
    let ports = ready.ports.bound.clone();
    run(core, ready).await;
    Ok(Started { ports })
}

fn make_ready(core: &Core, spec: ExecutionSpec) -> Result<Launch, DriverError> {
    let digest = spec.digest;
    let program = core.preparer.get(digest).ok_or(DriverError::NotPrepared(digest))?;
    check_ports(&program, &spec.ports)?;
    if let Some(limit) = core.places.filter(|places| {
        core.registry.running().len() >= usize::try_from(*places).unwrap_or(usize::MAX)
    }) {
        return Err(DriverError::NoRoom { name: "wasm-instances", limit: limit.into() });
    }
    let ports = {
        let _within = core.guests.enter();
        bind(core.settings.bind_address, &spec.ports, &core.registry.addresses())?
    };
    let log = LogWriter::open(spec.logs.clone(), now_ms()).map_err(|source| DriverError::Io {
        action: "open the log in",
        path: spec.logs.dir.clone(),
        source,
    })?;
    let log = GuestLog::new(log);
    let is_granted = |name: &String| spec.grants.tcp_listen.contains(name);
    let listen = ports.bound.iter().filter(|port| is_granted(&port.name));
    let listen = listen.map(|port| port.address).collect();
    let policy = core.settings.outbound.clone();
    let rules = Arc::new(OutboundRules::new(&spec.grants, policy, listen, log.clone())?);
    let numbers: Vec<(String, u16)> =
        ports.bound.iter().map(|port| (port.name.clone(), port.address.port())).collect();
    let (id, attempt) = (spec.execution, spec.attempt);
    let setup = Arc::new(GuestSetup::new(core.engine.clone(), spec, rules, log, &numbers));
    // Opens every mount: what cannot be opened now is a failure to start.
    drop(setup.store()?);
    Ok(Launch { id, attempt, program, setup, ports })
}

fn check_ports(program: &Program, ports: &[PortSpec]) -> Result<(), DriverError> {
    let is_http = matches!(program, Program::Http(_));
    match ports.iter().find(|port| port.protocol == PortProtocol::Http) {
        Some(port) if !is_http => Err(DriverError::PortInvalid {
            name: port.name.clone(),
            reason: "its protocol is http, but this component is a command and answers no requests"
                .to_owned(),
        }),
        Some(_) | None => Ok(()),
    }
}

async fn run(core: &Arc<Core>, ready: Launch) {
    let Launch { id, attempt, program, setup, ports } = ready;
    let (ended, report) = watch::channel(None);
    let live = Arc::new(Live {
        attempt,
        ports: ports.bound.clone(),
        setup: setup.clone(),
        counters: Arc::default(),
        is_http: matches!(&*program, Program::Http(_)),
        drain: CancellationToken::new(),
        kill: CancellationToken::new(),
        report,
        told: CancellationToken::new(),
    });
    if let Some(before) = core.registry.finish(id, live.clone()) {
        // The end of the attempt before may be known already and not yet told.
        before.told.cancelled().await;
    }
    let started = DriverEvent::Started { execution: id, attempt, ports: live.ports.clone() };
    tell(core, started).await;
    let task_core = core.clone();
    core.tasks.spawn_on(
        async move {
            let cause = work(&program, ports, &live).await;
            setup.log.close();
            let report = ExitReport { cause, usage: usage(&setup, &live.counters) };
            ended.send_replace(Some(report.clone()));
            tell(&task_core, DriverEvent::Ended { execution: id, attempt, report }).await;
            live.told.cancel();
        },
        &core.guests,
    );
}

/// An agent that no longer listens is gone; nobody misses the event.
async fn tell(core: &Core, event: DriverEvent) {
    let _gone = core.events.send(event).await;
}

async fn work(program: &Arc<Program>, ports: Ports, live: &Live) -> ExitCause {
    let limit = live.setup.spec.timeouts.execution;
    let mut guest = pin!(guest(program, ports, live));
    let cut_off = tokio::select! {
        cause = &mut guest => return cause,
        () = live.kill.cancelled() => ExitCause::Stopped,
        after_ms = expiry(limit) => ExitCause::TimedOut { after_ms },
    };
    // A command ends by being dropped; an HTTP handler has tasks, which end by `kill`.
    live.kill.cancel();
    if live.is_http {
        guest.await;
    }
    cut_off
}

async fn guest(program: &Arc<Program>, ports: Ports, live: &Live) -> ExitCause {
    // Held while the guest may still want to listen there.
    let Ports { http, reserved: _reserved, .. } = ports;
    if let Program::Http(handler) = &**program {
        let (setup, counters) = (live.setup.clone(), live.counters.clone());
        let server = HttpServer::new(setup, handler, counters, live.kill.clone());
        return server.serve(http, live.drain.clone()).await;
    }
    let store = match live.setup.store() {
        Ok(store) => store,
        Err(error) => return ExitCause::Failed { message: error.to_string() },
    };
    let program = program.clone();
    let cpu = live.setup.cpu.clone();
    Metered::new(cpu, async move { command::run(&program, store).await }).await
}

async fn expiry(limit: Option<Duration>) -> u64 {
    match limit {
        Some(limit) => {
            tokio::time::sleep(limit).await;
            u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)
        }
        None => std::future::pending().await,
    }
}
