//! Submissions and versions as data tests: no-op, force, history, rollback, tags, conflicts.

mod common;

use common::{WASM, World, by_name, of_kind, service, submission};
use pliant_core::{
    Command, Expect, Force, ScaleTo, SubmitOutcome, forecast,
    state::{RolloutState, RunState},
};
use pliant_types::{ChangeClass, Digest, Revision, Tag, codes::Code};

fn with_env(value: &str) -> String {
    format!(r#"{{"kind":"service","count":2,{WASM},"env":{{"A":"{value}"}}}}"#)
}

/// A service whose version has run long enough to be proven.
fn proven(world: &mut World, name: &str, spec: &str) -> u32 {
    let version = world.submit(name, spec).expect("submitted").version;
    world.roll(name);
    let job = world.job(name).clone();
    assert!(world.state.marks(job.uid, version).proven_at.is_some(), "version {version}");
    version.get()
}

#[test]
fn a_version_proves_itself_by_time_and_a_dip_starts_again() {
    let mut world = World::with_hosts(1);
    world.submit("web", &service(1)).expect("created");
    world.obey();
    let due = world.settle().wake_at.expect("a stored time");
    assert_eq!(due.since(world.now).get(), 10_000, "minHealthyTime");
    world.later(9_000);
    let live = world.live("web")[0].id;
    world.report(live, pliant_types::Phase::Preparing, None);
    world.settle();
    world.report(live, pliant_types::Phase::Running, None);
    let due = world.settle().wake_at.expect("again").since(world.now).get();
    assert_eq!(due, 10_000, "case D28: counted from health, again after a dip");
    world.later(10_000);
    world.settle();
    let job = world.job("web").clone();
    assert_eq!(world.rollout("web").progress.state, RolloutState::Verifying);
    assert!(world.state.marks(job.uid, job.current).proven_at.is_none());
    world.later(10_000);
    world.settle();
    let job = world.job("web").clone();
    assert!(world.state.marks(job.uid, job.current).proven_at.is_some());
}

#[test]
fn case_v12_v26_v28_daemons_are_proven_and_a_new_uid_has_no_history() {
    let mut world = World::with_hosts(2);
    proven(&mut world, "log", &of_kind("daemon"));
    world.delete("log").expect("deleted");
    world.obey();
    let answer = world.submit("log", &of_kind("daemon")).expect("created");
    assert_eq!(answer.version.get(), 1);
    let refusal = world.rollback("log", None).expect_err("no history");
    assert_eq!(refusal.message, "job log has no earlier version");
}

#[test]
fn case_b4_b8_a_rollback_is_a_new_version_that_says_where_it_came_from() {
    let mut world = World::with_hosts(1);
    proven(&mut world, "web", &with_env("1"));
    world.submit("web", &with_env("2")).expect("updated");
    let answer = world.rollback("web", None).expect("rolled back");
    assert_eq!((answer.outcome, answer.version.get()), (SubmitOutcome::Updated, 3));
    assert_eq!(answer.warnings, ["version 3 is a copy of version 1"]);
    let job = world.job("web").clone();
    let record = world.state.current_version(&job).expect("kept").record.clone();
    assert_eq!(record.from.map(|v| v.get()), Some(1));
    let first = world.state.versions_of(job.uid).next().expect("kept").record.clone();
    assert_eq!(record.template_hash, first.template_hash, "case B8: compared by content");
    assert!(world.state.marks(job.uid, job.current).proven_at.is_some(), "born proven");
    world.settle();
    assert!(world.live("web").iter().all(|e| e.version.get() == 3), "case B4: kept as they are");
}

#[test]
fn case_v19_a_rollback_to_what_runs_says_so() {
    let mut world = World::with_hosts(1);
    proven(&mut world, "web", &with_env("1"));
    proven(&mut world, "web", &with_env("2"));
    world.rollback("web", Some("1")).expect("rolled back");
    let answer = world.rollback("web", Some("1")).expect("nothing to do");
    assert_eq!(answer.outcome, SubmitOutcome::Unchanged);
    assert_eq!(answer.warnings, ["nothing to roll back: version 3 already equals version 1"]);
}

#[test]
fn case_b9_b11_rollbacks_name_their_target_and_keep_their_precondition() {
    let mut world = World::with_hosts(1);
    world.submit("web", &with_env("1")).expect("created");
    let refusal = world.rollback("web", None).expect_err("refused");
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (Code::VersionNotFound, "job web has no earlier version")
    );
    let refusal = world.rollback("web", Some("7")).expect_err("refused");
    assert_eq!(refusal.message, "job web has versions up to 1, not 7");
    let refusal = world.rollback("web", Some("stable")).expect_err("refused");
    assert_eq!(refusal.message, "no version of job web has the tag stable; it has none");
    let stale = pliant_core::Rollback {
        job: by_name("web"),
        expect: Expect::Revision(Revision::new(1)),
        to: None,
        message: None,
    };
    let refusal = world.command(Command::Rollback(stale)).expect_err("refused");
    assert_eq!(refusal.code, Code::RevisionMismatch);
}

