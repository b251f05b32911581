//! Random users: every command of the product, at random, on a handful of names.

use crate::chance::Chance;
use pliant_core::{
    Command, DeleteJob, Expect, Force, JobRef, RerunJob, Rollback, RolloutCommand, RolloutVerb,
    ScaleJob, ScaleTo, SetHostMode, StartJob, StopJob, Submit, TagVersion,
};
use pliant_types::{Digest, HostId, JobName, Namespace, Version, VersionRef, host::HostMode};
use std::{collections::BTreeMap, sync::Arc};

/// Names that users use; few, so that they meet.
const NAMES: [&str; 6] = ["web", "sum", "log", "fix", "queue", "lock"];

/// What a user asks next, and the job's name.
pub(crate) fn wish(chance: &mut Chance, hosts: u64) -> (Option<String>, Command) {
    let name = NAMES[usize::try_from(chance.below(NAMES.len() as u64)).unwrap_or(0)];
    let job = || JobRef::Name(Namespace::default_namespace(), job_name(name));
    let named = |command| (Some(name.to_owned()), command);
    match chance.below(100) {
        0..50 => named(Command::Submit(submit(name, &spec(name, chance), chance))),
        50..62 => named(version_verb(job(), chance)),
        62..72 => {
            named(Command::Stop(StopJob { job: job(), expect: Expect::Anything, version: None }))
        }
        72..82 => named(Command::Start(StartJob { job: job(), expect: Expect::Anything })),
        82..92 => named(Command::Delete(DeleteJob { job: job(), expect: Expect::Anything })),
        _ => {
            let host = HostId::new(chance.between(1, hosts));
            let mode = if chance.permille(300) { HostMode::Paused } else { HostMode::Active };
            (None, Command::SetHostMode(SetHostMode { host, mode }))
        }
    }
}

/// The verbs of versions and runs.
fn version_verb(job: JobRef, chance: &mut Chance) -> Command {
    let expect = Expect::Anything;
    let number = || Version::new(1);
    match chance.below(10) {
        6 => rollout_verb(job, RolloutVerb::Pause),
        7 => rollout_verb(job, RolloutVerb::Resume),
        8 => rollout_verb(job, RolloutVerb::Promote),
        9 => rollout_verb(job, RolloutVerb::Abort),
        0 | 1 => Command::Rollback(Rollback { job, expect, to: None, message: None }),
        2 => {
            let tag = "good".parse().expect("Invariant: a tag");
            Command::Tag(TagVersion { job, expect, tag, version: Some(VersionRef::Current) })
        }
        3 => Command::Rerun(RerunJob { job, expect }),
        4 => {
            let by = i32::try_from(chance.below(4)).unwrap_or(0) - 1;
            Command::Scale(ScaleJob { job, expect, to: ScaleTo::By(by) })
        }
        _ => Command::Stop(StopJob { job, expect, version: Some(number()) }),
    }
}

/// What a user does to the rollout under way.
pub(crate) fn rollout_verb(job: JobRef, verb: RolloutVerb) -> Command {
    Command::Rollout(RolloutCommand { job, expect: Expect::Anything, rollout: None, verb })
}

fn job_name(name: &str) -> JobName {
    name.parse().expect("Invariant: the list holds DNS labels")
}

/// A submission of a spec in JSON.
pub(crate) fn submit(name: &str, spec: &str, chance: &mut Chance) -> Submit {
    Submit {
        namespace: Namespace::default_namespace(),
        name: job_name(name),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        spec: Arc::new(serde_json::from_str(spec).expect("Invariant: the texts here are specs")),
        text: None,
        source: None,
        digest: Digest::new([u8::try_from(chance.below(2)).unwrap_or(0); 32]),
        force: if chance.permille(100) { Force::Yes } else { Force::No },
        expect: Expect::Anything,
        message: None,
    }
}

/// A shape of rollouts; most users leave it alone.
fn update(chance: &mut Chance) -> &'static str {
    const SHAPES: [&str; 7] = [
        r#","update":{"maxUnavailable":1}"#,
        r#","update":{"canary":1,"minHealthyTime":"2s"}"#,
        r#","update":{"canary":2,"autoPromote":true,"bake":"5s"}"#,
        r#","update":{"strategy":"recreate"}"#,
        r#","update":{"maxParallel":3,"maxSurge":"50%","maxFailures":2}"#,
        r#","update":{"order":"stop-first","minHealthyTime":"1s"}"#,
        r#","update":{"minHealthyTime":"0s","autoRollback":false}"#,
    ];
    match usize::try_from(chance.below(14)) {
        Ok(shape) if shape < SHAPES.len() => SHAPES[shape],
        _ => "",
    }
}

fn spec(name: &str, chance: &mut Chance) -> String {
    // The same name has the same kind most of the time, so that updates are seldom refused.
    let kind = match name {
        "log" => "daemon",
        "fix" => "ops",
        "sum" | "queue" => "batch",
        _ => "service",
    };
    let count = if matches!(kind, "service" | "batch") {
        format!(r#""count":{},"#, chance.below(5))
    } else {
        String::new()
    };
    let loss = match name {
        "lock" => r#","onHostLoss":{"mode":"exclusive"},"timeouts":{"kill":"3s"}"#,
        "queue" if chance.permille(500) => r#","restart":{"policy":"never"}"#,
        _ if chance.permille(100) => r#","onHostLoss":{"policy":"keep"}"#,
        _ => "",
    };
    let resubmit = if kind == "batch" && chance.permille(400) {
        [r#","onResubmit":"finish-first""#, r#","onResubmit":"parallel""#]
            [usize::from(chance.permille(500))]
    } else {
        ""
    };
    let port = if chance.permille(150) { r#","ports":[{"name":"p","static":8080}]"# } else { "" };
    let update = if kind == "service" || kind == "daemon" { update(chance) } else { "" };
    let memory = if chance.permille(100) { "900Mi" } else { "64Mi" };
    format!(
        r#"{{"kind":"{kind}",{count}"engine":{{"wasm":{{"component":"oci://r/x:1"}}}},"env":{{"A":"{}"}},"resources":{{"memory":"{memory}"}}{loss}{resubmit}{port}{update}}}"#,
        chance.below(3)
    )
}
