//! The twelve laws of the core under random commands; each test names the law that it holds to.

mod common;

use common::{World, by_name, facts_in, keyed, observation, of_kind, service, submission};
use pliant_core::{
    Answer, Command, Engine, Expect, Rejection, ReplyTag, ReportHost, Request, RolloutVerb,
    StartTerm, State, StopJob, check, decode_snapshot, encode_snapshot, plan,
};
use pliant_types::{
    Epoch, ExitReason, ExitStatus, HostId, Millis, Phase,
    codes::Code,
    host::{HostMode, HostStage},
    report::Report,
};
use proptest::prelude::*;

/// A random thing that somebody does.
#[derive(Clone, Debug)]
enum Op {
    Submit { job: u8, shape: u8 },
    Stop(u8),
    Start(u8),
    Delete(u8),
    Register { host: u8, boot: u8 },
    Silent { host: u8, stage: u8 },
    Seen(u8),
    Mode { host: u8, mode: u8 },
    Report { pick: u16, phase: u8 },
    Later(u32),
    Tick,
    Verb { job: u8, verb: u8, arg: u8 },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (0u8..4, any::<u8>()).prop_map(|(job, shape)| Op::Submit { job, shape }),
        1 => (0u8..4).prop_map(Op::Stop),
        1 => (0u8..4).prop_map(Op::Start),
        1 => (0u8..4).prop_map(Op::Delete),
        2 => (0u8..4, 0u8..3).prop_map(|(host, boot)| Op::Register { host, boot }),
        2 => (0u8..4, 0u8..3).prop_map(|(host, stage)| Op::Silent { host, stage }),
        1 => (0u8..4).prop_map(Op::Seen),
        1 => (0u8..4, 0u8..3).prop_map(|(host, mode)| Op::Mode { host, mode }),
        14 => (any::<u16>(), 0u8..8).prop_map(|(pick, phase)| Op::Report { pick, phase }),
        2 => (0u32..400_000).prop_map(Op::Later),
        8 => Just(Op::Tick),
        5 => (0u8..4, 0u8..10, 0u8..8).prop_map(|(job, verb, arg)| Op::Verb { job, verb, arg }),
    ];
    prop::collection::vec(op, 1..80)
}

