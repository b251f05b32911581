//! From one version to another while an attempt runs: what the guest notices, what is refused, what
//! a crash, a stop or another change in the middle leads to.

use std::sync::Arc;

use pliant_types::{
    Cpu, Digest, ExitReason, ExitStatus, Health, Kind, Memory, Millis, Phase, Version,
    assignment::{AssignedExecution, InPlace, TaskTemplate},
    report::Observation,
};

use super::rig::{ONE, Rig, TWO, assigned, delta, id, stopped, template, whole};
use crate::logic::{Event, Recovered, Stage};

fn v(number: u32) -> Version {
    Version::new(number)
}

/// The same execution at another version.
fn changed(
    number: u32,
    in_place: InPlace,
    edit: impl FnOnce(&mut TaskTemplate),
) -> AssignedExecution {
    let mut to = template(Kind::Service);
    edit(&mut to);
    let mut one = assigned(1, to);
    (one.version, one.in_place) = (v(number), in_place);
    one
}

/// One execution that is up at version 1.
fn up() -> Rig {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    rig.words();
    rig
}

fn told(rig: &Rig) -> Observation {
    rig.logic.execution(id(1)).unwrap().observation().unwrap()
}

fn other_code(to: &mut TaskTemplate) {
    to.digest = Digest::new([8; 32]);
}

fn exit() -> ExitStatus {
    ExitStatus::of(ExitReason::Stopped)
}

#[test]
fn other_rules_are_obeyed_at_once() {
    let mut rig = up();
    assert_eq!(told(&rig).version, Some(v(1)));
    rig.offer(delta(
        1,
        vec![changed(2, InPlace::Live, |to| to.kill_timeout = Millis::from_secs(3))],
        vec![],
    ));
    assert_eq!((rig.words().as_str(), told(&rig).version), ("", Some(v(2))));
    rig.offer(whole(3, vec![]));
    assert_eq!(rig.words(), "stop e_1 in 3s");
}

#[test]
fn nothing_is_obeyed_before_the_first_start() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    assert_eq!(told(&rig).version, None);
    rig.words();
    rig.offer(delta(1, vec![changed(2, InPlace::Live, other_code)], vec![]));
    assert_eq!(rig.words(), "prepare e_1/2", "the other artifact, by an attempt of its own");
    rig.prepared(1, ONE);
    assert_eq!(rig.words(), "", "that was for the older one");
    rig.prepared(1, TWO);
    assert_eq!((rig.words().as_str(), told(&rig).version), ("start e_1/2", Some(v(2))));
}

#[test]
fn limits_change_without_a_restart() {
    let mut rig = up();
    let bigger = changed(2, InPlace::Live, |to| {
        to.cpu = Cpu::from_millis(200);
        to.memory = Memory::from_mib(128);
    });
    rig.offer(delta(1, vec![bigger], vec![]));
    assert_eq!(rig.words(), "resize e_1 to 200m 128Mi");
    assert_eq!(told(&rig).version, Some(v(1)));
    rig.event(1, Event::Resized { attempt: ONE });
    assert_eq!((rig.words().as_str(), told(&rig).version), ("", Some(v(2))));
    let smaller = changed(3, InPlace::Live, |to| to.memory = Memory::from_mib(32));
    rig.offer(delta(2, vec![smaller], vec![]));
    assert_eq!(rig.words(), "resize e_1 to 100m 32Mi below 30198987");
}

#[test]
fn memory_that_is_in_use_is_refused_or_costs_a_restart() {
    let smaller = |in_place| changed(2, in_place, |to| to.memory = Memory::from_mib(32));
    let mut rig = up();
    rig.offer(delta(1, vec![smaller(InPlace::Live)], vec![]));
    rig.words();
    rig.event(1, Event::ResizeRefused { attempt: ONE, why: "it uses 31Mi".to_owned() });
    let now = told(&rig);
    assert_eq!((now.version, now.refused, now.health), (Some(v(1)), Some(v(2)), Health::Healthy));
    assert!(now.detail.unwrap().contains("it uses 31Mi"));
    rig.offer(delta(2, vec![smaller(InPlace::Restart)], vec![]));
    assert_eq!(
        (rig.words().as_str(), told(&rig).refused),
        ("resize e_1 to 100m 32Mi below 30198987", None)
    );
    rig.event(1, Event::ResizeRefused { attempt: ONE, why: "it uses 31Mi".to_owned() });
    assert_eq!(rig.words(), "prepare next e_1 v2");
}