#[test]
fn case_v23_tagging_starts_nothing_and_a_tag_names_one_version() {
    let mut world = World::with_hosts(1);
    world.submit("web", &with_env("1")).expect("created");
    world.submit("web", &with_env("2")).expect("updated");
    world.stop("web").expect("stopped");
    world.obey();
    world.tag("web", "stable", Some("1")).expect("tagged");
    assert_eq!(world.run_state("web"), RunState::Stopped);
    let entries = world.journal.len();
    world.tag("web", "stable", Some("1")).expect("no-op");
    assert_eq!(world.journal.len(), entries);
    world.tag("web", "stable", Some("current")).expect("moved");
    let job = world.job("web").clone();
    let tags = |n| world.state.marks(job.uid, pliant_types::Version::new(n)).tags.len();
    assert_eq!((tags(1), tags(2)), (0, 1));
    world.tag("web", "stable", None).expect("removed");
    assert_eq!(world.tag("web", "stable", None).expect_err("gone").code, Code::VersionNotFound);
    assert_eq!(world.run_state("web"), RunState::Stopped);
    assert!("proven".parse::<Tag>().is_err());
}

#[test]
fn case_v29_history_keeps_ten_besides_proven_tagged_and_running_and_says_what_is_gone() {
    let mut world = World::with_hosts(1);
    proven(&mut world, "web", &with_env("proven"));
    world.submit("web", &with_env("tagged")).expect("updated");
    world.tag("web", "keep", Some("2")).expect("tagged");
    for n in 3..=300 {
        let answer = world.submit("web", &with_env(&n.to_string())).expect("updated");
        assert_eq!(answer.version.get(), n, "numeric order");
    }
    assert_eq!(
        world.versions("web"),
        [1, 2, 290, 291, 292, 293, 294, 295, 296, 297, 298, 299, 300],
        "the proven, the tagged, ten, and the current one"
    );
    let refusal = world.rollback("web", Some("100")).expect_err("pruned");
    assert_eq!(refusal.code, Code::HistoryGone);
    assert!(refusal.message.contains("history keeps 10 besides"), "{}", refusal.message);
    world.rollback("web", Some("keep")).expect("still there");
    world.rollback("web", Some("proven")).expect("still there");
}

#[test]
fn case_v5_v6_i19_the_digest_decides_not_the_text_of_the_source() {
    let mut world = World::with_hosts(1);
    world.submit("web", &service(1)).expect("created");
    world.obey();
    let before = world.live("web")[0].id;
    let retagged = service(1).replace("x:1", "x:2");
    let answer = world.submit("web", &retagged).expect("updated");
    assert_eq!(answer.changes[0].class, ChangeClass::Metadata);
    world.settle();
    assert_eq!((world.live("web")[0].id, world.live("web")[0].version.get()), (before, 2));
    let mut pushed = submission("web", &retagged);
    pushed.digest = Digest::new([8; 32]);
    let answer = world.submit_with(pushed).expect("updated");
    assert_eq!(
        (answer.changes[0].field.as_str(), answer.changes[0].class),
        ("digest", ChangeClass::Swap)
    );
    world.roll("web");
    assert_eq!(world.live("web")[0].version.get(), 3, "the same tag, other bytes");
    assert_ne!(world.live("web")[0].id, before);
}

