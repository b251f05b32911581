//! Each kind's meaning of done, placement rules, restarts: data tests of single stories.

mod common;

use common::{WASM, World, batch, of_kind, service, submission};
use pliant_core::{Force, SubmitOutcome, state::RunState};
use pliant_types::{
    ExitReason, ExitStatus, Phase,
    codes::{Code, WaitCode},
    host::HostStage,
};

#[test]
fn batch_is_done_when_every_task_has_completed() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &batch(2)).expect("created");
    assert_eq!(world.run_state("sum"), RunState::Pending);
    world.obey();
    assert_eq!(world.run_state("sum"), RunState::Running);
    let live = world.live("sum");
    world.report(live[0].id, Phase::Completed, Some(ExitStatus::exited(0)));
    world.settle();
    assert_eq!(world.run_state("sum"), RunState::Running);
    world.report(live[1].id, Phase::Completed, Some(ExitStatus::exited(0)));
    world.settle();
    assert_eq!(world.run_state("sum"), RunState::Completed);
    assert_eq!(world.job("sum").ended.as_ref().expect("ended").reason, "2 of 2 tasks completed");
}

#[test]
fn case_h10_a_batch_task_is_placed_four_times_then_the_job_fails_with_its_last_error() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &batch(2)).expect("created");
    for placement in 1..=4 {
        world.settle();
        let first = world.live("sum")[0].id;
        world.report(first, Phase::Failed, Some(ExitStatus::exited(3)));
        let plan = world.settle();
        if placement < 4 {
            let wait = &plan.report.waits.values().next().expect("a wait")[0];
            assert_eq!(wait.code, WaitCode::BackOff);
            assert_eq!(wait.sentence, format!("it failed {placement} times in a row"));
            assert_eq!(plan.wake_at, wait.until);
            world.later(300_000);
        }
    }
    assert_eq!(world.run_state("sum"), RunState::Stopping, "the other task is asked to stop");
    world.obey();
    assert_eq!(world.run_state("sum"), RunState::Failed);
    let reason = &world.job("sum").ended.as_ref().expect("ended").reason;
    assert_eq!(reason, "task 0 failed on its 4. placement: exited with code 3");
}

#[test]
fn case_h8_a_service_always_has_a_next_attempt() {
    let mut world = World::with_hosts(1);
    world.submit("web", &service(1)).expect("created");
    for _ in 0..20 {
        world.settle();
        let live = world.live("web");
        assert_eq!(live.len(), 1);
        world.report(live[0].id, Phase::Failed, Some(ExitStatus::of(ExitReason::Trapped)));
        let plan = world.settle();
        let wake = plan.wake_at.expect("a stored time of the next attempt");
        assert!(wake > world.now);
        world.now = wake;
    }
    assert_eq!(world.run_state("web"), RunState::Pending);
    assert!(world.job("web").ended.is_none());
}

#[test]
fn daemon_has_a_task_on_each_host_and_follows_new_ones() {
    let mut world = World::with_hosts(2);
    world.submit("log", &of_kind("daemon")).expect("created");
    world.obey();
    assert_eq!(world.live("log").len(), 2);
    let third = world.host("host-3");
    world.obey();
    let live = world.live("log");
    assert_eq!(live.len(), 3);
    assert_eq!((live[2].host, live[2].task.number.get()), (third, 2));
}

#[test]
fn ops_runs_once_on_each_host_that_was_eligible_at_the_start() {
    let mut world = World::with_hosts(2);
    world.submit("fix", &of_kind("ops")).expect("created");
    world.settle();
    world.host("host-3");
    world.settle();
    let live = world.live("fix");
    assert_eq!(live.len(), 2, "a host that came later is not among them");
    for execution in live {
        world.report(execution.id, Phase::Completed, Some(ExitStatus::exited(0)));
    }
    world.settle();
    assert_eq!(world.run_state("fix"), RunState::Completed);
}

#[test]
fn ops_waits_for_a_first_eligible_host() {
    let mut world = World::new();
    world.submit("fix", &of_kind("ops")).expect("created");
    world.settle();
    assert_eq!(world.run_state("fix"), RunState::Pending);
    world.host("host-1");
    world.settle();
    assert_eq!(world.live("fix").len(), 1);
}

