//! Runs of batch and ops jobs as data tests: resubmission of a busy job, rerun, stop of one version.

mod common;

use common::{WASM, World, batch, of_kind, submission};
use pliant_core::{Answer, Force, SubmitOutcome, state::RunState};
use pliant_types::{
    ExitStatus, Phase,
    codes::{Code, WaitCode},
};

fn busy(mode: &str, env: &str) -> String {
    format!(
        r#"{{"kind":"batch",{WASM},"onResubmit":"{mode}","restart":{{"policy":"never"}},"env":{{"A":"{env}"}}}}"#
    )
}

fn runs(world: &World, name: &str) -> String {
    let job = world.job(name);
    let word = |(number, run): (pliant_types::Incarnation, &pliant_core::state::Incarnation)| {
        let state = match (&run.ended, run.halted) {
            (Some(end), _) if end.success => "ok",
            (Some(_), _) => "failed",
            (None, Some(_)) => "halted",
            (None, None) => "active",
        };
        format!("{number}@{}:{state}", run.version)
    };
    world.state.runs_of(job.uid).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_four_ways_of_a_changed_busy_batch_job() {
    for (mode, expected) in [
        ("replace", "1@1:halted 2@2:active"),
        ("finish-first", "1@1:active"),
        ("parallel", "1@1:active 2@2:active"),
        ("reject", "1@1:active"),
    ] {
        let mut world = World::with_hosts(1);
        world.submit("sum", &busy(mode, "1")).expect("created");
        world.obey();
        let answer = world.submit("sum", &busy(mode, "2"));
        match mode {
            "reject" => assert_eq!(answer.expect_err("refused").code, Code::ResubmitRejected),
            _ => assert_eq!(answer.expect("updated").outcome, SubmitOutcome::Updated),
        }
        assert_eq!(runs(&world, "sum"), expected, "{mode}");
        assert_eq!(
            world.run_state("sum"),
            if mode == "replace" { RunState::Pending } else { RunState::Running }
        );
    }
}

#[test]
fn finish_first_waits_with_a_reason_and_the_newest_takes_the_place_of_a_waiting_one() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &busy("finish-first", "1")).expect("created");
    world.obey();
    world.submit("sum", &busy("finish-first", "2")).expect("queued");
    let plan = world.settle();
    let wait = &plan.report.waits.values().next().expect("a reason")[0];
    assert_eq!(wait.code, WaitCode::RunQueued);
    assert_eq!(wait.sentence, "version 2 waits for the end of run 1 at version 1");
    world.submit("sum", &busy("finish-first", "3")).expect("queued");
    assert_eq!(world.live("sum")[0].version.get(), 1, "the running one is left alone");
    world.complete("sum");
    assert_eq!(runs(&world, "sum"), "1@1:ok 2@3:active");
    world.complete("sum");
    assert_eq!(runs(&world, "sum"), "1@1:ok 2@3:ok");
    assert_eq!(world.run_state("sum"), RunState::Completed);
}

#[test]
fn parallel_runs_keep_their_versions_ends_and_results_apart() {
    let mut world = World::with_hosts(2);
    world.submit("sum", &busy("parallel", "1")).expect("created");
    world.obey();
    world.submit("sum", &busy("parallel", "2")).expect("updated");
    world.obey();
    let live = world.live("sum");
    let versions: Vec<_> =
        live.iter().map(|e| (e.task.incarnation.get(), e.version.get())).collect();
    assert_eq!(versions, [(1, 1), (2, 2)]);
    world.report(live[1].id, Phase::Failed, Some(ExitStatus::exited(4)));
    world.settle();
    assert_eq!(runs(&world, "sum"), "1@1:active 2@2:failed");
    assert_eq!(world.run_state("sum"), RunState::Running, "the older run goes on");
    world.report(live[0].id, Phase::Completed, Some(ExitStatus::exited(0)));
    world.settle();
    assert_eq!(runs(&world, "sum"), "1@1:ok 2@2:failed");
    assert_eq!(world.run_state("sum"), RunState::Failed, "the newest run's end is the job's");
    let job = world.job("sum").clone();
    let marks = |n| world.state.marks(job.uid, pliant_types::Version::new(n));
    assert!(marks(1).proven_at.is_some() && marks(2).failed.is_some());
}