#[test]
fn case_i1_i2_i7_labels_and_policies_touch_no_task_and_reach_the_agent() {
    let mut world = World::with_hosts(1);
    proven(&mut world, "web", &service(2));
    let before: Vec<_> = world.live("web").iter().map(|e| e.id).collect();
    let generation =
        |world: &World| world.state.hosts.iter().next().map(|(_, h)| h.generation).expect("a host");
    let told = generation(&world);
    let policy = format!(
        r#"{{"kind":"service","count":2,{WASM},"priority":70,"restart":{{"policy":"never"}},
            "timeouts":{{"kill":"3s"}},"placement":{{"affinities":[{{"prefer":"host = host-3"}}]}}}}"#
    );
    let mut submit = submission("web", &policy);
    submit.labels.insert("team".into(), Some("shop".into()));
    let answer = world.submit_with(submit).expect("updated");
    assert!(answer.changes.iter().all(|change| change.class <= ChangeClass::Policy));
    world.settle();
    let after: Vec<_> = world.live("web").iter().map(|e| e.id).collect();
    assert_eq!(after, before);
    assert!(generation(&world) > told, "agents are told");
    let job = world.job("web").clone();
    assert!(world.state.marks(job.uid, job.current).proven_at.is_some(), "keeps proven");
}

#[test]
fn case_s1_e37_d23_a_scaled_size_survives_a_redeploy_and_makes_no_version() {
    let mut world = World::with_hosts(2);
    world.submit("web", &service(2)).expect("created");
    world.scale("web", ScaleTo::Exactly(5)).expect("scaled");
    world.scale("web", ScaleTo::By(-1)).expect("scaled");
    assert_eq!((world.job("web").size, world.job("web").current.get()), (4, 1));
    let changed = service(2).replace("\"count\"", "\"env\":{\"A\":\"1\"},\"count\"");
    let answer = world.submit("web", &changed).expect("updated");
    assert_eq!(answer.warnings, ["the live size 4 is kept; the file says count 2 as before"]);
    assert_eq!(world.job("web").size, 4);
    world.submit("web", &service(3)).expect("updated");
    assert_eq!(world.job("web").size, 3, "a changed count wins");
    assert_eq!(world.scale("web", ScaleTo::By(-4)).expect_err("refused").code, Code::SpecInvalid);
    assert_eq!(world.scale("web", ScaleTo::Exactly(0)).is_ok(), world.job("web").size == 0);
    world.submit("log", &of_kind("daemon")).expect("created");
    assert_eq!(
        world.scale("log", ScaleTo::Exactly(2)).expect_err("refused").code,
        Code::WrongState
    );
}

#[test]
fn a_lost_race_is_a_conflict_that_shows_the_difference() {
    let mut world = World::with_hosts(1);
    let first = world.submit("web", &with_env("0")).expect("created");
    let racer = |value: &str| {
        let mut submit = submission("web", &with_env(value));
        submit.expect = Expect::Revision(first.revision);
        submit
    };
    world.submit_with(racer("one")).expect("wins");
    let refusal = world.submit_with(racer("two")).expect_err("loses");
    assert_eq!(refusal.code, Code::RevisionMismatch);
    let change = &refusal.changes[0];
    assert_eq!(
        (change.field.as_str(), change.old.as_deref(), change.new.as_deref()),
        ("spec.env.A", Some("\"one\""), Some("\"two\""))
    );
}

#[test]
fn force_makes_a_version_and_moves_every_task() {
    let mut world = World::with_hosts(1);
    proven(&mut world, "web", &service(2));
    let before: Vec<_> = world.live("web").iter().map(|e| e.id).collect();
    let mut submit = submission("web", &service(2));
    submit.force = Force::Yes;
    let answer = world.submit_with(submit).expect("forced");
    assert_eq!((answer.outcome, answer.version.get()), (SubmitOutcome::Forced, 2));
    world.roll("web");
    assert!(world.live("web").iter().all(|e| e.version.get() == 2 && !before.contains(&e.id)));
}