fn spec(job: u8, shape: u8) -> String {
    let kind = ["service", "batch", "daemon", "ops"][usize::from(job) % 4];
    let count = if job % 4 < 2 { format!(r#""count":{},"#, shape % 5) } else { String::new() };
    let span = if shape & 0x10 == 0 || job % 4 >= 2 {
        ""
    } else {
        r#","placement":{"span":"one-per-host"}"#
    };
    let port = if shape & 0x20 == 0 { "" } else { r#","ports":[{"name":"p","static":80}]"# };
    let mode = if shape & 0x40 == 0 {
        ""
    } else {
        r#","onHostLoss":{"mode":"exclusive","policy":"keep"}"#
    };
    let env = shape >> 7;
    let resubmit = ["replace", "finish-first", "parallel", "reject"][usize::from(shape >> 2) % 4];
    let update = match (job % 4, shape % 8) {
        (1 | 3, _) | (_, 0 | 1) => String::new(),
        (_, 2) => r#","update":{"maxUnavailable":1}"#.into(),
        (_, 3) => r#","update":{"canary":1}"#.into(),
        (0, 4) if shape & 0x40 == 0 => r#","update":{"strategy":"blue-green"}"#.into(),
        (_, 5) => r#","update":{"strategy":"recreate"}"#.into(),
        (_, 6) => r#","update":{"maxParallel":3,"maxSurge":"50%","maxFailures":1}"#.into(),
        _ => r#","update":{"order":"stop-first","autoRollback":false}"#.into(),
    };
    let memory = if shape & 0x08 == 0 { 64 } else { 96 };
    format!(
        r#"{{"kind":"{kind}",{count}{}{span}{port}{mode}{update},"onResubmit":"{resubmit}",
            "resources":{{"memory":"{memory}Mi"}},"env":{{"A":"{env}"}}}}"#,
        common::WASM
    )
}

/// Carries one out; refusals are fine, broken laws panic inside [`World::ask`].
fn act(world: &mut World, op: &Op) {
    let name = |job: &u8| format!("job-{job}");
    let id = |host: &u8| HostId::new(u64::from(*host) + 1);
    let _: Result<Answer, Rejection> = match op {
        Op::Submit { job, shape } => {
            world.command(Command::Submit(submission(&name(job), &spec(*job, *shape))))
        }
        Op::Stop(job) => world.stop(&name(job)),
        Op::Start(job) => world.start(&name(job)),
        Op::Delete(job) => world.delete(&name(job)),
        Op::Register { host, boot } => {
            let command = pliant_core::RegisterHost {
                description: common::description(&format!("host-{host}"), &format!("boot-{boot}")),
                host: None,
                inventory: Vec::new(),
            };
            world.command(Command::RegisterHost(command))
        }
        Op::Silent { host, stage } => {
            let stage =
                [HostStage::Suspect, HostStage::Unreachable, HostStage::Lost][usize::from(*stage)];
            let lease_end = world.now;
            let silent = pliant_core::HostSilent { host: id(host), stage, lease_end };
            world.command(Command::HostSilent(silent))
        }
        Op::Seen(host) => {
            let boot = world.state.hosts.get(&id(host)).map(|h| h.description.boot.clone());
            let boot = boot.unwrap_or_default();
            world.command(Command::HostSeen(pliant_core::HostSeen { host: id(host), boot }))
        }
        Op::Mode { host, mode } => {
            let mode = [HostMode::Active, HostMode::Paused, HostMode::Draining][usize::from(*mode)];
            world.command(Command::SetHostMode(pliant_core::SetHostMode { host: id(host), mode }))
        }
        Op::Report { pick, phase } => report(world, *pick, *phase),
        Op::Later(millis) => {
            world.later(u64::from(*millis));
            Ok(Answer::Done)
        }
        Op::Tick => world.command(Command::Tick),
        Op::Verb { job, verb, arg } => verbs(world, &name(job), *verb, *arg),
    };
}

/// The verbs of versions and runs.
fn verbs(world: &mut World, name: &str, verb: u8, arg: u8) -> Result<Answer, Rejection> {
    let to = ["proven", "previous", "current", "v1", "1", "2", "3", "4"][usize::from(arg) % 8];
    match verb {
        0 => world.rollback(name, (arg > 0).then_some(to)).map(Answer::Submitted),
        1 => world.tag(name, "v1", (arg > 1).then_some(to)),
        2 => world.rerun(name),
        3 => world.scale(name, pliant_core::ScaleTo::By(i32::from(arg) - 3)),
        4 => world.stop_version(name, u32::from(arg)),
        6 => world.verb(name, RolloutVerb::Pause),
        7 => world.verb(name, RolloutVerb::Resume),
        8 => world.verb(name, RolloutVerb::Promote),
        9 => world.verb(name, RolloutVerb::Abort),
        _ => {
            let mut submit = submission(name, &spec(name.as_bytes()[4] - b'0', arg));
            submit.force = pliant_core::Force::Yes;
            world.command(Command::Submit(submit))
        }
    }
}

fn report(world: &mut World, pick: u16, phase: u8) -> Result<Answer, Rejection> {
    let all: Vec<_> = world.state.executions.iter().map(|(_, e)| e.clone()).collect();
    let Some(execution) = all.get(usize::from(pick) % all.len().max(1)) else {
        return Ok(Answer::Done);
    };
    let Some(host) = world.state.hosts.get(&execution.host).cloned() else {
        return Ok(Answer::Done);
    };
    let mut said = None;
    let (phase, exit) = match phase {
        6 | 7 => {
            let mut seen = observation(execution, Phase::Running, None);
            if phase == 6 {
                seen.health = pliant_types::Health::Unhealthy;
            } else {
                seen.version = Some(execution.runs());
                seen.refused = Some(execution.version);
            }
            said = Some(seen);
            (Phase::Running, None)
        }
        0 => (Phase::Preparing, None),
        1 | 2 => (Phase::Running, None),
        3 => (Phase::Completed, Some(ExitStatus::exited(0))),
        4 => (Phase::Failed, Some(ExitStatus::of(ExitReason::Trapped))),
        _ => (Phase::Stopped, Some(ExitStatus::of(ExitReason::Stopped))),
    };
    let report = Report {
        boot: host.description.boot.clone(),
        fence: host.fence,
        epoch: Epoch::FIRST,
        generation: host.generation,
        observations: vec![said.unwrap_or_else(|| observation(execution, phase, exit))],
    };
    world.command(Command::Report(ReportHost { host: host.id, report }))
}

/// Law 7: a task that should run and has no execution is named with a reason, and a reason with a
/// time has a wake-up no later than it.
fn every_wait_has_a_reason(world: &World) {
    let plan = plan(&world.state, world.now);
    for key in world.state.index.attention() {
        let Some(task) = world.state.tasks.get(&key) else { continue };
        let waits = world.state.task_wanted(task)
            && task.end.is_none()
            && world.state.live_execution(task).is_none();
        if waits && plan.facts.is_empty() {
            let named = plan
                .report
                .waits
                .get(&key.job)
                .into_iter()
                .flatten()
                .any(|wait| wait.tasks.contains(&key.number) && !wait.sentence.is_empty());
            assert!(named, "law 7: task {key:?} waits in silence");
        }
    }
    for wait in plan.report.waits.values().flatten() {
        if let Some(until) = wait.until {
            assert!(
                plan.wake_at.is_some_and(|wake| wake <= until),
                "law 7: no wake-up for {wait:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn laws_1_3_4_5_6_7_10_11_under_random_commands(ops in ops()) {
        let mut world = World::with_hosts(2);
        let mut highest = (0, 0, 0);
        for op in &ops {
            act(&mut world, op);
            let counters = world.state.counters;
            let ids = (counters.job, counters.execution, counters.host);
            prop_assert!(ids >= highest, "law 11: ids never go back");
            highest = ids;
        }
        world.settle();
        every_wait_has_a_reason(&world);
        let replayed = world.replayed();
        prop_assert_eq!(replayed.hash(), world.state.hash());
        prop_assert_eq!(check(&replayed), []);
        let snapshot = encode_snapshot(&world.state);
        let read = decode_snapshot(&snapshot).expect("own snapshot");
        prop_assert_eq!(encode_snapshot(&read), snapshot);
        prop_assert_eq!(check(&read), []);
    }

    #[test]
    fn when_hosts_stay_and_obey_every_job_comes_to_its_goal(ops in ops()) {
        let mut world = World::with_hosts(3);
        ops.iter().for_each(|op| act(&mut world, op));
        let hosts: Vec<_> = world.state.hosts.iter().map(|(id, h)| (*id, h.description.clone())).collect();
        for (id, description) in hosts {
            world.register(&description.name, "boot-9", Some(id), &[]);
            let active = pliant_core::SetHostMode { host: id, mode: HostMode::Active };
            world.command(Command::SetHostMode(active)).expect("active");
        }
        for _ in 0..12 {
            world.later(400_000);
            world.obey();
        }
        let jobs: Vec<_> = world.state.jobs.iter().map(|(_, job)| job.clone()).collect();
        let plan = world.settle();
        for job in jobs {
            let word = world.state.run_state(&job).as_str();
            prop_assert!(!matches!(word, "stopping"), "job {} is still {}", job.name, word);
            if word == "pending" && job.size > 0 {
                let tasks: usize = plan.report.waits.get(&job.uid).into_iter().flatten().map(|w| w.tasks.len()).sum();
                prop_assert!(tasks > 0, "job {} is pending without a reason", job.name);
            }
        }
    }
}

#[test]
fn law_2_time_never_goes_back() {
    let mut engine = Engine::new(State::default());
    let at = pliant_types::Time::from_millis;
    engine.submit(ReplyTag(1), Request::internal(Command::Submit(submission("a", &service(1)))));
    let staged = engine.stage(at(5_000)).expect("a batch");
    let _ = staged.committed();
    engine.submit(ReplyTag(2), Request::internal(Command::Submit(submission("b", &service(1)))));
    let staged = engine.stage(at(1_000)).expect("a batch");
    let release = staged.committed();
    assert!(release.facts.iter().all(|(_, fact)| fact.at == at(5_000)));
}

#[test]
fn law_8_a_plan_is_bounded_and_says_more() {
    let mut world = World::new();
    for n in 1..=10 {
        world.host(&format!("host-{n}"));
    }
    let small = r#""resources":{"cpu":"1m","memory":"1Mi"}"#;
    let spec = format!(r#"{{"kind":"service","count":600,{},{small}}}"#, common::WASM);
    world.submit("many", &spec).expect("created");
    let first = plan(&world.state, world.now);
    assert!(first.more && first.facts.len() <= 256 && first.wake_at == Some(world.now));
    world.settle();
    assert_eq!(world.live("many").len(), 600);
}

#[test]
fn law_9_case_b11_the_same_key_gives_the_same_answer_and_no_new_fact() {
    let mut world = World::with_hosts(1);
    let submit = || Command::Submit(submission("web", &service(1)));
    let first = world.ask(keyed(submit(), "k", 1)).expect("created");
    let entries = world.journal.len();
    assert_eq!(world.ask(keyed(submit(), "k", 1)).expect("the first answer"), first);
    assert_eq!(world.journal.len(), entries);
    assert_eq!(world.ask(keyed(submit(), "k", 2)).expect_err("refused").code, Code::KeyReused);
    world.later(25 * 3_600_000);
    world.settle();
    assert!(world.state.requests.is_empty(), "forgotten after a day");
}

#[test]
fn law_12_nothing_is_visible_before_the_append() {
    let mut world = World::with_hosts(1);
    world.settle();
    let mut engine = Engine::new(world.state.clone());
    engine.submit(ReplyTag(7), Request::internal(Command::Submit(submission("a", &service(1)))));
    let first = engine.stage(world.now).expect("a batch");
    engine.submit(ReplyTag(8), Request::internal(Command::Submit(submission("b", &service(1)))));
    let second = engine.stage(world.now).expect("staged ahead");
    assert!(first.payload().is_some() && second.payload().is_some());
    let release = first.committed();
    assert_eq!(release.replies.iter().map(|r| r.tag.0).collect::<Vec<_>>(), [7]);
    assert_eq!(release.state.jobs.len(), 1, "the second batch is not published with the first");
    assert_eq!(release.assignments.len(), 1);
    assert_eq!(second.committed().state.jobs.len(), 2);
}

#[test]
fn a_term_begins_once_and_a_failed_precondition_names_the_present() {
    let mut world = World::with_hosts(1);
    let term =
        |epoch| Command::StartTerm(StartTerm { epoch: Epoch::new(epoch), gap: Millis::ZERO });
    world.command(term(3)).expect("begun");
    world.command(term(2)).expect("an older one changes nothing");
    assert_eq!(world.state.epoch(), Epoch::new(3));
    let answer = world.submit("web", &service(1)).expect("created");
    world.settle();
    let stop = |revision| {
        Command::Stop(StopJob {
            job: by_name("web"),
            expect: Expect::Revision(revision),
            version: None,
        })
    };
    let refusal = world.command(stop(answer.revision.next())).expect_err("refused");
    assert_eq!((refusal.code, refusal.current), (Code::RevisionMismatch, Some(answer.revision)));
    world.command(stop(answer.revision)).expect("the revision is the ETag");
}

#[test]
fn case_n12_deleting_daemons_forgets_everything_they_held() {
    let mut world = World::with_hosts(3);
    world.submit("log", &of_kind("daemon")).expect("created");
    world.obey();
    world.delete("log").expect("deleted");
    world.obey();
    world.settle();
    assert!(world.state.jobs.is_empty() && world.state.executions.is_empty());
    assert_eq!(facts_in(&world, "job-forgotten"), 1);
}
