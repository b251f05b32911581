//! What is obeyed and what is refused.

use pliant_types::{Kind, Phase};

use super::rig::{ONE, Rig, assigned, delta, id, template, whole};
use crate::logic::{Event, Stage};

fn service(number: u64) -> pliant_types::assignment::AssignedExecution {
    assigned(number, template(Kind::Service))
}

#[test]
fn an_older_assignment_is_refused_even_after_a_restart() {
    let mut rig = Rig::joined(vec![service(1)]);
    rig.offer(whole(5, vec![service(1), service(2)]));
    rig.words();
    rig.offer(whole(4, vec![]));
    assert_eq!(rig.words(), "");
    let mut again = rig.crash(&[]);
    again.join();
    again.offer(whole(4, vec![]));
    assert!(again.stage(2).is_some());
    again.offer(whole(5, vec![service(1), service(2)]));
    assert_eq!(again.words(), "prepare e_1/2, prepare e_2/2");
}

#[test]
fn case_e90_a_lost_change_is_noticed_and_the_whole_is_asked() {
    let mut rig = Rig::joined(vec![service(1)]);
    rig.call_words();
    rig.offer(delta(2, vec![service(3)], vec![]));
    assert_eq!(rig.call_words(), "follow");
    assert_eq!(rig.stage(3), None);
    rig.offer(whole(3, vec![service(1), service(3)]));
    assert!(rig.stage(3).is_some());
}

#[test]
fn a_change_that_comes_twice_changes_nothing() {
    let mut rig = Rig::joined(vec![service(1)]);
    rig.offer(delta(1, vec![service(2)], vec![id(1)]));
    rig.words();
    rig.call_words();
    rig.offer(delta(1, vec![service(2)], vec![id(1)]));
    assert_eq!((rig.words().as_str(), rig.call_words().as_str()), ("", ""));
}

#[test]
fn an_ended_execution_is_kept_until_nobody_lists_it() {
    let mut never = template(Kind::Service);
    never.restart.attempts = 0;
    let job = assigned(1, never);
    let mut rig = Rig::joined(vec![job.clone()]);
    rig.up(1, ONE);
    rig.ended(1, ONE, pliant_types::ExitStatus::exited(1));
    assert_eq!(rig.phase(1), Phase::Failed);
    rig.offer(whole(2, vec![job]));
    assert_eq!(rig.stage(1), Some(Stage::Ended));
    rig.words();
    rig.offer(delta(2, vec![], vec![id(1)]));
    assert_eq!(rig.words(), "remove e_1");
    rig.event(1, Event::Removed);
    assert_eq!(rig.stage(1), None);
}

#[test]
fn case_h1_a_host_that_was_cut_off_obeys_what_it_missed() {
    let mut rig = Rig::joined(vec![service(1)]);
    rig.up(1, ONE);
    rig.tell(crate::logic::Input::RenewFailed(crate::logic::Trouble::NoAnswer));
    rig.pass(40);
    rig.words();
    rig.renew();
    rig.offer(whole(9, vec![service(2)]));
    assert_eq!(rig.words(), "stop e_1 in 10s, prepare e_2/1");
}
