//! Golden bytes of every fact kind: a change here is a change of format and needs a decision record.

mod common;

use common::{World, of_kind, service, submission};
use pliant_core::{Command, Decision, FactKind, Request, decode_batch, encode_batch};
use pliant_types::{ExitReason, ExitStatus, Phase, host::HostStage};
use std::{collections::BTreeMap, fmt::Write};

/// A story in which every kind of fact happens; the first of each kind is its example.
fn examples() -> BTreeMap<usize, Decision> {
    let mut world = World::new();
    let start = pliant_core::StartTerm {
        epoch: pliant_types::Epoch::new(1),
        gap: pliant_types::Millis::ZERO,
    };
    world.command(Command::StartTerm(start)).expect("begun");
    world.host("host-1");
    let host = world.host("host-22");
    let submit = Command::Submit(submission("web", &service(2)));
    world.ask(common::keyed(submit, "key", 1)).expect("created");
    world.submit("fix", &of_kind("ops")).expect("created");
    world.obey();
    for execution in world.live("fix") {
        let exit = ExitStatus::with_detail(ExitReason::Exited, "done");
        world.report(execution.id, Phase::Completed, Some(exit));
    }
    world.settle();
    let mut labelled = submission("web", &service(2));
    labelled.labels.insert("team".into(), Some("shop".into()));
    world.submit_with(labelled).expect("updated");
    world.settle();
    for count in [1, 3].into_iter().cycle().take(12) {
        world.submit("web", &service(count)).expect("updated");
        world.obey();
    }
    changes(&mut world);
    let live = world.live("web")[0].clone();
    let mode = pliant_core::SetHostMode { host, mode: pliant_types::host::HostMode::Paused };
    world.command(Command::SetHostMode(mode)).expect("paused");
    world.silent(live.host, HostStage::Lost);
    world.settle();
    world.register("host-1", "boot-2", None, &[]);
    for _ in 0..12 {
        let mut again = submission("fix", &of_kind("ops"));
        again.force = pliant_core::Force::Yes;
        world.submit_with(again).expect("forced");
        world.obey();
    }
    let busy = |env: &str| {
        let rest = common::batch(1).replacen('{', "", 1);
        format!(
            r#"{{"onResubmit":"finish-first","restart":{{"policy":"never"}},"env":{{"A":"{env}"}},{rest}"#
        )
    };
    world.submit("sum", &busy("1")).expect("created");
    let mut labelled = submission("sum", &busy("1"));
    labelled.labels.insert("team".into(), Some("shop".into()));
    world.submit_with(labelled).expect("moved");
    world.obey();
    world.submit("sum", &busy("2")).expect("queued");
    for execution in world.live("sum") {
        let exit = ExitStatus::exited(1);
        world.report(execution.id, Phase::Failed, Some(exit));
    }
    world.settle();
    world.stop_version("sum", 3).expect("halted");
    world.tag("sum", "v1", Some("current")).expect("tagged");
    world.tag("sum", "v1", None).expect("untagged");
    world.namespace("shop", true).expect("created");
    world.namespace("shop", false).expect("deleted");
    world.delete("web").expect("deleted");
    world.obey();
    world.later(25 * 3_600_000);
    world.settle();
    let mut examples = BTreeMap::new();
    for bytes in &world.journal {
        for decision in decode_batch(bytes).expect("readable").decisions {
            for fact in &decision.facts {
                let index = FactKind::WORDS.iter().position(|w| *w == fact.word()).expect("listed");
                examples.entry(index).or_insert_with(|| Decision {
                    now: decision.now,
                    request: Request::internal(Command::Tick),
                    facts: vec![fact.clone()],
                });
            }
        }
    }
    examples
}

/// A service that gets smaller where it is, and a daemon that leaves a host.
fn changes(world: &mut World) {
    let sized = |mib: u32| {
        service(1).replacen('{', &format!(r#"{{"resources":{{"memory":"{mib}Mi"}},"#), 1)
    };
    world.submit("api", &sized(64)).expect("created");
    world.roll("api");
    world.submit("api", &sized(32)).expect("smaller");
    world.roll("api");
    world.submit("log", &of_kind("daemon")).expect("created");
    world.roll("log");
    let elsewhere =
        of_kind("daemon").replacen('{', r#"{"placement":{"constraints":["host = nowhere"]},"#, 1);
    world.submit("log", &elsewhere).expect("constrained");
    world.settle();
}

#[test]
fn every_fact_kind_has_golden_bytes_that_still_decode() {
    let examples = examples();
    let missing: Vec<_> = (0..FactKind::WORDS.len())
        .filter(|i| !examples.contains_key(i))
        .map(|i| FactKind::WORDS[i])
        .collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
    let mut text = String::new();
    for (index, decision) in &examples {
        let bytes = encode_batch(std::slice::from_ref(decision), 0);
        let read = decode_batch(&bytes).expect("readable").decisions;
        assert_eq!(read, std::slice::from_ref(decision));
        let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let _ = writeln!(text, "{} {hex}", FactKind::WORDS[*index]);
    }
    expect_test::expect_file!["../golden/facts.txt"].assert_eq(&text);
}

#[test]
fn an_unknown_field_is_a_newer_format_and_never_dropped() {
    let bytes = encode_batch(&[], 0);
    let mut newer = bytes.clone();
    assert_eq!(newer[0], 0xa3, "a map of three");
    newer[0] = 0xa4;
    newer.extend_from_slice(&[0x18, 0x63, 0x01]);
    assert_eq!(decode_batch(&newer), Err(pliant_core::CodecError::NewerFormat));
    assert!(decode_batch(&bytes[..bytes.len() - 1]).is_err());
}