#[test]
fn a_restart_in_place_ends_the_old_only_when_the_new_is_ready() {
    let mut rig = up();
    rig.offer(delta(1, vec![changed(2, InPlace::Restart, other_code)], vec![]));
    assert_eq!(rig.words(), "prepare next e_1 v2");
    rig.pass(60);
    let before = told(&rig);
    assert_eq!((before.health, before.attempt, rig.words().as_str()), (Health::Healthy, ONE, ""));
    rig.event(1, Event::NextPrepared { version: v(2) });
    assert_eq!(rig.words(), "end e_1 in 10s");
    let between = told(&rig);
    assert_eq!((between.phase, between.health), (Phase::Running, Health::Unknown));
    rig.ended(1, ONE, exit());
    assert_eq!(rig.words(), "prepare e_1/2", "at once: it is no failure");
    assert_eq!(rig.logic.execution(id(1)).unwrap().record.restarts.used(), 0);
    rig.up(1, TWO);
    let after = told(&rig);
    assert_eq!((after.phase, after.version, after.exit), (Phase::Running, Some(v(2)), None));
    assert_eq!((after.attempt, after.refused), (TWO, None));
}

#[test]
fn what_does_not_end_for_its_successor_is_cut_off() {
    let mut rig = up();
    rig.offer(delta(1, vec![changed(2, InPlace::Restart, other_code)], vec![]));
    rig.event(1, Event::NextPrepared { version: v(2) });
    rig.words();
    rig.pass(10);
    assert_eq!(rig.words(), "end e_1 in 0s");
    rig.pass(10);
    assert_eq!(rig.words(), "end e_1 in 0s");
    rig.ended(1, ONE, exit());
    assert_eq!(rig.words(), "prepare e_1/2");
}

#[test]
fn a_restart_that_is_not_allowed_is_refused_until_it_is() {
    let mut rig = up();
    rig.offer(delta(1, vec![changed(2, InPlace::Live, other_code)], vec![]));
    let now = told(&rig);
    assert_eq!((rig.words().as_str(), now.version, now.refused), ("", Some(v(1)), Some(v(2))));
    assert_eq!(
        now.detail.as_deref(),
        Some("version 2 needs a restart, which it may not have now: artifact")
    );
    rig.offer(delta(2, vec![changed(2, InPlace::Restart, other_code)], vec![]));
    assert_eq!((rig.words().as_str(), told(&rig).refused), ("prepare next e_1 v2", None));
}

#[test]
fn another_engine_is_never_had_in_place() {
    let mut rig = up();
    let container = changed(2, InPlace::Restart, |to| to.engine = "container".to_owned());
    rig.offer(delta(1, vec![container], vec![]));
    let now = told(&rig);
    assert_eq!((rig.words().as_str(), now.refused), ("", Some(v(2))));
    assert_eq!(now.detail.as_deref(), Some("version 2 another engine cannot be had in place"));
}

#[test]
fn a_version_that_cannot_be_made_ready_leaves_the_old_untouched() {
    let mut rig = up();
    rig.offer(delta(1, vec![changed(2, InPlace::Restart, other_code)], vec![]));
    rig.words();
    let failed = ExitStatus::with_detail(ExitReason::ArtifactInvalid, "not wasm");
    rig.event(1, Event::NextFailed { version: v(2), exit: failed });
    let now = told(&rig);
    assert_eq!((now.version, now.refused, now.health), (Some(v(1)), Some(v(2)), Health::Healthy));
    assert!(now.detail.unwrap().contains("artifact-invalid: not wasm"));
    // What it obeyed is what it goes on with, also after an end of its own.
    rig.ended(1, ONE, ExitStatus::exited(1));
    rig.pass(1);
    rig.words();
    rig.prepared(1, TWO);
    assert_eq!((rig.words().as_str(), told(&rig).version), ("start e_1/2", Some(v(1))));
    rig.started(1, TWO);
    rig.offer(delta(2, vec![changed(3, InPlace::Restart, other_code)], vec![]));
    assert_eq!((rig.words().as_str(), told(&rig).refused), ("prepare next e_1 v3", None));
}

#[test]
fn a_further_change_overtakes_the_one_under_way() {
    let mut rig = up();
    rig.offer(delta(1, vec![changed(2, InPlace::Restart, other_code)], vec![]));
    let third = changed(3, InPlace::Restart, |to| to.digest = Digest::new([9; 32]));
    rig.offer(delta(2, vec![third], vec![]));
    assert_eq!(rig.words(), "prepare next e_1 v2, prepare next e_1 v3");
    rig.event(1, Event::NextPrepared { version: v(2) });
    assert_eq!(rig.words(), "", "nobody waits for that any more");
    rig.event(1, Event::NextPrepared { version: v(3) });
    assert_eq!(rig.words(), "end e_1 in 10s");
    // Back to what it was, while it ends: it begins with that.
    rig.offer(delta(3, vec![changed(1, InPlace::Live, |_| {})], vec![]));
    rig.ended(1, ONE, exit());
    rig.up(1, TWO);
    assert_eq!(told(&rig).version, Some(v(1)));
}

#[test]
fn a_driver_is_never_told_two_sizes_at_once() {
    let size = |number, cpu| changed(number, InPlace::Live, |to| to.cpu = Cpu::from_millis(cpu));
    let mut rig = up();
    rig.offer(delta(1, vec![size(2, 200)], vec![]));
    rig.offer(delta(2, vec![size(3, 100)], vec![]));
    assert_eq!(rig.words(), "resize e_1 to 200m 64Mi");
    rig.event(1, Event::Resized { attempt: ONE });
    assert_eq!(rig.words(), "resize e_1 to 100m 64Mi", "version 3 has the size of version 1");
    assert_eq!(told(&rig).version, Some(v(2)));
    rig.event(1, Event::Resized { attempt: ONE });
    assert_eq!(told(&rig).version, Some(v(3)));
}

