//! A ledger that fails under a running agent: it goes on, and forgets nothing that it said.

use std::time::Duration;

use pliant_driver::{Driver, ExecutionState};
use pliant_journal::Poison;
use pliant_types::{Kind, Phase, assignment::Desired, phase::AttemptState, report::Observation};

use crate::rig::{Rig, id};

fn is_up(one: &Observation) -> bool {
    one.attempt_state == AttemptState::Up
}

async fn runs(rig: &Rig, number: u64) -> bool {
    matches!(rig.driver.probe(id(number)).await, Some(ExecutionState::Running { .. }))
}

async fn remembers(rig: &Rig, wanted: bool) {
    let mut status = rig.agent.status();
    status.wait_for(|status| status.remembers == wanted).await.unwrap();
}

#[tokio::test]
async fn a_write_that_fails_once_is_repeated_to_the_ledger_that_is_opened_again() {
    for poison in [Poison::NoSpace, Poison::Io("write: EIO".into()), Poison::AnswerLost] {
        let rig = Rig::start().await;
        rig.ledger.fail_next_commit(poison);
        rig.controller.assign(vec![rig.job(1, Kind::Service)]);
        rig.controller.sees(id(1), is_up).await;
        let rig = rig.restart().await;
        let again = |one: &Observation| is_up(one) && one.attempt.get() == 2;
        rig.controller.sees(id(1), again).await;
        rig.stop().await;
    }
}

#[tokio::test]
async fn on_a_full_disk_renewals_and_stops_go_on_and_nothing_begins() {
    let rig = Rig::start().await;
    let mut first = rig.job(1, Kind::Service);
    let second = rig.job(2, Kind::Service);
    rig.controller.assign(vec![first.clone()]);
    rig.controller.sees(id(1), is_up).await;
    rig.ledger.fail_commits(Some(Poison::NoSpace));
    rig.controller.assign(vec![first.clone(), second.clone()]);
    remembers(&rig, false).await;
    rig.controller.renewed(2).await;
    assert!(runs(&rig, 1).await, "what ran goes on");
    assert!(rig.driver.probe(id(2)).await.is_none(), "what is not remembered does not begin");

    first.desired = Desired::Stop { kill: first.template.kill_timeout };
    rig.controller.assign(vec![first.clone(), second.clone()]);
    let ends = async {
        while runs(&rig, 1).await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), ends).await.expect("it is stopped");
    let told = rig.controller.history(id(1));
    assert!(told.iter().all(|one| !one.phase.is_final()), "not told before it is remembered");

    rig.ledger.fail_commits(None);
    remembers(&rig, true).await;
    rig.controller.sees(id(2), is_up).await;
    let ended = rig.controller.sees(id(1), |one| one.phase.is_final()).await;
    assert_eq!(ended.phase, Phase::Stopped);
    let rig = rig.restart().await;
    rig.controller.sees(id(2), |one| is_up(one) && one.attempt.get() == 2).await;
    assert_eq!(rig.controller.history(id(1)).last(), Some(&ended), "it stays ended");
    rig.stop().await;
}

#[tokio::test]
async fn an_agent_that_stops_on_a_full_disk_says_so_and_comes_back_with_what_it_knew() {
    let rig = Rig::start().await;
    rig.controller.assign(vec![rig.job(1, Kind::Service)]);
    rig.controller.sees(id(1), is_up).await;
    rig.ledger.fail_commits(Some(Poison::NoSpace));
    rig.controller.assign(vec![rig.job(1, Kind::Service), rig.job(2, Kind::Service)]);
    remembers(&rig, false).await;
    let rig = rig.restart_after_failure().await;
    rig.controller.sees(id(1), |one| is_up(one) && one.attempt.get() == 2).await;
    rig.controller.sees(id(2), is_up).await;
    rig.stop().await;
}
