//! Figure P6: from a closed journal of FACTS facts to a state, without and with a snapshot. One JSON
//! line each. Not a test.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use pliant_controller::writer::open_state;
use pliant_core::{
    Command, Engine, Expect, Force, RegisterHost, ReplyTag, ReportHost, Request, State, Submit,
    encode_snapshot,
};
use pliant_journal::{
    Append, BatchId, Class, Draft, Opener,
    durable::{DurableOptions, DurableStore},
};
use pliant_types::{
    Attempt, Cpu, Digest, Health, Memory, Namespace, Phase, Time,
    host::HostDescription,
    phase::AttemptState,
    report::{Observation, Report},
};
use std::{collections::BTreeMap, error::Error, path::Path, sync::Arc, time::Instant};

const TASKS: u32 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let facts: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let dir = tempfile::tempdir_in(std::env::args().nth(2).unwrap_or_else(|| ".".into()))?;
    let store = DurableStore::new(DurableOptions::new(dir.path().join("journal")));
    let begin = Instant::now();
    write(&store, facts)?;
    let written = begin.elapsed().as_secs_f64();
    let state = read(&store, "without a snapshot", (facts, written), dir.path())?;
    let mut opened = store.open()?;
    opened.journal.campaign()?;
    opened.journal.put_snapshot(opened.head, &encode_snapshot(&state))?;
    opened.journal.close()?;
    read(&store, "with a snapshot at its head", (facts, written), dir.path())?;
    Ok(())
}

fn read(
    store: &DurableStore,
    what: &str,
    (facts, written): (u64, f64),
    dir: &Path,
) -> Result<State, Box<dyn Error>> {
    let begin = Instant::now();
    let found = open_state(store)?;
    let seconds = begin.elapsed().as_secs_f64();
    found.opened.journal.close()?;
    let bytes = size(dir)?;
    println!(
        r#"{{"figure":"P6","what":"{what}","facts":{facts},"replayed":{},"seconds":{seconds:.2},"facts_per_s":{:.0},"store_mib":{},"write_s":{written:.1}}}"#,
        found.replayed_facts,
        facts as f64 / seconds,
        bytes >> 20
    );
    Ok(found.state)
}

fn size(dir: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        sum += if kind.is_dir() { size(&entry.path())? } else { kind.len() };
    }
    Ok(sum)
}

/// A service of 200 tasks whose host reports each of them up and preparing, over and over: the most
/// frequent facts of a cluster, through the real engine.
fn write(store: &DurableStore, facts: u64) -> Result<(), Box<dyn Error>> {
    let mut opened = store.open()?;
    opened.journal.campaign()?;
    let mut next = opened.head.next();
    let mut engine = Engine::new(State::default());
    engine.submit(ReplyTag(0), Request::internal(Command::RegisterHost(host())));
    engine.submit(ReplyTag(1), Request::internal(Command::Submit(job()?)));
    let mut round = 0_u64;
    while engine.head().revision().get() < facts {
        let now = Time::from_millis(1_000_000 + round);
        if round > 4 {
            let report = report(engine.head(), round)?;
            engine.submit(ReplyTag(round), Request::internal(Command::Report(report)));
        }
        round += 1;
        let Some(staged) = engine.stage(now) else { continue };
        if let Some(payload) = staged.payload() {
            let id = BatchId::from_number(u128::from(next.0));
            let draft = Draft { id, class: Class::NewWork, payload };
            match opened.journal.append(&draft, next) {
                Append::Committed(_) => next = next.next(),
                other => return Err(format!("{other:?}").into()),
            }
        }
        let _ = staged.committed();
    }
    Ok(opened.journal.close()?)
}

fn host() -> RegisterHost {
    let description = HostDescription {
        name: "host-1".parse().expect("a name"),
        boot: "boot".into(),
        address: "http://127.0.0.1:1".into(),
        cpu: Cpu::from_millis(100_000),
        memory: Memory::from_mib(100_000),
        max_executions: 10_000,
        attributes: BTreeMap::from([("engine.wasm".to_owned(), "48".to_owned())]),
        labels: BTreeMap::new(),
    };
    RegisterHost { description, host: None, inventory: Vec::new() }
}

fn job() -> Result<Submit, Box<dyn Error>> {
    let spec = format!(
        r#"{{"kind":"service","count":{TASKS},"engine":{{"wasm":{{"component":"oci://r/x:1"}}}}}}"#
    );
    Ok(Submit {
        namespace: Namespace::default_namespace(),
        name: "web".parse()?,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        spec: Arc::new(serde_json::from_str(&spec)?),
        text: None,
        source: None,
        digest: Digest::new([7; 32]),
        force: Force::No,
        expect: Expect::Anything,
        message: None,
    })
}

fn report(state: &State, round: u64) -> Result<ReportHost, Box<dyn Error>> {
    let (id, host) = state.hosts.last().ok_or("a host")?;
    let up = round.is_multiple_of(2);
    let observations = state
        .live_on(*id)
        .map(|execution| Observation {
            execution: execution.id,
            job: execution.task.job,
            incarnation: execution.task.incarnation,
            fence: execution.fence,
            phase: if up { Phase::Running } else { execution.phase },
            attempt: Attempt::FIRST,
            attempt_state: if up { AttemptState::Up } else { AttemptState::Preparing },
            health: if up { Health::Healthy } else { Health::Unknown },
            ports: BTreeMap::new(),
            exit: None,
            results: None,
            detail: None,
            version: Some(execution.version),
            refused: None,
        })
        .collect();
    let report = Report {
        boot: host.description.boot.clone(),
        fence: host.fence,
        epoch: state.epoch(),
        generation: host.generation,
        observations,
    };
    Ok(ReportHost { host: *id, report })
}