#[test]
fn a_change_during_a_start_waits_for_it() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.prepared(1, ONE);
    rig.words();
    rig.offer(delta(1, vec![changed(2, InPlace::Restart, other_code)], vec![]));
    assert_eq!(rig.words(), "");
    rig.started(1, ONE);
    assert_eq!((rig.words().as_str(), told(&rig).version), ("prepare next e_1 v2", Some(v(1))));
}

#[test]
fn a_change_between_attempts_is_taken_up_by_the_next_one() {
    let mut rig = up();
    rig.ended(1, ONE, ExitStatus::exited(1));
    rig.offer(delta(1, vec![changed(2, InPlace::Live, other_code)], vec![]));
    assert_eq!(told(&rig).version, Some(v(1)));
    rig.pass(1);
    let failed = ExitStatus::with_detail(ExitReason::ArtifactInvalid, "not wasm");
    rig.event(1, Event::Failed { attempt: TWO, exit: failed });
    assert_eq!(rig.words(), "prepare e_1/2, prepare e_1/3", "what it had before, as that works");
    let now = told(&rig);
    assert_eq!((now.phase, now.refused), (Phase::Running, Some(v(2))));
}

#[test]
fn a_stop_or_a_forgetting_in_the_middle_ends_it_for_good() {
    for is_ending in [false, true] {
        for is_forgotten in [false, true] {
            let mut rig = up();
            let next = changed(2, InPlace::Restart, other_code);
            rig.offer(delta(1, vec![next.clone()], vec![]));
            if is_ending {
                rig.event(1, Event::NextPrepared { version: v(2) });
                rig.pass(4);
            }
            rig.words();
            let end = if is_forgotten { whole(3, vec![]) } else { whole(3, vec![stopped(next)]) };
            rig.offer(end);
            let left = if is_ending { 6 } else { 10 };
            assert_eq!(rig.words(), format!("stop e_1 in {left}s"));
            rig.event(1, Event::NextPrepared { version: v(2) });
            rig.ended(1, ONE, exit());
            let words = if is_forgotten { "remove e_1" } else { "" };
            assert_eq!(rig.words(), words);
            let stage = if is_forgotten { Stage::Removing } else { Stage::Ended };
            assert_eq!(rig.stage(1), Some(stage));
        }
    }
}

#[test]
fn a_crash_in_the_middle_loses_nothing_of_it() {
    let running = |attempt| [Recovered { execution: id(1), attempt, ports: [].into() }];
    let mut rig = up();
    rig.offer(delta(1, vec![changed(2, InPlace::Restart, other_code)], vec![]));
    for _ in 0..2 {
        // While it is made ready, and while the old one ends: the old one still runs.
        let mut back = rig.crash(&running(ONE));
        assert_eq!(
            (back.words().as_str(), told(&back).version),
            ("prepare next e_1 v2", Some(v(1)))
        );
        rig.event(1, Event::NextPrepared { version: v(2) });
    }
    rig.ended(1, ONE, exit());
    rig.prepared(1, TWO);
    // The new one was told to start: it is what runs, though nobody said so.
    let back = rig.crash(&running(TWO));
    assert_eq!((told(&back).version, told(&back).attempt), (Some(v(2)), TWO));
    // Nothing runs: the next attempt is by what is assigned.
    let mut back = rig.crash(&[]);
    back.join();
    back.pass(10);
    back.words();
    back.prepared(1, TWO.next());
    assert_eq!((back.words().as_str(), told(&back).version), ("start e_1/3", Some(v(2))));
}

#[test]
fn a_refusal_survives_a_crash() {
    let mut rig = up();
    rig.offer(delta(1, vec![changed(2, InPlace::Live, other_code)], vec![]));
    let mut back = rig.crash(&[Recovered { execution: id(1), attempt: ONE, ports: [].into() }]);
    assert_eq!((back.words().as_str(), told(&back).refused), ("", Some(v(2))));
    assert_eq!(told(&back).version, Some(v(1)));
}

#[test]
fn a_batch_task_that_does_its_work_while_it_is_ended_for_another_version_is_done() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Batch))]);
    rig.up(1, ONE);
    let mut next = template(Kind::Batch);
    other_code(&mut next);
    let mut next = assigned(1, next);
    (next.version, next.in_place) = (v(2), InPlace::Restart);
    rig.offer(delta(
        1,
        vec![AssignedExecution { template: Arc::clone(&next.template), ..next }],
        vec![],
    ));
    rig.event(1, Event::NextPrepared { version: v(2) });
    rig.words();
    rig.ended(1, ONE, ExitStatus::exited(0));
    assert_eq!(rig.words(), "collect e_1");
}
