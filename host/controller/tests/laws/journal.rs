//! Trouble with the journal: what callers are told, what is kept, how it goes on.

use crate::rig::{Rig, answer, job};
use pliant_journal::{
    OpenError, Sequence,
    faulty::{Fault, Script},
};

#[tokio::test]
async fn a_batch_of_unknown_outcome_that_is_there_is_answered_as_done() {
    for fault in [Fault::UnknownPresent, Fault::CrashPresent] {
        let rig = Rig::start().await;
        rig.fail_next(&[fault]);
        let answer = rig.submit("web").await;
        assert_eq!((answer.status, &answer.body["version"]), (201, &1.into()), "{answer:?}");
        assert_eq!(rig.happened(), [fault]);
        assert_eq!(rig.submit("web-2").await.status, 201, "it goes on");
        assert_eq!(rig.journaled_submissions().await, ["web", "web-2"]);
    }
}

#[tokio::test]
async fn a_batch_of_unknown_outcome_that_is_absent_is_appended_once() {
    for fault in [Fault::UnknownAbsent, Fault::CrashAbsent] {
        let rig = Rig::start().await;
        rig.fail_next(&[fault]);
        let answer = rig.submit("web").await;
        assert_eq!((answer.status, &answer.body["version"]), (201, &1.into()), "{answer:?}");
        assert_eq!(rig.happened(), [fault]);
        assert_eq!(rig.submit("web-2").await.status, 201, "it goes on");
        assert_eq!(rig.journaled_submissions().await, ["web", "web-2"]);
    }
}

#[tokio::test]
async fn a_second_unknown_outcome_is_resolved_too() {
    let rig = Rig::start().await;
    rig.fail_next(&[Fault::UnknownAbsent, Fault::UnknownPresent]);
    let answer = rig.submit("web").await;
    assert_eq!(answer.status, 201, "it is there, so it was done: {answer:?}");
    assert_eq!(rig.happened().len(), 2);
    assert_eq!(rig.journaled_submissions().await, ["web"]);
}

#[tokio::test]
async fn a_batch_that_is_absent_twice_is_refused_and_never_appears() {
    let rig = Rig::start().await;
    rig.fail_next(&[Fault::UnknownAbsent, Fault::UnknownAbsent]);
    let answer = rig.submit("web").await;
    assert_eq!((answer.status, answer.code()), (503, "journal-unavailable"), "{answer:?}");
    assert_eq!(rig.get(&job("web")).await.status, 404);
    rig.eventually_ready().await;
    assert_eq!(rig.submit("web-2").await.status, 201, "it goes on");
    assert_eq!(rig.journaled_submissions().await, ["web-2"]);
}

#[tokio::test]
async fn reads_are_served_while_a_poisoned_journal_is_opened_again() {
    let rig = Rig::start().await;
    assert_eq!(rig.submit("old").await.status, 201);
    let lost = || OpenError::Regressed { witness: Sequence(2), found: Sequence(1) };
    rig.store.fail_open(lost());
    rig.fail_next(&[Fault::UnknownAbsent]);
    let submitted = tokio::spawn(answer(rig.submission("web", 16)));
    rig.eventually("the journal is away", async || {
        (rig.get("/readyz").await.status == 503).then_some(())
    })
    .await;
    assert_eq!(rig.get(&job("old")).await.status, 200);
    assert_eq!(rig.get("/v1/jobs").await.status, 200);
    assert_eq!(rig.get("/healthz").await.status, 200);
    assert_eq!(rig.get("/v1/journal").await.body["writable"], false);
    let refused = rig.stop_job("old").await;
    assert_eq!((refused.status, refused.code()), (503, "journal-unavailable"), "{refused:?}");
    assert_eq!(refused.body["retryable"], true);

    rig.eventually_ready().await;
    assert_eq!(submitted.await.unwrap().status, 201, "asked before the trouble, answered after it");
    assert_eq!(rig.stop_job("old").await.status, 200);
    assert_eq!(rig.journaled_submissions().await, ["old", "web"]);
}

#[tokio::test]
async fn no_space_refuses_new_work_and_takes_it_again_when_there_is_space() {
    let rig = Rig::start().await;
    assert_eq!(rig.submit("old").await.status, 201);
    rig.memory.set_free_permille(10);
    for _ in 0..3 {
        let refused = rig.submit("web").await;
        assert_eq!((refused.status, refused.code()), (507, "no-space"), "{refused:?}");
        assert_eq!(refused.body["retryable"], true);
        assert_eq!(rig.get(&job("web")).await.status, 404, "it left no trace");
    }
    assert_eq!(rig.stop_job("old").await.status, 200, "stops still work");
    rig.memory.set_free_permille(500);
    assert_eq!(rig.submit("web").await.status, 201);
    assert_eq!(rig.journaled_submissions().await, ["old", "web"]);
}

#[tokio::test]
async fn no_space_for_new_work_takes_nothing_else_along() {
    let rig = Rig::start().await;
    let names: Vec<_> = (0..40).map(|number| format!("job-{number}")).collect();
    for name in &names {
        assert_eq!(rig.submit(name).await.status, 201);
    }
    rig.memory.set_free_permille(10);
    let stops = names.iter().map(|name| rig.stop_job(name));
    let new = names.iter().map(|name| answer(rig.submission(&format!("new-{name}"), 16)));
    let (stops, new) =
        tokio::join!(futures::future::join_all(stops), futures::future::join_all(new));
    for refused in new {
        assert_eq!((refused.status, refused.code()), (507, "no-space"), "{refused:?}");
    }
    for stopped in stops {
        assert_eq!(stopped.status, 200, "{stopped:?}");
    }
    rig.stop().await;
}

#[tokio::test]
async fn another_leader_for_a_moment_is_followed_by_a_new_term() {
    let rig = Rig::start().await;
    rig.fail_next(&[Fault::Fenced]);
    let refused = rig.submit("web").await;
    assert_eq!((refused.status, refused.code()), (503, "journal-unavailable"), "{refused:?}");
    rig.eventually_ready().await;
    assert_eq!(rig.submit("web").await.status, 201);
    assert_eq!(rig.journaled_submissions().await, ["web"]);
}

#[tokio::test]
async fn whatever_the_journal_does_what_was_acknowledged_is_there_once() {
    for seed in 0..8 {
        let rig = Rig::start().await;
        let rates = pliant_journal::faulty::Rates::even(60);
        rig.store.set_script(Script::seeded(seed, rates));
        let mut acknowledged = Vec::new();
        for number in 0..30 {
            let name = format!("job-{number}");
            if rig.submit(&name).await.status == 201 {
                acknowledged.push(name);
            }
        }
        rig.store.set_script(Script::default());
        rig.eventually_ready().await;
        let journaled = rig.journaled_submissions().await;
        let kept: Vec<_> = journaled.iter().filter(|name| acknowledged.contains(name)).collect();
        assert_eq!(kept, acknowledged.iter().collect::<Vec<_>>(), "seed {seed}");
        let known: std::collections::BTreeSet<_> = journaled.iter().collect();
        assert_eq!(known.len(), journaled.len(), "seed {seed}: nothing twice");
    }
}
