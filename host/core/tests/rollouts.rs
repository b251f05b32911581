//! Rollouts as data tests: each moves a small job through the states of 03-jobs.md, section 5, and
//! names the reported faults that it would have.

mod common;

use common::{WASM, World};
use pliant_core::{
    RolloutVerb, ScaleTo, SubmitOutcome,
    state::{Execution, Rollout, RolloutCause, RolloutReason, RolloutState, StopCause},
};
use pliant_types::{
    ExitReason, ExitStatus, Phase,
    codes::{Code, WaitCode},
};

/// A service with a value that makes its template differ, and a block of `update`.
fn web(count: u32, value: &str, update: &str) -> String {
    format!(
        r#"{{"kind":"service","count":{count},{WASM},"env":{{"A":"{value}"}},"update":{{{update}}}}}"#
    )
}

/// A cluster with a proven first version of `web`.
fn proven(hosts: u32, count: u32, update: &str) -> World {
    let mut world = World::with_hosts(hosts);
    world.submit("web", &web(count, "1", update)).expect("created");
    let rollout = world.roll("web");
    assert_eq!(rollout.progress.state, RolloutState::Successful);
    world
}

fn versions(world: &World) -> Vec<u32> {
    world.all_live("web").iter().map(|e| e.version.get()).collect()
}

fn state(world: &World) -> RolloutState {
    world.rollout("web").progress.state
}

fn wait(world: &mut World, code: WaitCode) -> String {
    let plan = world.settle();
    let waits: Vec<_> = plan.report.waits.values().flatten().collect();
    let found = waits.iter().find(|wait| wait.code == code);
    assert!(found.is_some(), "no {code} in {waits:?}");
    found.map(|wait| wait.sentence.clone()).unwrap_or_default()
}

/// The guests of a version fail until their executions are given up.
fn fail_all(world: &mut World, version: u32) {
    world.settle();
    let bad: Vec<_> =
        world.all_live("web").into_iter().filter(|e| e.version.get() == version).collect();
    for execution in bad {
        let exit = ExitStatus::with_detail(ExitReason::Trapped, "unreachable");
        world.report(execution.id, Phase::Failed, Some(exit));
    }
    world.settle();
}

fn by_version(world: &World, version: u32) -> Vec<Execution> {
    world.all_live("web").into_iter().filter(|e| e.version.get() == version).collect()
}

#[test]
fn case_d39_d47_a_version_is_done_when_every_task_is_at_it_and_nothing_old_serves() {
    let mut world = proven(2, 3, "");
    let answer = world.submit("web", &web(3, "2", "")).expect("updated");
    assert_eq!(answer.rollout, Some(world.rollout("web").id));
    world.obey();
    assert_eq!(state(&world), RolloutState::Progressing);
    assert_eq!(versions(&world), [1, 2, 1, 1], "one successor beside its task");
    world.later(10_000);
    world.settle();
    let stopping: Vec<_> = world.all_live("web").into_iter().filter(|e| !e.is_wanted()).collect();
    assert_eq!(stopping.len(), 1);
    assert_eq!(stopping[0].stop, Some(StopCause::Update), "case D40: it drains");
    let rollout = world.roll("web");
    assert_eq!(rollout.progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2, 2, 2]);
    let job = world.job("web").clone();
    assert!(world.state.is_proven(job.uid, job.current));
}

#[test]
fn case_d24_growth_during_a_rollout_goes_to_the_proven_version_until_the_target_is() {
    let mut world = proven(3, 2, "");
    world.submit("web", &web(2, "2", "")).expect("updated");
    world.settle();
    world.scale("web", ScaleTo::Exactly(4)).expect("case S5, S6: accepted");
    world.settle();
    let new: Vec<_> =
        world.all_live("web").into_iter().filter(|e| e.phase == Phase::Placed).collect();
    let at: Vec<_> = new.iter().map(|e| (e.task.number.get(), e.version.get())).collect();
    assert_eq!(at, [(0, 2), (2, 1), (3, 1)]);
    let rollout = world.roll("web");
    assert_eq!(rollout.progress.state, RolloutState::Successful, "case D14: not blocked");
    assert_eq!(versions(&world), [2, 2, 2, 2]);
    world.scale("web", ScaleTo::Exactly(5)).expect("grown");
    world.settle();
    assert_eq!(versions(&world), [2, 2, 2, 2, 2]);
}

#[test]
fn case_d23_count_and_code_changed_together_are_two_separate_steps() {
    let mut world = proven(3, 3, "");
    world.submit("web", &web(5, "2", "")).expect("updated");
    world.settle();
    assert_eq!(versions(&world), [1; 5], "first the new tasks, at the proven version (case D24)");
    world.obey();
    assert_eq!(by_version(&world, 2).len(), 1, "then one at a time as ever");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2; 5]);
}

