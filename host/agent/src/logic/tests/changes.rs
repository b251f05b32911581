//! What becomes another version where it is, and what stays as it is.

use std::sync::Arc;

use pliant_types::{
    ExitReason, ExitStatus, Health, Kind, Memory, Millis, Phase, Version,
    assignment::{AssignedExecution, InPlace, TaskTemplate},
    report::Observation,
};

use super::rig::{ONE, Rig, TWO, assigned, id, stopped, template, whole};
use crate::logic::{Event, Input, Stage};

fn version(
    number: u32,
    in_place: InPlace,
    change: impl FnOnce(&mut TaskTemplate),
) -> AssignedExecution {
    let mut changed = template(Kind::Service);
    change(&mut changed);
    let mut one = assigned(1, changed);
    one.version = Version::new(number);
    one.in_place = in_place;
    one
}

/// A service that is up at version 1.
fn up() -> Rig {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    rig.words();
    rig
}

fn told(rig: &mut Rig) -> Observation {
    rig.logic.execution(id(1)).and_then(|one| one.observation()).expect("it is told")
}

fn answer(rig: &mut Rig, event: Event) {
    rig.tell(Input::Execution(id(1), event));
}

#[test]
fn case_i7_rules_are_obeyed_at_once_and_the_guest_notices_nothing() {
    let mut rig = up();
    let rules = |t: &mut TaskTemplate| t.restart.attempts = 0;
    rig.offer(whole(2, vec![version(2, InPlace::Live, rules)]));
    assert_eq!(rig.words(), "");
    let seen = told(&mut rig);
    assert_eq!((seen.version, seen.attempt), (Some(Version::new(2)), ONE));
    rig.tell(Input::ended(id(1), ONE, ExitStatus::of(ExitReason::Trapped)));
    assert_eq!(told(&mut rig).phase, Phase::Failed, "the new rule allows no restart");
}

#[test]
fn limits_change_live_and_a_refusal_is_told() {
    let mut rig = up();
    let more = |t: &mut TaskTemplate| t.memory = Memory::from_mib(128);
    rig.offer(whole(2, vec![version(2, InPlace::Live, more)]));
    assert_eq!(rig.words(), "resize e_1 to 100m 128Mi");
    assert_eq!(told(&mut rig).version, Some(Version::new(1)), "not before it is done");
    answer(&mut rig, Event::Resized { attempt: ONE, version: Version::new(2), refusal: None });
    assert_eq!(told(&mut rig).version, Some(Version::new(2)));

    let less = |t: &mut TaskTemplate| t.memory = Memory::from_mib(1);
    rig.offer(whole(3, vec![version(3, InPlace::Live, less)]));
    rig.words();
    let refusal = Some("it uses 60Mi".to_owned());
    answer(&mut rig, Event::Resized { attempt: ONE, version: Version::new(3), refusal });
    let seen = told(&mut rig);
    assert_eq!((seen.version, seen.refused), (Some(Version::new(2)), Some(Version::new(3))));
    assert_eq!((seen.health, rig.words()), (Health::Healthy, String::new()));

    let again = |t: &mut TaskTemplate| t.memory = Memory::from_mib(128);
    rig.offer(whole(4, vec![version(2, InPlace::Live, again)]));
    assert_eq!((told(&mut rig).refused, rig.words()), (None, String::new()), "taken back");
}

