//! From an assignment to reports, over real HTTP.

use std::{fs, sync::Arc};

use pliant_driver::{
    ExitCause,
    fake::{FakePrepare, FakeScript},
};
use pliant_types::{
    Attempt, Digest, ExitReason, Kind, Phase, assignment::Desired, phase::AttemptState, spec::Mount,
};

use crate::rig::{Rig, id};

#[tokio::test]
async fn runs_stops_and_forgets_what_is_assigned() {
    let rig = Rig::start().await;
    let mut job = rig.job(1, Kind::Service);
    rig.controller.assign(vec![job.clone()]);
    let up = rig.controller.sees(id(1), |one| one.attempt_state == AttemptState::Up).await;
    assert_eq!((up.phase, up.attempt), (Phase::Running, Attempt::FIRST));
    job.desired = Desired::Stop { kill: job.template.kill_timeout };
    rig.controller.assign(vec![job]);
    let ended = rig.controller.sees(id(1), |one| one.phase.is_final()).await;
    assert_eq!((ended.phase, ended.exit.unwrap().reason), (Phase::Stopped, ExitReason::Stopped));
    rig.controller.assign(vec![]);
    let mut status = rig.agent.status();
    status.wait_for(|status| status.executions == 0).await.unwrap();
    rig.stop().await;
}

#[tokio::test]
async fn tells_the_controller_what_the_host_is() {
    let rig = Rig::start().await;
    let description = rig.controller.registrations().remove(0).description;
    assert_eq!(&*description.name, "one");
    assert!(description.offers_engine("wasm") && !description.offers_engine("container"));
    assert!(description.cpu.millis() >= 1_000 && description.memory.bytes() > 0);
    assert!(["arch", "os", "kernel", "cores"].iter().all(|key| description.value(key).is_some()));
    assert_eq!(description.address, format!("http://{}", rig.agent.address()));
    rig.stop().await;
}

#[tokio::test]
async fn results_of_a_batch_task_are_sent_before_it_is_completed() {
    let rig = Rig::start().await;
    rig.controller.assign(vec![rig.job(1, Kind::Batch)]);
    rig.controller.sees(id(1), |one| one.attempt_state == AttemptState::Up).await;
    fs::write(rig.output(1).join("table.txt"), "one 1\n").unwrap();
    assert!(rig.driver.end(id(1), ExitCause::Code(0)).await);
    let ended = rig.controller.sees(id(1), |one| one.phase.is_final()).await;
    assert_eq!(ended.phase, Phase::Completed);
    let results = ended.results.unwrap();
    let bytes = rig.controller.artifact(&results.digest).unwrap();
    assert_eq!((results.files, results.size_bytes), (1, bytes.len() as u64));
    let mut archive = tar::Archive::new(&bytes[..]);
    let entry = archive.entries().unwrap().next().unwrap().unwrap();
    assert_eq!(entry.path().unwrap().to_str(), Some("table.txt"));
    rig.stop().await;
}

#[tokio::test]
async fn a_failing_task_is_restarted_until_its_budget_is_spent() {
    let rig = Rig::start().await;
    rig.controller.assign(vec![rig.job(1, Kind::Batch)]);
    for attempt in 1..=3 {
        let attempt = Attempt::new(attempt);
        let is_up = |one: &pliant_types::report::Observation| {
            one.attempt == attempt && one.attempt_state == AttemptState::Up
        };
        rig.controller.sees(id(1), is_up).await;
        assert!(rig.driver.end(id(1), ExitCause::Code(3)).await);
    }
    let ended = rig.controller.sees(id(1), |one| one.phase.is_final()).await;
    assert_eq!((ended.phase, ended.exit.unwrap().code), (Phase::Failed, Some(3)));
    rig.stop().await;
}

#[tokio::test]
async fn a_mount_outside_of_the_roots_is_refused_and_one_inside_is_not() {
    let root = tempfile::tempdir().unwrap();
    let rig = Rig::with_mounts(vec![root.path().to_owned()]).await;
    let mut jobs = vec![rig.job(1, Kind::Service), rig.job(2, Kind::Service)];
    for (job, source) in jobs.iter_mut().zip(["/etc", root.path().to_str().unwrap()]) {
        let mount = Mount {
            source: source.to_owned(),
            target: "/data".to_owned(),
            mode: None,
            exclusive: None,
        };
        Arc::make_mut(&mut job.template).mounts = vec![mount];
    }
    rig.controller.assign(jobs);
    let ended = rig.controller.sees(id(1), |one| one.phase.is_final()).await;
    let exit = ended.exit.unwrap();
    assert_eq!((ended.phase, exit.reason), (Phase::Failed, ExitReason::NotGranted));
    assert!(exit.detail.unwrap().contains("/etc"));
    rig.controller.sees(id(2), |one| one.attempt_state == AttemptState::Up).await;
    rig.stop().await;
}

#[tokio::test]
async fn what_cannot_be_fetched_or_prepared_ends_with_its_reason() {
    let rig = Rig::start().await;
    let bad = rig.controller.put_artifact(b"no guest");
    let script = FakeScript {
        prepare: FakePrepare::Invalid("not a wasm file".to_owned()),
        ..FakeScript::default()
    };
    rig.driver.set_script(bad, script);
    let mut jobs =
        vec![rig.job(1, Kind::Service), rig.job(2, Kind::Service), rig.job(3, Kind::Service)];
    Arc::make_mut(&mut jobs[0].template).digest = Digest::new([9; 32]);
    Arc::make_mut(&mut jobs[1].template).digest = bad;
    Arc::make_mut(&mut jobs[2].template).engine = "container".to_owned();
    rig.controller.assign(jobs);
    let reasons = [
        (1, ExitReason::ArtifactInvalid, "artifact"),
        (2, ExitReason::ArtifactInvalid, "not a wasm file"),
        (3, ExitReason::NotGranted, "no engine container"),
    ];
    for (number, reason, words) in reasons {
        let ended = rig.controller.sees(id(number), |one| one.phase.is_final()).await;
        let exit = ended.exit.unwrap();
        assert_eq!((ended.phase, exit.reason), (Phase::Failed, reason), "{number}");
        assert!(exit.detail.as_deref().unwrap().contains(words), "{exit}");
    }
    rig.stop().await;
}
