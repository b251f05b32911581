//! A whole state as one CBOR value; indexes are made again when it is read.

use super::{CodecError, decode_exact, encode_into, join, split};
use crate::{
    State,
    state::{
        Counters, Execution, Host, Incarnation, IncarnationKey, Job, Marks, NamespaceRecord,
        Remembered, RequestKey, Rollout, RolloutKey, Task, TaskKey, Version, VersionKey,
    },
    table::Table,
};
use alloc::{string::ToString, vec::Vec};
use minicbor::{Decode, Encode};
use pliant_types::{ExecutionId, HostId, JobUid, Namespace};

const FORMAT: u32 = 1;

#[derive(Encode, Decode)]
#[cbor(map)]
struct Wire {
    #[n(0)]
    format: u32,
    #[n(1)]
    counters: Counters,
    #[n(2)]
    jobs: Vec<(JobUid, Job)>,
    #[n(3)]
    versions: Vec<(VersionKey, Version)>,
    #[n(4)]
    incarnations: Vec<(IncarnationKey, Incarnation)>,
    #[n(5)]
    tasks: Vec<(TaskKey, Task)>,
    #[n(6)]
    executions: Vec<(ExecutionId, Execution)>,
    #[n(7)]
    hosts: Vec<(HostId, Host)>,
    #[n(8)]
    requests: Vec<(RequestKey, Remembered)>,
    #[n(9)]
    hash: (u64, u64),
    #[n(10)]
    marks: Vec<(VersionKey, Marks)>,
    #[n(11)]
    namespaces: Vec<(Namespace, NamespaceRecord)>,
    #[n(12)]
    rollouts: Vec<(RolloutKey, Rollout)>,
}

/// Encodes a state with its hash.
#[must_use]
pub fn encode_snapshot(state: &State) -> Vec<u8> {
    let wire = Wire {
        format: FORMAT,
        counters: state.counters,
        jobs: rows(&state.jobs),
        versions: rows(&state.versions),
        incarnations: rows(&state.incarnations),
        tasks: rows(&state.tasks),
        executions: rows(&state.executions),
        hosts: rows(&state.hosts),
        requests: rows(&state.requests),
        marks: rows(&state.marks),
        namespaces: rows(&state.namespaces),
        rollouts: rows(&state.rollouts),
        hash: split(state.hash()),
    };
    let mut bytes = Vec::new();
    encode_into(&wire, &mut bytes);
    bytes
}

/// Decodes a state and compares its hash with the one that was written.
///
/// # Errors
/// [`CodecError`], naming what is wrong.
pub fn decode_snapshot(bytes: &[u8]) -> Result<State, CodecError> {
    let wire: Wire = decode_exact(bytes)?;
    if wire.format != FORMAT {
        return Err(CodecError::NewerFormat);
    }
    let mut state = State { counters: wire.counters, ..State::default() };
    fill(&mut state.jobs, wire.jobs);
    fill(&mut state.versions, wire.versions);
    fill(&mut state.incarnations, wire.incarnations);
    fill(&mut state.tasks, wire.tasks);
    fill(&mut state.executions, wire.executions);
    fill(&mut state.hosts, wire.hosts);
    fill(&mut state.requests, wire.requests);
    fill(&mut state.marks, wire.marks);
    fill(&mut state.namespaces, wire.namespaces);
    fill(&mut state.rollouts, wire.rollouts);
    state.rebuild_index();
    if state.hash() == join(wire.hash) {
        Ok(state)
    } else {
        Err(CodecError::Malformed("the state's hash is not the one written".to_string()))
    }
}

fn rows<K, V>(table: &Table<K, V>) -> Vec<(K, V)>
where
    K: Ord + Clone + Encode<()>,
    V: Clone + Encode<()>,
{
    table.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn fill<K, V>(table: &mut Table<K, V>, rows: Vec<(K, V)>)
where
    K: Ord + Clone + Encode<()>,
    V: Clone + Encode<()>,
{
    rows.into_iter().for_each(|(key, value)| table.insert(key, value));
}