#[test]
fn the_answered_revision_is_the_jobs_spec_revision() {
    let mut world = World::with_hosts(1);
    let check = |world: &World, revision: Revision, what: &str| {
        assert_eq!(world.job("x").spec_revision, revision, "{what}");
    };
    let answer = world.submit("x", &with_env("1")).expect("created");
    check(&world, answer.revision, "created");
    world.obey();
    for n in 2..=14 {
        let answer = world.submit("x", &with_env(&n.to_string())).expect("updated");
        check(&world, answer.revision, "updated");
    }
    let answer = world.rollback("x", Some("5")).expect("rolled back");
    check(&world, answer.revision, "rolled back");
    world.stop("x").expect("stopped");
    let answer = world.rollback("x", Some("6")).expect("rolled back and started");
    check(&world, answer.revision, "started by a rollback");
    let answer = world.scale("x", ScaleTo::Exactly(4)).expect("scaled");
    if let pliant_core::Answer::Job { spec_revision, .. } = answer {
        check(&world, spec_revision, "scaled");
    }
}

#[test]
fn namespaces_part_names_and_go_only_when_they_are_empty() {
    let mut world = World::with_hosts(1);
    let in_shop = |spec: &str| {
        let mut submit = submission("web", spec);
        submit.namespace = "shop".parse().expect("a namespace");
        submit
    };
    let refusal = world.submit_with(in_shop(&service(1))).expect_err("refused");
    assert_eq!(refusal.code, Code::NamespaceNotFound);
    world.namespace("shop", true).expect("created");
    let entries = world.journal.len();
    world.namespace("shop", true).expect("already there");
    assert_eq!(world.journal.len(), entries);
    world.submit("web", &service(1)).expect("created");
    let other = world.submit_with(in_shop(&of_kind("daemon"))).expect("created");
    assert_ne!(world.job("web").uid, other.uid, "the same name in two namespaces");
    world.obey();
    let refusal = world.namespace("shop", false).expect_err("refused");
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (Code::NamespaceNotEmpty, "namespace shop has 1 jobs and 0 that are being deleted")
    );
    let job = pliant_core::JobRef::Uid("shop".parse().expect("a namespace"), other.uid);
    let elsewhere = pliant_core::JobRef::Uid("default".parse().expect("a namespace"), other.uid);
    let delete = |job| Command::Delete(pliant_core::DeleteJob { job, expect: Expect::Anything });
    let refusal = world.command(delete(elsewhere)).expect_err("case N3: one namespace");
    assert_eq!(refusal.code, Code::JobNotFound);
    world.command(delete(job)).expect("deleted");
    let refusal = world.namespace("shop", false).expect_err("still dying");
    assert_eq!(refusal.message, "namespace shop has 0 jobs and 1 that are being deleted");
    world.obey();
    world.settle();
    world.namespace("shop", false).expect("empty");
    assert_eq!(world.namespace("default", false).expect_err("refused").code, Code::WrongState);
}

