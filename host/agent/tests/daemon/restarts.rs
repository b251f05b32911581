//! The agent's process ends and another one takes over what it remembers.

use std::fs;

use pliant_driver::{Driver, ExitCause};
use pliant_types::{Attempt, Kind, Phase, phase::AttemptState};

use crate::{
    controller::HOST,
    rig::{Rig, id},
};

#[tokio::test]
async fn what_ran_comes_back_as_a_new_attempt_and_was_never_told_as_stopped() {
    let rig = Rig::start().await;
    rig.controller.assign(vec![rig.job(1, Kind::Service)]);
    rig.controller.sees(id(1), |one| one.attempt_state == AttemptState::Up).await;
    let rig = rig.restart().await;
    let two = Attempt::new(2);
    let is_up = |one: &pliant_types::report::Observation| {
        one.attempt == two && one.attempt_state == AttemptState::Up
    };
    rig.controller.sees(id(1), is_up).await;
    let phases: Vec<Phase> = rig.controller.history(id(1)).iter().map(|one| one.phase).collect();
    assert!(phases.is_sorted() && phases.last() == Some(&Phase::Running), "{phases:?}");
    let registration = rig.controller.registrations().pop().unwrap();
    assert_eq!(registration.host, Some(HOST));
    assert_eq!(registration.inventory.len(), 1);
    rig.stop().await;
}

#[tokio::test]
async fn what_ended_stays_ended() {
    let rig = Rig::start().await;
    rig.controller.assign(vec![rig.job(1, Kind::Batch)]);
    rig.controller.sees(id(1), |one| one.attempt_state == AttemptState::Up).await;
    fs::write(rig.output(1).join("a"), "a").unwrap();
    assert!(rig.driver.end(id(1), ExitCause::Code(0)).await);
    let ended = rig.controller.sees(id(1), |one| one.phase.is_final()).await;
    let rig = rig.restart().await;
    let told_before = rig.controller.history(id(1)).len();
    rig.controller.assign(vec![rig.job(1, Kind::Batch), rig.job(2, Kind::Batch)]);
    rig.controller.sees(id(2), |one| one.attempt_state == AttemptState::Up).await;
    assert!(rig.driver.probe(id(1)).await.is_none(), "it does not run again");
    let history = rig.controller.history(id(1));
    assert!(history[told_before.min(history.len())..].iter().all(|one| *one == ended));
    rig.stop().await;
}

#[tokio::test]
async fn a_guest_that_ends_while_the_agent_stops_is_remembered_as_ended() {
    let rig = Rig::start().await;
    rig.controller.assign(vec![rig.job(1, Kind::Batch)]);
    rig.controller.sees(id(1), |one| one.attempt_state == AttemptState::Up).await;
    assert!(rig.driver.end(id(1), ExitCause::Code(0)).await);
    let rig = rig.restart().await;
    let ended = rig.controller.sees(id(1), |one| one.phase.is_final()).await;
    assert_eq!((ended.phase, ended.attempt), (Phase::Completed, Attempt::FIRST));
    assert!(rig.driver.probe(id(1)).await.is_none());
    rig.stop().await;
}
