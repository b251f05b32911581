//! The agent's side of `up`: one Wasm driver, one agent, both in this process.

use crate::{
    args::{Global, Up},
    fail::{Failure, chain},
};
use anyhow::Context as _;
use pliant_agent::{Agent, AgentError, Config};
use pliant_driver::Driver;
use pliant_driver_wasm::{AddressRange, CompilerCommand, OutboundPolicy, WasmDriver, WasmSettings};
use pliant_journal::OpenError;
use pliant_types::codes::Code;
use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

/// Executions of a host whose engine sets no bound; P11 of the performance chapter.
const MAX_EXECUTIONS: u64 = 10_000;

/// The hidden command's process: compiles one component within limits.
pub(crate) fn compile_worker() -> u8 {
    pliant_driver_wasm::compile_worker()
}

/// Starts the driver and the agent against the controller at `address`.
pub(crate) async fn start(
    global: &Global,
    asked: &Up,
    (address, token): (SocketAddr, &str),
) -> Result<Agent, Failure> {
    let dir = global.data_dir.join("agent");
    let driver = driver(asked, &dir, address)?;
    let offered = driver.describe();
    for note in &offered.notes {
        tracing::info!(note, "wasm engine");
    }
    let controller = format!("http://{address}");
    let mut config = Config::new(dir, controller, token.to_owned(), asked.host_name.clone());
    config.labels = asked.label.iter().cloned().collect();
    config.mount_roots.clone_from(&asked.allow_mount);
    config.cpu = asked.cpu;
    config.memory = asked.memory;
    let most = offered.max_executions.unwrap_or(MAX_EXECUTIONS);
    config.max_executions = u32::try_from(most).unwrap_or(u32::MAX).max(1);
    let drivers: BTreeMap<String, Arc<dyn Driver>> = BTreeMap::from([("wasm".to_owned(), driver)]);
    let agent = Agent::start(config, drivers).await.map_err(|error| failed(&error))?;
    match agent.ready().await {
        Ok(()) => Ok(agent),
        Err(error) => Err(match agent.stop().await {
            Err(cause) => failed(&cause),
            Ok(()) => failed(&error),
        }),
    }
}

fn failed(error: &AgentError) -> Failure {
    let words = chain(error);
    match error {
        AgentError::NotTaken { ledger, .. } => Failure::new(Code::WrongState, words).hint(format!(
            "bring back the journal that belongs to the ledger (a copy, or its aside/ directory); or give \
             up what the ledger remembers: move {} aside, and the host is registered anew",
            ledger.display()
        )),
        AgentError::Ledger { source: OpenError::Locked { .. }, .. } => {
            Failure::new(Code::WrongState, words).hint(
                "another pliant uses this data directory; stop it, or name another with --data-dir",
            )
        }
        AgentError::Setting { .. } => Failure::new(Code::BodyInvalid, words)
            .hint("correct the flag that sets it; the help of `pliant up` lists them"),
        AgentError::Directory { .. } => Failure::new(Code::FileUnusable, words),
        _ => Failure::new(Code::Internal, words)
            .hint("look at the lines above; the agent did not start"),
    }
}

fn driver(
    asked: &Up,
    dir: &std::path::Path,
    controller: SocketAddr,
) -> Result<Arc<dyn Driver>, Failure> {
    let program = std::env::current_exe().context("the own program cannot be found")?;
    let compiler = CompilerCommand { program, args: vec!["compile-worker".to_owned()] };
    let mut settings = WasmSettings::new(dir.join("cache").join("wasm"), compiler);
    let allowed: Result<Vec<AddressRange>, _> =
        asked.allow_range.iter().map(|range| range.parse()).collect();
    let allowed = allowed.map_err(|words| Failure::new(Code::BodyInvalid, words))?;
    settings.outbound = OutboundPolicy { allowed, control: vec![controller] };
    let driver = WasmDriver::new(settings).map_err(|error| {
        Failure::new(Code::Internal, format!("the Wasm engine does not start: {}", chain(&error)))
    })?;
    Ok(Arc::new(driver))
}

/// Stops the agent in order; its Wasm tasks come back with the next start.
pub(crate) async fn stop(agent: Agent) {
    if let Err(error) = agent.stop().await {
        tracing::error!(error = chain(&error), "the agent had failed");
    }
}