#[test]
fn what_waits_says_why_with_numbers() {
    let sentence = |spec: &str, hosts: u32| {
        let mut world = World::with_hosts(hosts);
        world.submit("x", spec).expect("created");
        let plan = world.settle();
        let waits = plan.report.waits.values().next().expect("something waits");
        format!("{} x{}: {}", waits[0].code, waits[0].tasks.len(), waits[0].sentence)
    };
    let mut text = String::new();
    for (spec, hosts) in [
        (service(1), 0),
        (service(41), 1),
        (format!(r#"{{"kind":"service",{WASM},"resources":{{"memory":"2Gi"}}}}"#), 2),
        (format!(r#"{{"kind":"service",{WASM},"placement":{{"constraints":["arch = arm"]}}}}"#), 3),
        (
            format!(
                r#"{{"kind":"service","count":2,{WASM},"ports":[{{"name":"a","static":80}}]}}"#
            ),
            1,
        ),
        (
            format!(
                r#"{{"kind":"service","count":3,{WASM},"placement":{{"span":"one-per-host"}}}}"#
            ),
            2,
        ),
    ] {
        text += &sentence(&spec, hosts);
        text.push('\n');
    }
    expect_test::expect![[r#"
        no-host x1: no host is registered
        no-room x25: 0 of 1 hosts can take it: 1 short of memory (asked 64Mi, most free 0Mi)
        no-room x1: 0 of 2 hosts can take it: 2 short of memory (asked 2Gi, most free 1024Mi)
        no-eligible-host x1: 0 of 3 hosts can take it: 3 not with `arch = arm`
        no-room x1: 0 of 1 hosts can take it: 1 with port 80 taken
        no-room x1: 0 of 2 hosts can take it: 2 closed by the span
    "#]]
    .assert_eq(&text);
}

#[test]
fn binpack_fills_a_host_and_spread_does_not() {
    let hosts_used = |placement: &str| {
        let mut world = World::with_hosts(4);
        let spec = format!(r#"{{"kind":"service","count":4,{WASM},"placement":{placement}}}"#);
        world.submit("x", &spec).expect("created");
        world.settle();
        let hosts: std::collections::BTreeSet<_> = world.live("x").iter().map(|e| e.host).collect();
        hosts.len()
    };
    assert_eq!(hosts_used("{}"), 1);
    assert_eq!(hosts_used(r#"{"strategy":"spread"}"#), 4);
    assert_eq!(hosts_used(r#"{"span":"one-per-host"}"#), 4);
    assert_eq!(hosts_used(r#"{"span":{"per-host":2}}"#), 2);
    assert_eq!(hosts_used(r#"{"strategy":"spread","span":"one-host"}"#), 1);
    assert_eq!(hosts_used(r#"{"strategy":"spread","span":{"max-hosts":3}}"#), 3);
}

#[test]
fn spread_over_a_label_keeps_its_values_even() {
    let mut world = World::new();
    ["h-1", "h-2", "h-33", "h-4"].into_iter().for_each(|name| {
        world.host(name);
    });
    let spec = format!(
        r#"{{"kind":"service","count":6,{WASM},"placement":{{"spread":[{{"over":"label.zone"}}]}}}}"#
    );
    world.submit("x", &spec).expect("created");
    world.settle();
    let in_a = world
        .live("x")
        .iter()
        .filter(|e| {
            world.state.hosts.get(&e.host).and_then(|h| h.description.value("label.zone"))
                == Some("a")
        })
        .count();
    assert_eq!(in_a, 3);
}

#[test]
fn an_affinity_prefers_and_never_forbids() {
    let mut world = World::with_hosts(3);
    let spec = format!(
        r#"{{"kind":"service",{WASM},"placement":{{"affinities":[{{"prefer":"host = host-3"}}]}}}}"#
    );
    world.submit("x", &spec).expect("created");
    world.settle();
    assert_eq!(world.live("x")[0].host.get(), 3);
}

#[test]
fn case_n12_n13_stopped_only_when_every_execution_has_confirmed() {
    let mut world = World::with_hosts(1);
    world.submit("web", &service(2)).expect("created");
    world.obey();
    world.stop("web").expect("stopped");
    world.settle();
    assert_eq!(world.run_state("web"), RunState::Stopping);
    let live = world.live("web");
    world.report(live[0].id, Phase::Stopped, None);
    assert_eq!(world.run_state("web"), RunState::Stopping);
    world.report(live[1].id, Phase::Stopped, None);
    world.settle();
    assert_eq!(world.run_state("web"), RunState::Stopped);
    assert!(world.state.executions.iter().all(|(_, e)| !e.is_live()));
}

#[test]
fn case_v20_bc2_stop_and_start_make_no_version_and_the_same_spec_starts_again() {
    let mut world = World::with_hosts(1);
    world.submit("web", &service(1)).expect("created");
    world.stop("web").expect("stopped");
    world.obey();
    assert_eq!(world.run_state("web"), RunState::Stopped);
    let answer = world.submit("web", &service(1)).expect("started");
    assert_eq!((answer.outcome, answer.version.get()), (SubmitOutcome::Started, 1));
    world.obey();
    assert_eq!(world.run_state("web"), RunState::Running);
    world.stop("web").expect("stopped");
    world.obey();
    world.start("web").expect("started");
    world.obey();
    assert_eq!((world.run_state("web"), world.job("web").current.get()), (RunState::Running, 1));
}

#[test]
fn case_bc1_v1_v12_the_same_spec_again_writes_nothing() {
    for kind in ["service", "batch", "daemon", "ops"] {
        let mut world = World::with_hosts(1);
        world.submit("x", &of_kind(kind)).expect("created");
        world.obey();
        let entries = world.journal.len();
        let answer = world.submit("x", &of_kind(kind)).expect("unchanged");
        assert_eq!((answer.outcome, answer.version.get()), (SubmitOutcome::Unchanged, 1));
        assert_eq!(world.journal.len(), entries, "{kind}");
    }
}

#[test]
fn case_bc3_a_kind_never_changes() {
    let mut world = World::with_hosts(1);
    world.submit("x", &of_kind("service")).expect("created");
    let refusal = world.submit("x", &of_kind("daemon")).expect_err("refused");
    assert_eq!(refusal.code, Code::KindImmutable);
}

#[test]
fn case_n2_n1_bc16_delete_frees_the_name_and_a_new_job_starts_clean() {
    let mut world = World::with_hosts(1);
    world.submit("web", &service(1)).expect("created");
    world.submit("web-2", &service(1)).expect("created");
    world.obey();
    let old = world.job("web").uid;
    world.delete("web").expect("deleted");
    assert_eq!(world.stop("web").expect_err("gone").code, Code::JobNotFound);
    let answer =
        world.submit("web", &of_kind("daemon")).expect("the name is free, also for another kind");
    assert_eq!((answer.outcome, answer.version.get()), (SubmitOutcome::Created, 1));
    assert_ne!(answer.uid, old);
    assert!(world.state.jobs.contains(&old), "the dying job keeps what it holds until confirmed");
    world.obey();
    world.obey();
    assert!(!world.state.jobs.contains(&old));
    assert_eq!(world.run_state("web-2"), RunState::Running);
}

#[test]
fn a_changed_template_moves_one_task_at_a_time_and_labels_move_none() {
    let mut world = World::with_hosts(1);
    world.submit("web", &service(3)).expect("created");
    world.obey();
    let mut submit = submission("web", &service(3));
    submit.labels.insert("team".into(), Some("shop".into()));
    assert_eq!(world.submit_with(submit).expect("updated").version.get(), 2);
    world.settle();
    assert!(world.live("web").iter().all(|e| e.version.get() == 2 && e.phase == Phase::Running));

    let changed = format!(r#"{{"kind":"service","count":3,{WASM},"env":{{"A":"1"}}}}"#);
    world.submit("web", &changed).expect("updated");
    for moved in 1..=3 {
        world.settle();
        assert_eq!(world.all_live("web").len(), 4, "one successor at a time");
        world.obey();
        world.later(10_000);
        world.obey();
        let new = world.live("web").iter().filter(|e| e.version.get() == 3).count();
        assert!(new >= moved);
    }
    world.obey();
    assert!(world.all_live("web").iter().all(|e| e.version.get() == 3));
}

#[test]
fn case_s1_e37_a_redeploy_keeps_the_live_size_and_a_changed_count_wins() {
    let mut world = World::with_hosts(2);
    world.submit("web", &service(2)).expect("created");
    world.submit("web", &service(5)).expect("updated");
    world.obey();
    assert_eq!(world.live("web").len(), 5);
    world.submit("web", &service(1)).expect("updated");
    world.obey();
    let live = world.live("web");
    assert_eq!((live.len(), live[0].task.number.get()), (1, 0), "the highest numbers go first");
}

#[test]
fn case_bc5_forced_batch_begins_a_new_run_after_the_old_has_confirmed() {
    let mut world = World::with_hosts(1);
    world.submit("sum", &batch(1)).expect("created");
    world.obey();
    let mut submit = submission("sum", &batch(1));
    submit.force = Force::Yes;
    let answer = world.submit_with(submit).expect("forced");
    assert_eq!(answer.outcome, SubmitOutcome::Forced);
    let plan = world.settle();
    let waits = plan.report.waits.values().next().expect("the new run waits");
    assert_eq!(waits[0].code, WaitCode::StopUnconfirmed, "case E85: never two at once");
    world.obey();
    let live = world.live("sum");
    assert_eq!((live.len(), live[0].task.incarnation.get()), (1, 2));
}

#[test]
fn a_lost_host_gives_its_tasks_to_others_and_old_reports_change_nothing() {
    let mut world = World::with_hosts(2);
    world.submit("web", &service(1)).expect("created");
    world.obey();
    let old = world.live("web")[0].clone();
    world.silent(old.host, HostStage::Lost);
    world.settle();
    let new = world.live("web")[0].clone();
    assert_ne!(new.host, old.host);
    let again = world.register("host-1", "boot-1", Some(old.host), &[(old.id, old.fence)]);
    assert_eq!(again.kill, [old.id], "case E92: leftovers first");
    assert_eq!(world.state.hosts.get(&old.host).expect("known").stage, HostStage::Rejoining);
    world.register("host-1", "boot-1", Some(old.host), &[]);
    assert_eq!(world.state.hosts.get(&old.host).expect("known").stage, HostStage::Up);
    world.settle();
    assert_eq!(world.live("web")[0].id, new.id);
}

#[test]
fn case_h5_e81_a_new_boot_loses_its_executions_at_once() {
    let mut world = World::with_hosts(1);
    world.submit("web", &service(1)).expect("created");
    world.obey();
    let old = world.live("web")[0].clone();
    let again = world.register("host-1", "boot-2", Some(old.host), &[]);
    assert_eq!(again.fence.get(), 1);
    world.settle();
    let new = world.live("web")[0].clone();
    assert_ne!(new.id, old.id);
    assert_eq!(new.fence, again.fence);
}

#[test]
fn an_exclusive_task_waits_for_lease_drift_and_kill_time() {
    let mut world = World::with_hosts(2);
    let spec = format!(
        r#"{{"kind":"service",{WASM},"onHostLoss":{{"mode":"exclusive"}},"timeouts":{{"kill":"20s"}}}}"#
    );
    world.submit("lock", &spec).expect("created");
    world.obey();
    let host = world.live("lock")[0].host;
    world.silent(host, HostStage::Lost);
    let plan = world.settle();
    let wait = &plan.report.waits.values().next().expect("it waits")[0];
    assert_eq!(wait.code, WaitCode::ExclusiveLease);
    assert_eq!(wait.until.expect("a time").since(world.now).get(), 21_000);
    world.later(21_000);
    world.settle();
    assert_ne!(world.live("lock")[0].host, host);
}

#[test]
fn timeouts_queue_ends_a_batch_job_that_never_started() {
    let mut world = World::new();
    let spec = format!(r#"{{"kind":"batch",{WASM},"timeouts":{{"queue":"5s"}}}}"#);
    world.submit("sum", &spec).expect("created");
    let plan = world.settle();
    assert_eq!(plan.wake_at.expect("a stored time").since(world.now).get(), 5_000);
    world.later(5_000);
    world.settle();
    assert_eq!(world.run_state("sum"), RunState::Failed);
}