#[test]
fn case_d1_d2_a_third_version_takes_over_and_the_serving_set_stays() {
    let mut world = proven(3, 3, r#""canary":1"#);
    world.submit("web", &web(3, "2", r#""canary":1"#)).expect("updated");
    world.obey();
    assert_eq!(by_version(&world, 2).len(), 1);
    world.submit("web", &web(3, "3", r#""canary":1"#)).expect("updated");
    let second = world.state.rollouts_of(world.job("web").uid).nth(1).expect("kept").clone();
    assert_eq!(second.progress.state, RolloutState::Superseded);
    let words = second.progress.message.expect("case D35: names who took over");
    assert!(words.contains("version 3"), "{words}");
    world.settle();
    let asked: Vec<_> =
        world.all_live("web").iter().filter(|e| e.is_wanted()).map(|e| e.version.get()).collect();
    assert_eq!(asked, [1, 3, 1, 1], "the second's canary goes, the first keeps serving");
    assert_eq!(world.roll("web").progress.state, RolloutState::AwaitingPromotion);
}

#[test]
fn case_d7_d8_d10_d11_canaries_wait_for_a_word_and_the_clock_stands() {
    let mut world = proven(3, 4, "");
    world.submit("web", &web(4, "2", r#""canary":2"#)).expect("updated");
    world.obey();
    assert_eq!(by_version(&world, 2).len(), 2);
    assert_eq!(by_version(&world, 1).len(), 4, "a canary runs beside its task");
    let canary = by_version(&world, 2)[0].clone();
    world.report(canary.id, Phase::Preparing, None);
    world.later(10_000);
    world.settle();
    assert_eq!(state(&world), RolloutState::Progressing, "case D28: one has dipped");
    assert_eq!(world.roll("web").progress.state, RolloutState::AwaitingPromotion);
    world.later(24 * 3_600_000);
    world.obey();
    let rollout = world.rollout("web");
    assert_eq!(
        (rollout.progress.state, rollout.progress.deadline),
        (RolloutState::AwaitingPromotion, None)
    );
    assert!(wait(&mut world, WaitCode::AwaitingPromotion).contains("promote"));
    world.verb("web", RolloutVerb::Promote).expect("promoted");
    let promoted = world.rollout("web").progress;
    assert!(promoted.promoted && promoted.deadline.is_some_and(|at| at > world.now));
    world.verb("web", RolloutVerb::Promote).expect("again is nothing to do");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2; 4]);
}

#[test]
fn case_d8_canaries_promote_themselves_after_their_bake() {
    let mut world = proven(2, 2, "");
    let auto = r#""canary":1,"autoPromote":true,"bake":"30s""#;
    world.submit("web", &web(2, "2", auto)).expect("updated");
    assert_eq!(world.roll("web").progress.state, RolloutState::AwaitingPromotion);
    let until = world.rollout("web").progress.until.expect("a stored time");
    assert_eq!(until.since(world.now).get(), 30_000);
    world.later(30_000);
    world.settle();
    assert_eq!(state(&world), RolloutState::Progressing);
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
}

#[test]
fn case_d25_d27_a_canary_whose_host_is_lost_is_placed_again_as_a_canary() {
    let mut world = proven(3, 2, "");
    world.submit("web", &web(2, "2", r#""canary":1"#)).expect("updated");
    world.obey();
    let canary = by_version(&world, 2)[0].clone();
    world.silent(canary.host, pliant_types::host::HostStage::Lost);
    world.settle();
    world.obey();
    assert_eq!(world.rollout("web").progress.canaries, [canary.task.number]);
    let again = by_version(&world, 2);
    assert_eq!((again.len(), again[0].task), (1, canary.task), "the mark is on the task");
    assert_eq!(world.roll("web").progress.state, RolloutState::AwaitingPromotion);
}

#[test]
fn blue_green_runs_a_whole_second_set_and_keeps_the_first_for_a_while() {
    let mut world = proven(3, 3, "");
    let green = r#""strategy":"blue-green""#;
    world.submit("web", &web(3, "2", green)).expect("updated");
    world.obey();
    assert_eq!((by_version(&world, 1).len(), by_version(&world, 2).len()), (3, 3));
    assert_eq!(world.roll("web").progress.state, RolloutState::AwaitingPromotion);
    assert_eq!(by_version(&world, 1).len(), 3, "the old set serves");
    world.verb("web", RolloutVerb::Promote).expect("promoted");
    world.obey();
    assert_eq!(by_version(&world, 1).len(), 3, "kept as an instant way back");
    assert!(wait(&mut world, WaitCode::Retiring).contains("1m"));
    world.later(60_000);
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2; 3]);
}

#[test]
fn blue_green_goes_back_at_once_while_the_old_set_is_kept() {
    let mut world = proven(3, 2, "");
    let old: Vec<_> = world.live("web").iter().map(|e| e.id).collect();
    world.submit("web", &web(2, "2", r#""strategy":"blue-green""#)).expect("updated");
    world.roll("web");
    world.verb("web", RolloutVerb::Promote).expect("promoted");
    world.obey();
    world.verb("web", RolloutVerb::Abort).expect("aborted");
    world.settle();
    let asked: Vec<_> =
        world.all_live("web").iter().filter(|e| e.is_wanted()).map(|e| e.id).collect();
    assert_eq!(asked, old, "case B4: what never stopped is kept as it is");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
}

#[test]
fn recreate_stops_everything_before_anything_starts() {
    let mut world = proven(2, 3, "");
    world.submit("web", &web(3, "2", r#""strategy":"recreate""#)).expect("updated");
    world.settle();
    assert!(world.all_live("web").iter().all(|e| !e.is_wanted()));
    let one = world.all_live("web")[0].id;
    world.report(one, Phase::Stopped, None);
    assert!(wait(&mut world, WaitCode::OldNotEnded).contains('2'));
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2; 3]);
}

#[test]
fn case_b2_b10_b13_b15_a_failed_version_rolls_back_by_itself_and_says_why() {
    let mut world = proven(2, 3, "");
    world.submit("web", &web(3, "2", "")).expect("updated");
    fail_all(&mut world, 2);
    let uid = world.job("web").uid;
    let all: Vec<Rollout> = world.state.rollouts_of(uid).cloned().collect();
    let (failed, back) = (&all[1], &all[2]);
    assert_eq!(failed.progress.state, RolloutState::Failed);
    assert_eq!(failed.progress.reason, Some(RolloutReason::TaskFailed));
    let why = failed.progress.message.clone().expect("case B10: a reason");
    assert!(why.contains("task 0") && why.contains("unreachable"), "{why}");
    assert_eq!((back.cause, back.undoes), (RolloutCause::AutoRollback, Some(failed.id)));
    let current = world.state.current_version(world.job("web")).expect("kept").record.clone();
    assert_eq!((current.number.get(), current.from.map(|v| v.get())), (3, Some(1)));
    assert_eq!(current.author, "pliant");
    assert!(by_version(&world, 1).is_empty(), "relabelled without a restart");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    let answer = world.submit("web", &web(3, "2", "")).expect("case B17: a new attempt");
    assert_eq!(answer.outcome, SubmitOutcome::Updated);
    assert!(answer.warnings[0].contains("equals version 2, which failed"), "{:?}", answer.warnings);
}

#[test]
fn case_b3_b5_a_rollback_keeps_what_is_at_the_target_and_removes_the_bad_first() {
    let mut world = proven(3, 3, "");
    let first: Vec<_> = world.live("web").iter().map(|e| e.id).collect();
    world.submit("web", &web(3, "2", r#""canary":1"#)).expect("updated");
    world.roll("web");
    world.verb("web", RolloutVerb::Promote).expect("promoted");
    world.obey();
    world.later(10_000);
    world.obey();
    world.settle();
    let moved = by_version(&world, 2);
    assert!(!moved.is_empty() && !by_version(&world, 1).is_empty());
    world.verb("web", RolloutVerb::Abort).expect("aborted");
    world.settle();
    let rollout = world.rollout("web");
    assert_eq!(rollout.cause, RolloutCause::AutoRollback);
    assert!(rollout.progress.canaries.is_empty(), "case B3: no canary on the way back");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    let kept = world.live("web").iter().filter(|e| first.contains(&e.id)).count();
    assert!(kept >= 1, "case B4: kept as they are");
    assert_eq!(versions(&world), [3; 3]);
}

#[test]
fn case_b9_a_first_version_that_fails_has_no_way_back_and_is_tried_for_ever() {
    let mut world = World::with_hosts(1);
    world.submit("web", &web(1, "1", "")).expect("created");
    fail_all(&mut world, 1);
    assert_eq!(state(&world), RolloutState::Failed);
    let plan = world.settle();
    let wait = plan.report.waits.values().flatten().next().expect("case H8: a next attempt");
    assert_eq!(wait.code, WaitCode::BackOff);
    world.later(5_000);
    world.settle();
    assert_eq!(versions(&world), [1], "case H10: with back-off");
    let again = world.submit("web", &web(1, "1", "")).expect("a new try of the same version");
    assert_eq!((again.outcome, again.version.get()), (SubmitOutcome::Started, 1));
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
}

#[test]
fn a_failed_rollback_is_never_rolled_back_itself() {
    let mut world = proven(2, 1, "");
    world.submit("web", &web(1, "2", "")).expect("updated");
    fail_all(&mut world, 2);
    world.settle();
    assert_eq!(world.rollout("web").cause, RolloutCause::AutoRollback);
    fail_all(&mut world, 3);
    let last = world.rollout("web");
    assert_eq!(
        (last.cause, last.progress.state),
        (RolloutCause::AutoRollback, RolloutState::Failed)
    );
    world.later(10_000);
    world.settle();
    assert_eq!(versions(&world), [3], "and the proven version is tried on");
}

#[test]
fn case_d4_a_failed_version_is_never_placed_newly() {
    let mut world = proven(2, 3, "");
    let kept = r#""autoRollback":false,"maxParallel":2,"maxSurge":2"#;
    world.submit("web", &web(3, "2", kept)).expect("updated");
    world.obey();
    let good = by_version(&world, 2);
    assert_eq!(good.len(), 2);
    let exit = ExitStatus::of(ExitReason::Trapped);
    world.report(good[0].id, Phase::Failed, Some(exit));
    world.settle();
    assert_eq!(state(&world), RolloutState::Failed);
    world.obey();
    assert_eq!(by_version(&world, 2).len(), 0, "successors beside serving tasks go");
    let lost = world.live("web")[0].host;
    world.silent(lost, pliant_types::host::HostStage::Lost);
    world.settle();
    world.obey();
    assert_eq!(versions(&world), [1; 3]);
}

#[test]
fn case_d12_d43_a_pause_stops_the_clock_and_a_rollback_ends_it() {
    let mut world = proven(2, 3, "");
    world.submit("web", &web(3, "2", "")).expect("updated");
    world.obey();
    let left = world.rollout("web").progress.deadline.expect("armed").since(world.now).get();
    world.verb("web", RolloutVerb::Pause).expect("paused");
    world.later(3_600_000);
    world.obey();
    assert_eq!((state(&world), by_version(&world, 2).len()), (RolloutState::Paused, 1));
    assert!(wait(&mut world, WaitCode::RolloutPaused).contains("paused"));
    world.scale("web", ScaleTo::Exactly(4)).expect("case D42: scale acts");
    world.settle();
    assert_eq!(by_version(&world, 1).len(), 4, "on the proven version");
    let refusal = world.verb("web", RolloutVerb::Promote).expect_err("nothing to promote");
    assert_eq!(refusal.code, Code::WrongState);
    world.verb("web", RolloutVerb::Resume).expect("resumed");
    let again = world.rollout("web").progress.deadline.expect("armed").since(world.now).get();
    assert_eq!(again, left, "re-armed with what was left");
    world.verb("web", RolloutVerb::Pause).expect("paused again");
    world.rollback("web", None).expect("case D43: allowed from paused");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [3; 4]);
}

#[test]
fn case_d14_d38_a_deadline_is_a_stored_time_and_a_lack_of_room_is_told_in_numbers() {
    let mut world = proven(1, 2, "");
    let big = web(2, "2", r#""progressDeadline":"5m""#).replacen(
        '{',
        r#"{"resources":{"memory":"1000Mi"},"#,
        1,
    );
    world.submit("web", &big).expect("updated");
    let words = wait(&mut world, WaitCode::NoRoom);
    assert!(words.contains("no room"), "{words}");
    assert_eq!(by_version(&world, 1).len(), 2, "case D18: nothing is stopped in vain");
    world.later(300_000);
    world.settle();
    let uid = world.job("web").uid;
    let failed = world.state.rollouts_of(uid).nth(1).expect("kept").clone();
    assert_eq!(failed.progress.reason, Some(RolloutReason::ProgressDeadline));
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful, "and back");
}

#[test]
fn a_task_that_never_gets_healthy_fails_the_rollout_at_its_deadline() {
    let mut world = proven(2, 2, "");
    world.submit("web", &web(2, "2", r#""healthyDeadline":"1m""#)).expect("updated");
    world.settle();
    let new = by_version(&world, 2)[0].clone();
    world.report(new.id, Phase::Preparing, None);
    let wake = world.settle().wake_at.expect("a wake-up");
    assert!(wake.since(world.now).get() <= 60_000);
    world.later(60_000);
    world.settle();
    let uid = world.job("web").uid;
    let failed = world.state.rollouts_of(uid).nth(1).expect("kept").clone();
    assert_eq!(failed.progress.reason, Some(RolloutReason::HealthyDeadline));
    assert!(failed.progress.message.expect("words").contains("task 0 on host"));
}