#[test]
fn a_forecast_is_the_decision_with_its_steps_and_changes_nothing() {
    let mut world = World::with_hosts(2);
    proven(&mut world, "web", &service(3));
    let request =
        |spec: &str| pliant_core::Request::internal(Command::Submit(submission("web", spec)));
    let before = world.state.hash();
    let words = |forecast: &pliant_core::Forecast| {
        let steps: Vec<_> = forecast.steps.iter().map(|s| s.step.as_str()).collect();
        format!("{:?} {} {}", forecast.answer.outcome, forecast.size_after, steps.join(","))
    };
    let plan = |spec: &str| forecast(&world.state, &request(spec), world.now).expect("planned");
    assert_eq!(words(&plan(&service(3))), "Unchanged 3 keep,keep,keep");
    assert_eq!(words(&plan(&service(4))), "Updated 4 relabel,relabel,relabel,start");
    assert_eq!(words(&plan(&service(1))), "Updated 1 relabel,stop,stop");
    let changed = format!(r#"{{"kind":"service","count":3,{WASM},"env":{{"A":"1"}}}}"#);
    let replaced = plan(&changed);
    assert_eq!(words(&replaced), "Updated 3 replace,replace,replace");
    assert!(replaced.steps.iter().all(|s| s.to.is_some() && s.version.map(|v| v.get()) == Some(2)));
    let large = plan(&service(40));
    assert_eq!(large.counts[&pliant_core::Step::Start], 37);
    let wait = large.steps.last().and_then(|s| s.wait.clone()).expect("no room for all");
    assert!(wait.contains("short of memory"), "{wait}");
    assert_eq!(world.state.hash(), before);
    let refusal = forecast(&world.state, &request(&of_kind("daemon")), world.now);
    assert_eq!(refusal.expect_err("the same refusal").code, Code::KindImmutable);
}

#[test]
fn ten_thousand_unchanged_submissions_make_no_fact() {
    let mut world = World::with_hosts(1);
    proven(&mut world, "web", &service(2));
    let (entries, hash) = (world.journal.len(), world.state.hash());
    for _ in 0..10_000 {
        let answer = world.submit("web", &service(2)).expect("unchanged");
        assert_eq!(answer.outcome, SubmitOutcome::Unchanged);
    }
    assert_eq!((world.journal.len(), world.state.hash()), (entries, hash));
}

#[test]
fn a_thousand_changes_of_state_of_a_large_job_write_under_300_kilobytes() {
    let mut world = World::with_hosts(1);
    let large = format!(
        r#"{{"kind":"service",{WASM},"env":{{{}}}}}"#,
        (0..100)
            .map(|n| format!(r#""K{n}":"{}""#, "x".repeat(1_000)))
            .collect::<Vec<_>>()
            .join(",")
    );
    assert!(large.len() > 100_000);
    let mut submit = submission("web", &large);
    submit.text = None;
    world.submit_with(submit).expect("created");
    world.obey();
    let written = |world: &World| world.journal.iter().map(Vec::len).sum::<usize>();
    assert!(written(&world) > 100_000 && written(&world) < 210_000, "the spec is stored once");
    let (before, id) = (written(&world), world.live("web")[0].id);
    let entries = world.journal.len();
    for n in 0..1_000 {
        let phase = [pliant_types::Phase::Preparing, pliant_types::Phase::Running][n % 2];
        world.report(id, phase, None);
    }
    assert_eq!(world.journal.len() - entries, 1_000, "each is an entry of its own");
    let bytes = written(&world) - before;
    assert!(bytes < 300_000, "{bytes} bytes");
}

#[test]
fn case_v14_a_version_keeps_the_hash_and_the_table_of_defaults_that_it_was_given() {
    let mut world = World::with_hosts(1);
    world.submit("web", &with_env("1")).expect("created");
    let job = world.job("web").clone();
    let first = world.state.current_version(&job).expect("kept").record.clone();
    world.submit("web", &with_env("2")).expect("updated");
    let snapshot = pliant_core::encode_snapshot(&world.state);
    let read = pliant_core::decode_snapshot(&snapshot).expect("own snapshot");
    let again = read.versions_of(job.uid).next().expect("kept").record.clone();
    assert_eq!((again.template_hash, again.defaults), (first.template_hash, first.defaults));
    assert!(first.spec.update.is_none(), "defaults are never written into the stored spec");
}

#[test]
fn case_v21_v40_n11_start_takes_the_last_users_version_by_name_or_id() {
    let mut world = World::with_hosts(1);
    world.submit("web", &with_env("1")).expect("created");
    world.submit("web", &with_env("2")).expect("updated");
    world.obey();
    let uid = world.job("web").uid;
    let by_id = || pliant_core::JobRef::Uid(pliant_types::Namespace::default_namespace(), uid);
    let expect = Expect::Anything;
    let stop = pliant_core::StopJob { job: by_id(), expect, version: None };
    world.command(Command::Stop(stop)).expect("stopped by its id");
    world.obey();
    let start = pliant_core::StartJob { job: by_id(), expect };
    world.command(Command::Start(start)).expect("started by its id");
    world.obey();
    assert!(world.live("web").iter().all(|e| e.version.get() == 2));
    world.submit("sum", &common::batch(1)).expect("created");
    world.complete("sum");
    let uid = world.job("sum").uid;
    let job = pliant_core::JobRef::Uid(pliant_types::Namespace::default_namespace(), uid);
    world.command(Command::Rerun(pliant_core::RerunJob { job, expect })).expect("again by its id");
}
