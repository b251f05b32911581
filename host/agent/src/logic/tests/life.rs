//! One execution from its assignment to its end.

use pliant_types::{ExitReason, ExitStatus, Health, Kind, Millis, Phase, phase::AttemptState};

use super::rig::{ONE, Rig, TWO, assigned, delta, id, stopped, template, whole};
use crate::logic::{Event, Stage};

#[test]
fn runs_what_is_assigned_and_reports_it() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    assert_eq!(rig.words(), "prepare e_1/1");
    rig.acknowledge();
    rig.prepared(1, ONE);
    assert_eq!(rig.words(), "start e_1/1");
    rig.acknowledge();
    rig.started(1, ONE);
    let told = &rig.report[0];
    assert_eq!((told.phase, told.attempt_state), (Phase::Running, AttemptState::Up));
    assert_eq!(told.health, Health::Healthy);
}

#[test]
fn a_batch_task_is_completed_after_its_results_are_kept() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Batch))]);
    rig.up(1, ONE);
    rig.words();
    rig.ended(1, ONE, ExitStatus::exited(0));
    assert_eq!(rig.words(), "collect e_1");
    assert_eq!(rig.phase(1), Phase::Running);
    rig.event(1, Event::Collected { attempt: ONE, results: None });
    assert_eq!((rig.phase(1), rig.exit(1)), (Phase::Completed, ExitStatus::exited(0)));
}

#[test]
fn results_that_cannot_be_kept_are_a_failure_with_words() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Batch))]);
    rig.up(1, ONE);
    rig.ended(1, ONE, ExitStatus::exited(0));
    let exit = ExitStatus::with_detail(ExitReason::HostFailure, "more than 5 entries");
    rig.event(1, Event::Failed { attempt: ONE, exit: exit.clone() });
    assert_eq!((rig.phase(1), rig.exit(1)), (Phase::Failed, exit));
}

#[test]
fn case_n12_is_stopped_only_when_the_driver_says_so() {
    let job = assigned(1, template(Kind::Service));
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.up(1, ONE);
    rig.words();
    rig.offer(delta(1, vec![stopped(job)], vec![]));
    assert_eq!(rig.words(), "stop e_1 in 10s");
    assert_eq!(rig.phase(1), Phase::Stopping);
    rig.ended(1, ONE, ExitStatus::of(ExitReason::Stopped));
    assert_eq!(rig.phase(1), Phase::Stopped);
    assert_eq!(rig.exit(1).reason, ExitReason::Stopped);
}

#[test]
fn what_does_not_end_in_its_time_is_cut_off_and_again() {
    let job = assigned(1, template(Kind::Service));
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.up(1, ONE);
    rig.offer(delta(1, vec![stopped(job)], vec![]));
    rig.words();
    rig.pass(9);
    assert_eq!(rig.words(), "");
    rig.pass(1);
    assert_eq!(rig.words(), "stop e_1 in 0s");
    rig.pass(10);
    assert_eq!(rig.words(), "stop e_1 in 0s");
    assert_eq!(rig.phase(1), Phase::Stopping, "nothing was confirmed");
    rig.ended(1, ONE, ExitStatus::of(ExitReason::Stopped));
    assert_eq!((rig.phase(1), rig.exit(1).reason), (Phase::Stopped, ExitReason::Killed));
}

#[test]
fn a_stop_during_a_start_waits_for_it() {
    let job = assigned(1, template(Kind::Service));
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.prepared(1, ONE);
    rig.words();
    rig.offer(delta(1, vec![stopped(job)], vec![]));
    assert_eq!(rig.words(), "");
    rig.pass(4);
    rig.started(1, ONE);
    assert_eq!(rig.words(), "stop e_1 in 6s");
}

#[test]
fn nothing_begins_after_a_stop_was_asked() {
    let job = assigned(1, template(Kind::Service));
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.words();
    rig.offer(delta(1, vec![stopped(job)], vec![]));
    rig.prepared(1, ONE);
    assert_eq!((rig.words().as_str(), rig.phase(1)), ("", Phase::Stopped));
}

