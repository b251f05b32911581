//! Facts about hosts.

use crate::{
    State,
    fact::{Fact, FactKind},
    state::Host,
};
use pliant_types::{
    Fence, Generation, HostId,
    host::{HostDescription, HostMode, HostStage},
};

pub(super) fn apply(state: &mut State, fact: &Fact) {
    match &fact.kind {
        FactKind::HostRegistered { host, description } => register(state, *host, description, fact),
        FactKind::HostDescribed { host, description } => describe(state, *host, description),
        FactKind::HostStaged { host, stage, lease_end } => {
            state.hosts.change(host, |h| {
                h.stage = *stage;
                h.lease_end = *lease_end;
            });
        }
        FactKind::HostFenced { host, fence } => {
            state.hosts.change(host, |h| {
                h.fence = *fence;
                h.generation = h.generation.next();
            });
            state.touch_host(*host);
        }
        FactKind::HostModeSet { host, mode } => state.hosts.change(host, |h| h.mode = *mode),
        _ => {}
    }
}

fn register(state: &mut State, id: HostId, description: &HostDescription, fact: &Fact) {
    let host = Host {
        id,
        description: description.clone(),
        stage: HostStage::Up,
        mode: HostMode::Active,
        fence: Fence::FIRST,
        generation: Generation::FIRST,
        lease_end: None,
        registered_at: fact.at,
        oversubscribed: false,
    };
    state.counters.host = state.counters.host.max(id.get());
    state.index.set_host_name(description.name.clone(), id);
    state.hosts.insert(id, host);
}

fn describe(state: &mut State, id: HostId, description: &HostDescription) {
    let Some(host) = state.hosts.get(&id) else { return };
    let old_name = host.description.name.clone();
    let load = state.index.load(id);
    let over = load.cpu > description.cpu
        || load.memory > description.memory
        || load.executions > description.max_executions;
    state.hosts.change(&id, |h| {
        h.description = description.clone();
        h.oversubscribed = over;
    });
    if old_name != description.name {
        state.index.free_host_name(&old_name);
    }
    state.index.set_host_name(description.name.clone(), id);
}
