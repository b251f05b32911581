//! Hosts: registration with its inventory, silence, return, modes.
//!
//! The transition table of stages is [`after_silence`] and [`after_return`]; a test prints both.

use super::Decided;
use crate::{
    Answer, Rejection, State,
    command::{HostSeen, HostSilent, RegisterHost, SetHostMode},
    fact::FactKind,
    state::Host,
};
use alloc::{collections::BTreeSet, format, vec, vec::Vec};
use pliant_types::{
    ExecutionId, Fence, HostId, Phase,
    codes::Code,
    host::{HostMode, HostStage},
    report::Registered,
};

pub(super) fn register(state: &State, asked: &RegisterHost) -> Result<Decided, Rejection> {
    match known(state, asked)? {
        Some(host) => Ok(register_known(state, host, asked)),
        None => register_new(state, asked),
    }
}

/// The host that an agent claims to be: by its id, or by its name when it has lost its ledger.
fn known<'a>(state: &'a State, asked: &RegisterHost) -> Result<Option<&'a Host>, Rejection> {
    let name = &asked.description.name;
    let by_name = state.index.host(name).and_then(|id| state.hosts.get(&id));
    let taken = |other: &Host| {
        let message = format!("the name {name} belongs to host {}, which is up", other.id);
        Err(Rejection::new(Code::NameTaken, message).hint("give this host another name"))
    };
    match asked.host {
        Some(id) => {
            let host = state.hosts.get(&id).ok_or_else(|| {
                Rejection::new(Code::HostNotFound, format!("there is no host {id} in this cluster"))
                    .hint("the agent's data directory belongs to another cluster; use a new one")
            })?;
            match by_name {
                Some(other) if other.id != id => taken(other),
                _ => Ok(Some(host)),
            }
        }
        None => match by_name {
            Some(other)
                if other.stage == HostStage::Up
                    && other.description.boot != asked.description.boot =>
            {
                taken(other)
            }
            found => Ok(found),
        },
    }
}

fn register_new(state: &State, asked: &RegisterHost) -> Result<Decided, Rejection> {
    if state.hosts.len() >= crate::limits::HOSTS {
        let message = format!("a cluster has at most {} hosts", crate::limits::HOSTS);
        return Err(Rejection::new(Code::TooLarge, message));
    }
    let host = HostId::new(state.counters.host + 1);
    let kill: Vec<_> = asked.inventory.iter().map(|item| item.execution).collect();
    let mut facts = vec![FactKind::HostRegistered { host, description: asked.description.clone() }];
    if !kill.is_empty() {
        facts.push(FactKind::HostStaged { host, stage: HostStage::Rejoining, lease_end: None });
    }
    Ok(Decided {
        facts,
        answer: Answer::Registered(Registered { host, fence: Fence::FIRST, kill }),
    })
}

/// A new boot fences off what ran before it, at once (E81). Leftovers that the host should not run
/// must be gone before it is up again (E92, E82).
fn register_known(state: &State, host: &Host, asked: &RegisterHost) -> Decided {
    let mut facts = Vec::new();
    if host.description != asked.description {
        let description = asked.description.clone();
        facts.push(FactKind::HostDescribed { host: host.id, description });
    }
    let mut fence = host.fence;
    let rebooted = host.description.boot != asked.description.boot;
    let vanished = vanished(state, host, asked);
    let many = vanished.len() > crate::limits::DECISION_FACTS / 2;
    if many || rebooted && state.live_on(host.id).next().is_some() {
        fence = fence.next();
        facts.push(FactKind::HostFenced { host: host.id, fence });
    } else {
        facts.extend(vanished);
    }
    let kill = leftovers(state, host.id, fence, asked);
    let stage = if kill.is_empty() { HostStage::Up } else { HostStage::Rejoining };
    if host.stage != stage {
        facts.push(FactKind::HostStaged { host: host.id, stage, lease_end: None });
    }
    Decided { facts, answer: Answer::Registered(Registered { host: host.id, fence, kill }) }
}

/// Executions that this life of the host once confirmed and no longer remembers: its agent has lost
/// its ledger, and would begin them again under numbers that were used. They are lost; so many at
/// once that a decision cannot name them fence off the host as a whole.
fn vanished(state: &State, host: &Host, asked: &RegisterHost) -> Vec<FactKind> {
    let known: BTreeSet<_> = asked.inventory.iter().map(|item| item.execution).collect();
    state
        .live_on(host.id)
        .filter(|e| e.phase != Phase::Placed && !known.contains(&e.id))
        .map(|e| FactKind::ExecutionLost { execution: e.id })
        .collect()
}