#[test]
fn at_most_sixteen_runs_live_beside_each_other() {
    let mut world = World::with_hosts(4);
    for n in 1..=16 {
        world.submit("sum", &busy("parallel", &n.to_string())).expect("submitted");
    }
    let refusal = world.submit("sum", &busy("parallel", "17")).expect_err("refused");
    assert_eq!(refusal.message, "16 runs of job sum live, at most 16");
    assert_eq!(world.rerun("sum").expect_err("refused").code, Code::ResubmitRejected);
    world.obey();
    assert_eq!(world.live("sum").len(), 16);
}

#[test]
fn case_b17_an_equal_of_a_failed_version_is_tried_again_with_a_warning() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &busy("replace", "bad")).expect("created");
    world.obey();
    let id = world.live("sum")[0].id;
    world.report(id, Phase::Failed, Some(ExitStatus::exited(3)));
    world.settle();
    assert_eq!(world.run_state("sum"), RunState::Failed);
    world.submit("sum", &busy("replace", "good")).expect("updated");
    let answer = world.submit("sum", &busy("replace", "bad")).expect("updated");
    assert_eq!(
        answer.warnings,
        [
            "it equals version 1, which failed: task 0 failed on its 1. placement: exited with code 3"
        ]
    );
}

#[test]
fn an_unchanged_finished_batch_is_left_alone_with_a_hint() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &batch(1)).expect("created");
    world.complete("sum");
    let answer = world.submit("sum", &batch(1)).expect("unchanged");
    assert_eq!(answer.outcome, SubmitOutcome::Unchanged);
    assert!(answer.warnings[0].contains("`pliant job rerun sum`"), "{:?}", answer.warnings);
    let mut labelled = submission("sum", &batch(1));
    labelled.labels.insert("team".into(), Some("shop".into()));
    world.submit_with(labelled).expect("updated");
    world.settle();
    assert_eq!(world.run_state("sum"), RunState::Completed, "a label runs nothing");
    let mut forced = submission("sum", &batch(1));
    forced.force = Force::Yes;
    world.submit_with(forced).expect("forced");
    world.complete("sum");
    assert_eq!(runs(&world, "sum"), "1@1:ok 2@3:ok");
}

#[test]
fn case_v39_rerun_is_judged_in_every_state_before_anything_is_written() {
    let mut table = String::new();
    for (state, mode) in [
        ("pending", "replace"),
        ("running", "replace"),
        ("running", "finish-first"),
        ("running", "parallel"),
        ("completed", "replace"),
        ("failed", "replace"),
        ("stopping", "replace"),
        ("stopped", "replace"),
    ] {
        let mut world = World::with_hosts(u32::from(state != "pending"));
        world.submit("sum", &busy(mode, "1")).expect("created");
        world.obey();
        match state {
            "completed" => world.complete("sum"),
            "failed" => {
                let id = world.live("sum")[0].id;
                world.report(id, Phase::Failed, Some(ExitStatus::exited(1)));
                world.settle();
            }
            "stopping" | "stopped" => {
                world.stop("sum").expect("stopped");
                world.settle();
                if state == "stopped" {
                    world.obey()
                }
            }
            _ => {}
        }
        assert_eq!(world.run_state("sum").as_str(), state);
        let entries = world.journal.len();
        let word = match world.rerun("sum") {
            Ok(_) => runs(&world, "sum"),
            Err(refusal) => {
                assert_eq!(world.journal.len(), entries);
                refusal.code.to_string()
            }
        };
        table += &format!("{state:<10} {mode:<13} {word}\n");
    }
    expect_test::expect![[r#"
        pending    replace       wrong-state
        running    replace       wrong-state
        running    finish-first  1@1:active
        running    parallel      1@1:active 2@1:active
        completed  replace       1@1:ok 2@1:active
        failed     replace       1@1:failed 2@1:active
        stopping   replace       1@1:halted 2@1:active
        stopped    replace       1@1:halted 2@1:active
    "#]]
    .assert_eq(&table);
}

#[test]
fn case_e64_a_rerun_numbers_its_tasks_anew_and_never_runs_beside_the_run_before() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &batch(2)).expect("created");
    world.obey();
    world.stop("sum").expect("stopped");
    world.settle();
    world.rerun("sum").expect("again");
    let plan = world.settle();
    let wait = &plan.report.waits.values().next().expect("a reason")[0];
    assert_eq!(wait.code, WaitCode::StopUnconfirmed);
    world.obey();
    let numbers: Vec<_> = world.live("sum").iter().map(|e| e.task.number.get()).collect();
    assert_eq!(numbers, [0, 1]);
}