#[test]
fn an_execution_that_is_to_stop_before_it_was_known_is_told_as_stopped() {
    let rig = Rig::joined(vec![stopped(assigned(1, template(Kind::Service)))]);
    assert_eq!(rig.phase(1), Phase::Stopped);
    assert!(rig.steps.is_empty());
}

#[test]
fn the_time_limit_spans_attempts_and_ends_in_failure() {
    let mut limited = template(Kind::Batch);
    limited.execution_timeout = Millis::from_secs(30);
    let mut rig = Rig::joined(vec![assigned(1, limited)]);
    rig.up(1, ONE);
    rig.pass(20);
    rig.ended(1, ONE, ExitStatus::exited(1));
    rig.pass(1);
    rig.up(1, TWO);
    rig.words();
    rig.pass(8);
    assert_eq!(rig.words(), "");
    rig.pass(1);
    assert_eq!(rig.words(), "stop e_1 in 10s");
    rig.ended(1, TWO, ExitStatus::of(ExitReason::Stopped));
    assert_eq!((rig.phase(1), rig.exit(1).reason), (Phase::Failed, ExitReason::TimedOut));
}

#[test]
fn case_h9_what_is_no_longer_listed_ends_and_is_forgotten_without_a_report() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    rig.acknowledge();
    rig.acknowledge();
    rig.report.clear();
    rig.words();
    rig.offer(whole(2, vec![]));
    assert_eq!(rig.words(), "stop e_1 in 10s");
    rig.ended(1, ONE, ExitStatus::of(ExitReason::Stopped));
    assert_eq!(rig.words(), "remove e_1");
    rig.event(1, Event::Removed);
    assert_eq!(rig.stage(1), None);
    assert!(rig.image.executions.is_empty() && rig.report.is_empty());
}

#[test]
fn case_d17_a_port_stays_told_until_the_end_is_confirmed() {
    let job = assigned(1, template(Kind::Service));
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.prepared(1, ONE);
    let ports: std::collections::BTreeMap<_, _> =
        [("http".parse().unwrap(), 20_000)].into_iter().collect();
    rig.event(1, Event::Started { attempt: ONE, ports: ports.clone() });
    rig.offer(delta(1, vec![stopped(job)], vec![]));
    let ports_now = |rig: &Rig| rig.logic.execution(id(1)).unwrap().ports.clone();
    assert_eq!(ports_now(&rig), ports);
    rig.ended(1, ONE, ExitStatus::of(ExitReason::Stopped));
    assert!(ports_now(&rig).is_empty());
}

#[test]
fn an_exclusive_execution_ends_with_the_lease_and_others_go_on() {
    let mut exclusive = template(Kind::Service);
    exclusive.exclusive = true;
    let mut rig =
        Rig::joined(vec![assigned(1, exclusive), assigned(2, template(Kind::Service))]);
    rig.up(1, ONE);
    rig.up(2, ONE);
    rig.words();
    rig.pass(14);
    assert_eq!(rig.words(), "");
    rig.pass(1);
    assert_eq!(rig.words(), "stop e_1 in 10s");
    rig.ended(1, ONE, ExitStatus::of(ExitReason::Stopped));
    assert_eq!(rig.phase(1), Phase::Failed);
    assert!(rig.exit(1).detail.unwrap().contains("lease"));
    assert!(matches!(rig.stage(2), Some(Stage::Up { .. })));
}

#[test]
fn an_exclusive_execution_does_not_begin_without_a_lease() {
    let mut exclusive = template(Kind::Service);
    exclusive.exclusive = true;
    let mut rig = Rig::joined(vec![]);
    rig.pass(15);
    rig.offer(whole(2, vec![assigned(1, exclusive)]));
    assert_eq!((rig.words().as_str(), rig.stage(1)), ("", Some(Stage::Held)));
    rig.renew();
    assert_eq!(rig.words(), "prepare e_1/1");
}
