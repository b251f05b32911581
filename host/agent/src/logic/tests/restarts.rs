//! Restarts in place, and of the agent itself.

use pliant_types::{
    Attempt, ExitReason, ExitStatus, Kind, Phase, phase::AttemptState, spec::RestartPolicy,
};

use super::rig::{BOOT, ONE, Rig, TWO, assigned, delta, id, stopped, template, whole};
use crate::logic::{Event, HOLD, Recovered, Stage};

fn trap() -> ExitStatus {
    ExitStatus::with_detail(ExitReason::Trapped, "unreachable executed")
}

#[test]
fn case_h10_a_task_that_always_fails_backs_off_gives_up_and_keeps_its_last_error() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    let mut attempt = ONE;
    for wait_secs in [1, 2, 4] {
        rig.up(1, attempt);
        rig.words();
        rig.ended(1, attempt, trap());
        assert_eq!(rig.phase(1), Phase::Running, "restarts do not change the phase");
        rig.pass(wait_secs - 1);
        assert_eq!(rig.words(), "");
        rig.pass(1);
        attempt = attempt.next();
        assert_eq!(rig.words(), format!("prepare e_1/{attempt}"));
        assert_eq!(rig.exit(1), trap(), "the last error stays told");
    }
    rig.up(1, attempt);
    rig.ended(1, attempt, trap());
    assert_eq!((rig.phase(1), rig.exit(1), rig.stage(1)), (Phase::Failed, trap(), Some(Stage::Ended)));
}

#[test]
fn what_an_end_means_by_kind_and_policy() {
    use Kind::{Batch, Daemon, Ops, Service};
    use RestartPolicy::{Always, Never, OnFailure};
    let exits = [
        ("exit 0", ExitStatus::exited(0)),
        ("exit 1", ExitStatus::exited(1)),
        ("port", ExitStatus::of(ExitReason::PortInUse)),
        ("artifact", ExitStatus::of(ExitReason::ArtifactInvalid)),
    ];
    let mut table = String::new();
    for kind in [Batch, Ops, Service, Daemon] {
        for policy in [Always, OnFailure, Never] {
            table += &format!("{kind:<8} {policy:<11}");
            for (name, exit) in &exits {
                let mut job = template(kind);
                job.restart.policy = policy;
                let mut rig = Rig::joined(vec![assigned(1, job)]);
                rig.up(1, ONE);
                rig.ended(1, ONE, exit.clone());
                let becomes = match rig.stage(1) {
                    Some(Stage::Collecting) => "done",
                    Some(Stage::Waiting { .. }) => "again",
                    Some(Stage::Ended) => "failed",
                    other => panic!("{other:?}"),
                };
                table += &format!(" {name}: {becomes:<7}");
            }
            table = table.trim_end().to_owned() + "\n";
        }
    }
    expect_test::expect![[r#"
        batch    always      exit 0: done    exit 1: again   port: again   artifact: failed
        batch    on-failure  exit 0: done    exit 1: again   port: again   artifact: failed
        batch    never       exit 0: done    exit 1: failed  port: failed  artifact: failed
        ops      always      exit 0: done    exit 1: again   port: again   artifact: failed
        ops      on-failure  exit 0: done    exit 1: again   port: again   artifact: failed
        ops      never       exit 0: done    exit 1: failed  port: failed  artifact: failed
        service  always      exit 0: again   exit 1: again   port: again   artifact: failed
        service  on-failure  exit 0: again   exit 1: again   port: again   artifact: failed
        service  never       exit 0: failed  exit 1: failed  port: failed  artifact: failed
        daemon   always      exit 0: again   exit 1: again   port: again   artifact: failed
        daemon   on-failure  exit 0: again   exit 1: again   port: again   artifact: failed
        daemon   never       exit 0: failed  exit 1: failed  port: failed  artifact: failed
    "#]]
    .assert_eq(&table);
}

#[test]
fn what_ran_when_the_agent_died_gets_a_new_attempt_that_spends_no_budget() {
    let job = assigned(1, template(Kind::Service));
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.up(1, ONE);
    let mut again = rig.crash(&[]);
    assert_eq!((again.words().as_str(), again.stage(1)), ("", Some(Stage::Held)));
    again.join();
    again.offer(whole(1, vec![job]));
    assert_eq!(again.words(), "prepare e_1/2");
    assert_eq!(again.phase(1), Phase::Running, "phases only go forward");
    assert_eq!(again.logic.execution(id(1)).unwrap().record.restarts.used(), 0);
}

#[test]
fn without_a_controller_it_begins_after_the_hold() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    let mut again = rig.crash(&[]);
    again.pass(HOLD.get() / 1_000);
    assert_eq!(again.words(), "prepare e_1/2");
}

#[test]
fn what_the_driver_still_runs_goes_on() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    let running = Recovered { execution: id(1), attempt: ONE, ports: [].into() };
    let mut again = rig.crash(&[running]);
    assert!(matches!(again.stage(1), Some(Stage::Up { .. })));
    again.ended(1, ONE, trap());
    assert!(matches!(again.stage(1), Some(Stage::Waiting { .. })));
}

#[test]
fn case_e55_an_end_that_is_durable_is_told_and_never_runs_again() {
    let job = assigned(1, template(Kind::Batch));
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.up(1, ONE);
    rig.ended(1, ONE, ExitStatus::exited(0));
    let mut again = rig.crash(&[]);
    assert_eq!(again.words(), "collect e_1");
    again.event(1, Event::Collected { attempt: ONE, results: None });
    let mut last = again.crash(&[]);
    last.join();
    last.offer(whole(1, vec![job]));
    last.pass(60);
    assert_eq!(last.words(), "");
    let told = &last.report[0];
    assert_eq!((told.phase, told.attempt_state), (Phase::Completed, AttemptState::Ended));
}

#[test]
fn a_stop_survives_the_agent() {
    let job = assigned(1, template(Kind::Service));
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.up(1, ONE);
    rig.offer(delta(1, vec![stopped(job)], vec![]));
    let mut again = rig.crash(&[]);
    again.pass(60);
    assert_eq!((again.words().as_str(), again.phase(1)), ("", Phase::Stopped));
}

#[test]
fn case_e57_another_boot_remembers_nothing_that_ran() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    let again = Rig::recovered(rig.image.clone(), "boot-b", &[]);
    assert!(again.image.executions.is_empty());
    assert_eq!(again.image.host.boot, "boot-b");
    assert_ne!(again.image.host.boot, BOOT);
}

#[test]
fn case_e59_a_stale_word_about_an_older_attempt_changes_nothing() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    rig.ended(1, ONE, trap());
    rig.pass(1);
    rig.up(1, TWO);
    rig.words();
    rig.ended(1, ONE, ExitStatus::exited(0));
    rig.event(1, Event::Failed { attempt: Attempt::new(3), exit: trap() });
    assert!(matches!(rig.stage(1), Some(Stage::Up { .. })));
    assert_eq!(rig.words(), "");
}
