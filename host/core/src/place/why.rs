//! Why no host takes a task: every host against every rule, grouped, with numbers.

use super::{Placer, Refused, Unfit, Want, eligible};
use crate::{State, state::Host};
use alloc::{collections::BTreeMap, format, string::String};
use pliant_types::{HostId, codes::WaitCode};

/// Rules in the order in which they are tried; a host counts for the first that it breaks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    Unfit(Unfit),
    NotPinned(HostId),
    NotUp(String),
    Port(u16),
    Count(u32),
    Cpu,
    Memory,
    Span,
}

pub(super) fn refused(placer: &Placer, state: &State, want: Want) -> Refused {
    let total = state.hosts.len();
    if total == 0 {
        return Refused { code: WaitCode::NoHost, sentence: "no host is registered".into() };
    }
    let mut obstacles: BTreeMap<Obstacle, u32> = BTreeMap::new();
    let mut fit_at_all = 0;
    for (_, host) in state.hosts.iter() {
        let obstacle = obstacle(placer, state, host, want);
        if !matches!(obstacle, Obstacle::Unfit(_) | Obstacle::NotPinned(_)) {
            fit_at_all += 1;
        }
        *obstacles.entry(obstacle).or_default() += 1;
    }
    let parts: alloc::vec::Vec<_> =
        obstacles.iter().map(|(obstacle, hosts)| words(placer, state, obstacle, *hosts)).collect();
    let code = if fit_at_all == 0 { WaitCode::NoEligibleHost } else { WaitCode::NoRoom };
    Refused { code, sentence: format!("0 of {total} hosts can take it: {}", parts.join("; ")) }
}

fn obstacle(placer: &Placer, state: &State, host: &Host, want: Want) -> Obstacle {
    if let Err(unfit) = eligible(&placer.effective, host) {
        return Obstacle::Unfit(unfit);
    }
    if let Some(only) = want.pinned.filter(|only| *only != host.id) {
        return Obstacle::NotPinned(only);
    }
    if !host.takes_work() {
        let mode = host.mode.as_str();
        let stage = host.stage.as_str();
        return Obstacle::NotUp(if stage == "up" { mode.into() } else { stage.into() });
    }
    let load = state.index.load(host.id);
    if let Some(port) = placer.ask.ports.iter().find(|port| load.ports.contains(port)) {
        return Obstacle::Port(*port);
    }
    if load.executions >= host.description.max_executions {
        return Obstacle::Count(host.description.max_executions);
    }
    if free_cpu(host, state) < placer.ask.cpu.millis() {
        return Obstacle::Cpu;
    }
    if free_memory(host, state) < placer.ask.memory.bytes() {
        return Obstacle::Memory;
    }
    Obstacle::Span
}

fn free_cpu(host: &Host, state: &State) -> u32 {
    host.description.cpu.millis().saturating_sub(state.index.load(host.id).cpu.millis())
}

fn free_memory(host: &Host, state: &State) -> u64 {
    host.description.memory.bytes().saturating_sub(state.index.load(host.id).memory.bytes())
}

fn words(placer: &Placer, state: &State, obstacle: &Obstacle, hosts: u32) -> String {
    let open = || state.hosts.iter().map(|(_, h)| h).filter(|h| h.takes_work());
    match obstacle {
        Obstacle::Unfit(Unfit::Engine(engine)) => format!("{hosts} without engine {engine}"),
        Obstacle::Unfit(Unfit::Constraint(line)) => format!("{hosts} not with `{line}`"),
        Obstacle::NotPinned(only) => format!("{hosts} are not {only}, which it is bound to"),
        Obstacle::NotUp(word) => format!("{hosts} {word}"),
        Obstacle::Port(port) => format!("{hosts} with port {port} taken"),
        Obstacle::Count(limit) => format!("{hosts} at their limit of {limit} executions"),
        Obstacle::Cpu => {
            let most = open().map(|h| free_cpu(h, state)).max().unwrap_or(0);
            format!("{hosts} short of CPU (asked {}, most free {most}m)", placer.ask.cpu)
        }
        Obstacle::Memory => {
            let most = open().map(|h| free_memory(h, state)).max().unwrap_or(0) >> 20;
            format!("{hosts} short of memory (asked {}, most free {most}Mi)", placer.ask.memory)
        }
        Obstacle::Span => format!("{hosts} closed by the span"),
    }
}