#[test]
fn stop_of_one_version_leaves_the_others_and_is_refused_for_services() {
    let mut world = World::with_hosts(2);
    world.submit("sum", &busy("parallel", "1")).expect("created");
    world.submit("sum", &busy("parallel", "2")).expect("updated");
    world.obey();
    world.stop_version("sum", 1).expect("stopped");
    world.obey();
    assert_eq!(runs(&world, "sum"), "1@1:halted 2@2:active");
    assert_eq!(world.run_state("sum"), RunState::Running);
    world.stop_version("sum", 2).expect("stopped");
    world.settle();
    assert_eq!(world.run_state("sum"), RunState::Stopping);
    world.obey();
    assert_eq!(world.run_state("sum"), RunState::Stopped);
    let entries = world.journal.len();
    world.stop_version("sum", 1).expect("nothing to do");
    assert_eq!(world.journal.len(), entries);
    assert_eq!(world.stop_version("sum", 9).expect_err("no such").code, Code::VersionNotFound);
    let answer = world.submit("sum", &busy("parallel", "2")).expect("started");
    assert_eq!(answer.outcome, SubmitOutcome::Started, "case BC2");
    world.obey();
    assert_eq!(world.run_state("sum"), RunState::Running);
    world.submit("web", &common::service(1)).expect("created");
    assert_eq!(world.stop_version("web", 1).expect_err("refused").code, Code::WrongState);
    assert_eq!(world.rerun("web").expect_err("refused").code, Code::WrongState);
}

#[test]
fn a_queued_version_can_be_taken_back_and_survives_stop_and_start() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &busy("finish-first", "1")).expect("created");
    world.obey();
    world.submit("sum", &busy("finish-first", "2")).expect("queued");
    world.stop("sum").expect("stopped");
    world.obey();
    assert_eq!(world.run_state("sum"), RunState::Stopped);
    world.start("sum").expect("started");
    world.obey();
    assert_eq!(world.live("sum")[0].version.get(), 1, "the interrupted run goes on first");
    world.stop_version("sum", 2).expect("taken back");
    assert_eq!(world.job("sum").queued, None);
    world.complete("sum");
    assert_eq!(world.run_state("sum"), RunState::Completed);
}

#[test]
fn finish_first_reruns_after_the_present_run() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &busy("finish-first", "1")).expect("created");
    world.obey();
    assert!(matches!(world.rerun("sum").expect("queued"), Answer::Job { .. }));
    world.complete("sum");
    assert_eq!(runs(&world, "sum"), "1@1:ok 2@1:active");
}

#[test]
fn history_of_runs_keeps_ten_and_never_a_live_one() {
    let mut world = World::with_hosts(4);
    for n in 0..15 {
        world
            .submit(
                "fix",
                &of_kind("ops").replace("\"kind\"", &format!("\"env\":{{\"A\":\"{n}\"}},\"kind\"")),
            )
            .expect("submitted");
        world.complete("fix");
    }
    let job = world.job("fix").clone();
    assert_eq!(world.state.runs_of(job.uid).count(), 11);
    assert_eq!(world.run_state("fix"), RunState::Completed);
}

#[test]
fn case_n13_a_stop_of_a_job_that_has_ended_changes_nothing() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &batch(1)).expect("created");
    world.complete("sum");
    let entries = world.journal.len();
    world.stop("sum").expect("nothing to do");
    assert_eq!((world.journal.len(), world.run_state("sum")), (entries, RunState::Completed));
    assert_eq!(world.start("sum").expect_err("it is over").code, Code::WrongState);
    let answer = world.submit("sum", &batch(1)).expect("unchanged");
    assert_eq!(answer.outcome, SubmitOutcome::Unchanged);
}
