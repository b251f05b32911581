//! Room for a task that is somewhere already: to grow where it is, or for another in its stead.

use super::{Ask, eligible};
use crate::{
    State,
    state::{Execution, Host, HostLoad},
};
use alloc::{format, string::String};
use pliant_types::{Cpu, Effective, Memory, codes::WaitCode};

/// Whether an execution can take the size of a version where it is.
///
/// # Errors
/// What its host lacks, in words with numbers.
pub(crate) fn grows(
    state: &State,
    effective: &Effective,
    execution: &Execution,
) -> Result<(), String> {
    let Some((host, load)) = without(state, execution) else {
        return Err(format!("host {} is not known", execution.host));
    };
    let cpu = host.description.cpu.millis().saturating_sub(load.cpu.millis());
    let memory = host.description.memory.bytes().saturating_sub(load.memory.bytes());
    let wants = effective.cpu() > execution.cpu || effective.memory() > execution.memory;
    let fits = effective.cpu().max(execution.cpu).millis() <= cpu
        && effective.memory().max(execution.memory).bytes() <= memory;
    if fits || !wants {
        return Ok(());
    }
    Err(format!(
        "host {} has {} and {} for it, it needs {} and {}",
        host.id,
        Cpu::from_millis(cpu),
        Memory::from_bytes(memory),
        effective.cpu(),
        effective.memory()
    ))
}

/// Whether a task of a version fits on an execution's host once that execution has ended.
///
/// # Errors
/// Why not, with its word.
pub(crate) fn fits_instead(
    state: &State,
    effective: &Effective,
    execution: &Execution,
) -> Result<(), (WaitCode, String)> {
    let Some((host, load)) = without(state, execution) else {
        return Err((WaitCode::NoHost, format!("host {} is not known", execution.host)));
    };
    if !host.takes_work() || eligible(effective, host).is_err() {
        let words = format!("host {} takes no task of this version", host.id);
        return Err((WaitCode::NoEligibleHost, words));
    }
    if Ask::of(effective).fitting(host, &load) == 0 {
        let words = format!("host {} has no room for it even when the old has ended", host.id);
        return Err((WaitCode::NoRoom, words));
    }
    Ok(())
}

/// An execution's host, and what the others hold of it.
fn without<'a>(state: &'a State, execution: &Execution) -> Option<(&'a Host, HostLoad)> {
    let host = state.hosts.get(&execution.host)?;
    let mut load = state.index.load(execution.host);
    load.cpu = Cpu::from_millis(load.cpu.millis().saturating_sub(execution.cpu.millis()));
    let memory = load.memory.bytes().saturating_sub(execution.memory.bytes());
    load.memory = Memory::from_bytes(memory);
    load.executions = load.executions.saturating_sub(1);
    for port in &execution.static_ports {
        load.ports.remove(port);
    }
    Some((host, load))
}
