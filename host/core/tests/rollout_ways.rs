//! How tasks of a rollout get to its version: budget, changes in place, successors, stop-first, moves;
//! names the reported faults that it would have (03-jobs.md, section 4).

mod common;

use common::{WASM, World, description, of_kind, service, submission};
use pliant_core::{
    Command, Force, RegisterHost, RolloutVerb,
    state::{Execution, RolloutCause, RolloutState},
};
use pliant_types::{
    ChangeClass, ExitReason, ExitStatus, Health, Phase,
    assignment::InPlace,
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
fn case_d20_d21_d22_missing_and_starting_tasks_count_against_the_budget() {
    let mut world = proven(4, 4, "");
    world.submit("web", &web(4, "2", r#""maxParallel":2,"maxSurge":4"#)).expect("updated");
    world.settle();
    assert_eq!(by_version(&world, 2).len(), 2);
    for _ in 0..5 {
        world.later(1_000);
        world.settle();
        assert_eq!(by_version(&world, 2).len(), 2, "planning again starts no more");
    }
    let old = by_version(&world, 1).into_iter().find(|e| e.task.number.get() == 3).expect("one");
    world.report(old.id, Phase::Failed, Some(ExitStatus::of(ExitReason::Trapped)));
    world.obey();
    world.later(10_000);
    world.settle();
    let moving = by_version(&world, 2).len();
    assert!(moving <= 4, "{moving} with one of four missing");
}

#[test]
fn case_d37_unhealthy_old_tasks_go_first_and_need_no_budget_of_availability() {
    let mut world = proven(2, 3, "");
    let sick = world.live("web")[2].clone();
    world.report(sick.id, Phase::Preparing, None);
    world.submit("web", &web(3, "2", "")).expect("updated");
    world.settle();
    assert_eq!(by_version(&world, 2)[0].task, sick.task);
}

#[test]
fn case_d16_d17_d18_a_static_port_is_stopped_first_one_task_at_a_time() {
    let mut world = World::with_hosts(2);
    let port =
        |value: &str| web(2, value, "").replacen('{', r#"{"ports":[{"name":"p","static":80}],"#, 1);
    world.submit("web", &port("1")).expect("created");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    // Another env would do with a restart in place; a forced version keeps that class.
    world.submit("web", &port("2")).expect("updated");
    world.settle();
    assert!(world.rollout("web").progress.forced, "condition StopFirstForced");
    let away: Vec<_> = world.live("web").into_iter().filter(|e| !e.is_settled()).collect();
    assert_eq!((away.len(), away[0].in_place), (1, InPlace::Restart));
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
}

#[test]
fn case_d49_start_first_under_a_span_ignores_the_task_that_it_replaces() {
    let mut world = World::with_hosts(2);
    let spread = |value: &str| {
        web(2, value, "").replacen('{', r#"{"placement":{"span":"one-per-host"},"#, 1)
    };
    world.submit("web", &spread("1")).expect("created");
    world.roll("web");
    world.submit("web", &spread("2")).expect("updated");
    world.settle();
    assert_eq!(by_version(&world, 2).len(), 1);
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
}

#[test]
fn a_restart_in_place_spends_the_budget_of_missing_tasks() {
    let mut world = proven(2, 3, "");
    let ids: Vec<_> = world.live("web").iter().map(|e| e.id).collect();
    world.submit("web", &web(3, "2", r#""maxUnavailable":1"#)).expect("updated");
    world.settle();
    let away: Vec<_> = world.live("web").into_iter().filter(|e| !e.is_settled()).collect();
    assert_eq!((away.len(), away[0].in_place), (1, InPlace::Restart));
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(world.live("web").iter().map(|e| e.id).collect::<Vec<_>>(), ids, "where they were");
}

#[test]
fn case_i17_more_memory_is_given_live_and_moved_to_when_the_host_is_full() {
    let sized = |mib: u32| {
        service(2).replacen('{', &format!(r#"{{"resources":{{"memory":"{mib}Mi"}},"#), 1)
    };
    let mut world = World::with_hosts(2);
    world.submit("web", &sized(400)).expect("created");
    world.roll("web");
    let before: Vec<_> = world.live("web").iter().map(|e| e.id).collect();
    let answer = world.submit("web", &sized(480)).expect("updated");
    assert_eq!(answer.changes[0].class, ChangeClass::Resize);
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    let after = world.live("web");
    assert_eq!(after.iter().map(|e| e.id).collect::<Vec<_>>(), before, "live, where they were");
    assert!(after.iter().all(|e| e.memory.bytes() == 480 << 20));

    world.submit("web", &sized(700)).expect("updated");
    let words = wait(&mut world, WaitCode::ResizeDeferred);
    assert!(words.contains("has 544Mi") || words.contains("for it"), "{words}");
    world.later(60_000);
    world.settle();
    let moved: Vec<_> = by_version(&world, 3);
    assert_eq!(moved.len(), 1, "a minute later it moves to the host with room");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
}

#[test]
fn less_memory_is_released_when_the_host_has_obeyed_and_a_refusal_is_taken_back() {
    let sized = |mib: u32| {
        service(1).replacen('{', &format!(r#"{{"resources":{{"memory":"{mib}Mi"}},"#), 1)
    };
    let mut world = World::with_hosts(1);
    world.submit("web", &sized(400)).expect("created");
    world.roll("web");
    world.submit("web", &sized(200)).expect("updated");
    world.settle();
    let asked = world.live("web")[0].clone();
    assert_eq!(
        (asked.memory.bytes() >> 20, asked.in_place),
        (400, InPlace::Live),
        "held until then"
    );
    world.refuse(asked.id);
    world.settle();
    let back = world.live("web")[0].clone();
    assert_eq!((back.version.get(), back.cannot.map(|v| v.get())), (1, Some(2)));
    world.obey();
    let next = world.all_live("web");
    assert_eq!(next.len(), 2, "a successor, since no task may be away");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(world.live("web")[0].memory.bytes() >> 20, 200);
}

#[test]
fn case_i2_i4_i13_a_constraint_moves_only_the_tasks_that_it_forbids() {
    let mut world = World::with_hosts(3);
    let spread = service(3).replacen('{', r#"{"placement":{"span":"one-per-host"},"#, 1);
    world.submit("web", &spread).expect("created");
    world.roll("web");
    let before = world.live("web");
    let narrow = service(3).replacen(
        '{',
        r#"{"placement":{"span":"any","constraints":["host != host-2"]},"#,
        1,
    );
    let answer = world.submit("web", &narrow).expect("updated");
    assert!(answer.rollout.is_some());
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    let after = world.live("web");
    let kept = after.iter().filter(|e| before.iter().any(|old| old.id == e.id)).count();
    assert_eq!(kept, 2);
    let allowed = |e: &Execution| {
        world.state.hosts.get(&e.host).is_some_and(|h| h.description.name.to_string() != "host-2")
    };
    assert!(after.iter().all(allowed));
}

#[test]
fn case_b12_a_daemon_is_gated_by_health_and_rolls_back_like_a_service() {
    let mut world = World::with_hosts(3);
    let log =
        |value: &str| of_kind("daemon").replacen('{', &format!(r#"{{"env":{{"A":"{value}"}},"#), 1);
    world.submit("web", &log("1")).expect("created");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful, "case V12");
    world.submit("web", &log("2")).expect("updated");
    world.settle();
    assert_eq!(by_version(&world, 2).len(), 1, "beside its predecessor on the same host");
    fail_all(&mut world, 2);
    assert_eq!(world.rollout("web").cause, RolloutCause::AutoRollback);
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(world.live("web").len(), 3);
}

#[test]
fn a_daemon_leaves_hosts_that_its_new_version_does_not_match() {
    let mut world = World::with_hosts(3);
    world.submit("web", &of_kind("daemon")).expect("created");
    world.roll("web");
    let narrow =
        of_kind("daemon").replacen('{', r#"{"placement":{"constraints":["host = host-1"]},"#, 1);
    world.submit("web", &narrow).expect("updated");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(world.live("web").len(), 1);
}

#[test]
fn batch_and_ops_are_rolled_out_when_every_task_has_started_once() {
    let mut world = World::with_hosts(2);
    world.submit("web", &common::batch(3)).expect("created");
    assert_eq!(world.rollout("web").progress.deadline, None, "no clock while it waits");
    world.settle();
    assert!(world.rollout("web").progress.deadline.is_some(), "from placement to start");
    world.obey();
    assert_eq!(state(&world), RolloutState::Successful);
    let job = world.job("web").clone();
    assert!(!world.state.is_proven(job.uid, job.current), "proven by its end");
    world.submit("fix", &of_kind("ops")).expect("created");
    assert_eq!(world.roll("fix").progress.state, RolloutState::Successful);
}

#[test]
fn stop_and_delete_cancel_and_a_start_is_a_rollout_of_the_same_version() {
    let mut world = proven(2, 2, "");
    world.submit("web", &web(2, "2", "")).expect("updated");
    world.obey();
    world.stop("web").expect("stopped");
    assert_eq!(state(&world), RolloutState::Cancelled);
    world.obey();
    world.obey();
    assert!(world.all_live("web").is_empty(), "successors too");
    let refusal = world.verb("web", RolloutVerb::Pause).expect_err("none under way");
    assert_eq!(refusal.code, Code::RolloutNotFound);
    world.start("web").expect("started");
    let rollout = world.rollout("web");
    assert_eq!((rollout.cause, rollout.progress.version.get()), (RolloutCause::Started, 2));
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2; 2], "the version that was wanted");
}

#[test]
fn a_host_lost_in_the_middle_is_replaced_at_each_tasks_own_version() {
    let mut world = proven(4, 4, "");
    world.submit("web", &web(4, "2", "")).expect("updated");
    world.obey();
    world.later(10_000);
    world.obey();
    let (new, old) = (by_version(&world, 2).len(), by_version(&world, 1).len());
    assert!(new >= 1 && old >= 1);
    let host = by_version(&world, 1)[0].host;
    world.silent(host, pliant_types::host::HostStage::Lost);
    world.settle();
    let placed: Vec<_> =
        world.all_live("web").into_iter().filter(|e| e.phase == Phase::Placed).collect();
    assert!(placed.iter().all(|e| e.host != host));
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2; 4]);
}

#[test]
fn case_i8_metadata_during_a_rollout_goes_along_with_it() {
    let mut world = proven(2, 3, "");
    world.submit("web", &web(3, "2", "")).expect("updated");
    world.obey();
    let rollout = world.rollout("web").id;
    let mut labelled = submission("web", &web(3, "2", ""));
    labelled.labels.insert("team".into(), Some("shop".into()));
    world.submit_with(labelled).expect("updated");
    assert_eq!(world.rollout("web").id, rollout, "the same rollout goes on");
    assert_eq!(world.roll("web").progress.version.get(), 3);
    assert_eq!(versions(&world), [3; 3]);
}

#[test]
fn case_d53_a_final_record_never_changes() {
    let mut world = proven(2, 2, "");
    let before = world.rollout("web");
    fail_all(&mut world, 1);
    world.later(5_000);
    world.obey();
    assert_eq!(world.rollout("web"), before);
    let refusal = world.verb("web", RolloutVerb::Abort).expect_err("it is over");
    assert_eq!(refusal.code, Code::RolloutNotFound);
}

#[test]
fn case_d45_an_unhealthy_task_stops_the_rollout_and_nothing_restarts_it() {
    let mut world = proven(2, 3, "");
    world.submit("web", &web(3, "2", r#""maxParallel":2,"maxSurge":2"#)).expect("updated");
    world.obey();
    let sick = by_version(&world, 2)[0].clone();
    world.unhealthy(sick.id);
    let words = wait(&mut world, WaitCode::RolloutUnhealthy);
    assert!(words.contains("task 0"), "{words}");
    assert!(world.state.executions.get(&sick.id).is_some_and(Execution::is_wanted));
    assert_eq!(world.state.executions.get(&sick.id).map(|e| e.health), Some(Health::Unhealthy));
}

#[test]
fn force_is_a_rollout_of_every_task_and_exclusive_tasks_are_stopped_first() {
    let mut world = World::with_hosts(2);
    let exclusive =
        service(2).replacen('{', r#"{"onHostLoss":{"mode":"exclusive","policy":"keep"},"#, 1);
    world.submit("web", &exclusive).expect("created");
    world.roll("web");
    let mut submit = submission("web", &exclusive);
    submit.force = Force::Yes;
    world.submit_with(submit).expect("forced");
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2; 2]);
}

#[test]
fn a_gap_without_a_writer_moves_the_clocks_of_rollouts() {
    let mut world = proven(2, 2, "");
    world.submit("web", &web(2, "2", "")).expect("updated");
    world.settle();
    let before = world.rollout("web").progress.deadline.expect("armed");
    let gap = pliant_types::Millis::from_secs(3_600);
    let epoch = pliant_types::Epoch::new(9);
    let term = pliant_core::StartTerm { epoch, gap };
    world.later(gap.get());
    world.command(Command::StartTerm(term)).expect("begun");
    assert_eq!(world.rollout("web").progress.deadline, Some(before.after(gap)));
    world.settle();
    assert_ne!(state(&world), RolloutState::Failed);
}

#[test]
fn a_new_host_gets_the_daemons_proven_version_during_a_rollout() {
    let mut world = World::with_hosts(2);
    let log =
        |value: &str| of_kind("daemon").replacen('{', &format!(r#"{{"env":{{"A":"{value}"}},"#), 1);
    world.submit("web", &log("1")).expect("created");
    world.roll("web");
    world.submit("web", &log("2")).expect("updated");
    world.settle();
    let register = RegisterHost {
        description: description("host-9", "boot-1"),
        host: None,
        inventory: vec![],
    };
    world.command(Command::RegisterHost(register)).expect("registered");
    world.settle();
    let newest =
        world.all_live("web").into_iter().find(|e| e.task.number.get() == 2).expect("placed");
    assert_eq!(newest.version.get(), 1);
    assert_eq!(world.roll("web").progress.state, RolloutState::Successful);
    assert_eq!(versions(&world), [2; 3]);
}