fn leftovers(state: &State, host: HostId, fence: Fence, asked: &RegisterHost) -> Vec<ExecutionId> {
    let listed = |id: &ExecutionId| {
        state.executions.get(id).is_some_and(|e| e.is_live() && e.host == host && e.fence == fence)
    };
    asked.inventory.iter().map(|item| item.execution).filter(|id| !listed(id)).collect()
}

fn find(state: &State, id: HostId) -> Result<&Host, Rejection> {
    state
        .hosts
        .get(&id)
        .ok_or_else(|| Rejection::new(Code::HostNotFound, format!("there is no host {id}")))
}

/// Where silence leads a host: onward only, and a rejoining one back to suspect.
const fn after_silence(stage: HostStage, reached: HostStage) -> Option<HostStage> {
    match (stage, reached) {
        (HostStage::Up | HostStage::Rejoining, HostStage::Suspect) => Some(HostStage::Suspect),
        (HostStage::Up | HostStage::Suspect | HostStage::Rejoining, HostStage::Unreachable) => {
            Some(HostStage::Unreachable)
        }
        (
            HostStage::Up | HostStage::Suspect | HostStage::Unreachable | HostStage::Rejoining,
            HostStage::Lost,
        ) => Some(HostStage::Lost),
        _ => None,
    }
}

/// Where a renewal with the same boot leads a host. A lost one must register first.
const fn after_return(stage: HostStage) -> Option<HostStage> {
    match stage {
        HostStage::Suspect | HostStage::Unreachable => Some(HostStage::Up),
        HostStage::Up | HostStage::Lost | HostStage::Rejoining => None,
    }
}

pub(super) fn silent(state: &State, silent: &HostSilent) -> Result<Decided, Rejection> {
    let host = find(state, silent.host)?;
    let Some(stage) = after_silence(host.stage, silent.stage) else {
        return Ok(Decided::done(Vec::new()));
    };
    let lease_end = Some(silent.lease_end);
    let mut facts = vec![FactKind::HostStaged { host: host.id, stage, lease_end }];
    if stage == HostStage::Lost {
        facts.push(FactKind::HostFenced { host: host.id, fence: host.fence.next() });
    }
    Ok(Decided::done(facts))
}

pub(super) fn seen(state: &State, seen: &HostSeen) -> Result<Decided, Rejection> {
    let host = find(state, seen.host)?;
    if host.description.boot != seen.boot {
        return Err(Rejection::new(Code::Fenced, format!("host {} was booted again", host.id))
            .hint("the agent registers again by itself"));
    }
    Ok(Decided::done(match after_return(host.stage) {
        Some(stage) => vec![FactKind::HostStaged { host: host.id, stage, lease_end: None }],
        None => Vec::new(),
    }))
}

pub(super) fn set_mode(state: &State, asked: &SetHostMode) -> Result<Decided, Rejection> {
    let host = find(state, asked.host)?;
    if asked.mode == HostMode::Draining {
        let message = "draining a host is not carried out by this release";
        return Err(Rejection::new(Code::NotOffered, message).hint("pause the host instead"));
    }
    if host.mode == asked.mode {
        return Ok(Decided::done(Vec::new()));
    }
    Ok(Decided::done(vec![FactKind::HostModeSet { host: host.id, mode: asked.mode }]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn the_whole_matrix_of_stages() {
        let word = |stage: Option<HostStage>| stage.map_or("-", HostStage::as_str);
        let mut matrix = String::new();
        for stage in HostStage::ALL {
            matrix += &format!(
                "{stage:<12} {:<12} {:<12} {:<12} {}\n",
                word(after_silence(*stage, HostStage::Suspect)),
                word(after_silence(*stage, HostStage::Unreachable)),
                word(after_silence(*stage, HostStage::Lost)),
                word(after_return(*stage)),
            );
        }
        expect_test::expect![[r#"
            up           suspect      unreachable  lost         -
            suspect      -            unreachable  lost         up
            unreachable  -            -            lost         up
            lost         -            -            -            -
            rejoining    suspect      unreachable  lost         -
        "#]]
        .assert_eq(&matrix);
    }
}