#[test]
fn what_needs_a_restart_is_made_ready_first_and_counts_as_no_failure() {
    let mut rig = up();
    let program = |t: &mut TaskTemplate| {
        t.args = vec!["new".into()];
        t.kill_timeout = Millis::from_secs(3);
    };
    rig.offer(whole(2, vec![version(2, InPlace::Live, program)]));
    assert_eq!((rig.words(), told(&mut rig).refused), (String::new(), Some(Version::new(2))));
    rig.offer(whole(3, vec![version(2, InPlace::Restart, program)]));
    assert_eq!(rig.words(), "prepare e_1 for version 2");
    assert_eq!((told(&mut rig).refused, told(&mut rig).phase), (None, Phase::Running));
    answer(&mut rig, Event::ChangeReady { attempt: ONE, version: Version::new(2), refusal: None });
    assert_eq!(rig.words(), "stop e_1 in 3s");
    assert_eq!(told(&mut rig).phase, Phase::Running, "it stays the same execution");
    rig.tell(Input::ended(id(1), ONE, ExitStatus::of(ExitReason::Stopped)));
    assert_eq!(rig.words(), "prepare e_1/2");
    answer(&mut rig, Event::Prepared { attempt: TWO });
    let started = rig.steps.last().cloned();
    let Some(crate::logic::Step::Start { assigned, .. }) = started else {
        unreachable!("a start: {started:?}")
    };
    assert_eq!((assigned.version, &assigned.template.args[0][..]), (Version::new(2), "new"));
    answer(&mut rig, Event::Started { attempt: TWO, ports: Default::default() });
    let seen = told(&mut rig);
    assert_eq!((seen.version, seen.attempt), (Some(Version::new(2)), TWO));
    let used = rig.logic.execution(id(1)).map(|one| one.record.restarts.used());
    assert_eq!(used, Some(0));
}

#[test]
fn what_cannot_be_made_ready_leaves_the_old_untouched() {
    let mut rig = up();
    let program = |t: &mut TaskTemplate| t.digest = pliant_types::Digest::new([8; 32]);
    rig.offer(whole(2, vec![version(2, InPlace::Restart, program)]));
    rig.words();
    let refusal = Some("artifact-invalid".to_owned());
    answer(&mut rig, Event::ChangeReady { attempt: ONE, version: Version::new(2), refusal });
    let seen = told(&mut rig);
    assert_eq!((seen.refused, seen.health), (Some(Version::new(2)), Health::Healthy));
    assert!(seen.detail.is_some_and(|words| words.contains("artifact-invalid")));
    assert_eq!(rig.words(), "");
}

#[test]
fn a_stop_or_a_newer_version_overtakes_a_change() {
    let program = |t: &mut TaskTemplate| t.args = vec!["2".into()];
    let newer = |t: &mut TaskTemplate| t.args = vec!["3".into()];
    let mut rig = up();
    rig.offer(whole(2, vec![version(2, InPlace::Restart, program)]));
    rig.offer(whole(3, vec![version(3, InPlace::Restart, newer)]));
    assert_eq!(rig.words(), "prepare e_1 for version 2");
    answer(&mut rig, Event::ChangeReady { attempt: ONE, version: Version::new(2), refusal: None });
    assert_eq!(rig.words(), "prepare e_1 for version 3", "the newest counts");
    answer(&mut rig, Event::ChangeReady { attempt: ONE, version: Version::new(3), refusal: None });
    assert_eq!(rig.words(), "stop e_1 in 10s");
    rig.offer(whole(4, vec![stopped(version(3, InPlace::Restart, newer))]));
    rig.words();
    rig.tell(Input::ended(id(1), ONE, ExitStatus::of(ExitReason::Stopped)));
    assert_eq!((rig.stage(1), rig.words()), (Some(Stage::Ended), String::new()));
    assert_eq!(told(&mut rig).phase, Phase::Stopped);
}

#[test]
fn a_change_while_it_starts_waits_and_a_crash_goes_on_as_the_new() {
    let program = |t: &mut TaskTemplate| t.args = vec!["2".into()];
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    answer(&mut rig, Event::Prepared { attempt: ONE });
    rig.offer(whole(2, vec![version(2, InPlace::Restart, program)]));
    rig.words();
    answer(&mut rig, Event::Started { attempt: ONE, ports: Default::default() });
    assert_eq!(rig.words(), "prepare e_1 for version 2");
    assert_eq!(told(&mut rig).version, Some(Version::new(1)));
    let mut again = rig.crash(&[]);
    again.join();
    again.offer(whole(3, vec![version(2, InPlace::Restart, program)]));
    assert_eq!(again.words(), "prepare e_1/2");
    let template = again.logic.execution(id(1)).map(|one| Arc::clone(one.record.obeyed().1));
    assert_eq!(template.map(|t| t.args.clone()), Some(vec!["2".to_owned()]));
}
