//! What is said to the controller, and when.

use pliant_types::{
    Epoch, ExitReason, ExitStatus, Fence, Kind, Millis,
    report::{Registered, Renewed},
};

use super::rig::{HOST, ONE, Rig, assigned, id, template, whole};
use crate::logic::{Call, Event, Input, Trouble};

#[test]
fn registers_with_pauses_that_grow_and_are_bounded() {
    let mut rig = Rig::new();
    assert_eq!(rig.call_words(), "register");
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let asked = rig.now;
        rig.tell(Input::RegisterFailed(Trouble::NoAnswer));
        let due = rig.logic.next_due().unwrap();
        pauses.push(due.since(asked).get());
        rig.now = due;
        rig.tell(Input::Tick);
        assert_eq!(rig.call_words(), "register");
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
}

#[test]
fn renews_every_three_seconds_and_never_two_at_once() {
    let mut rig = Rig::new();
    rig.join();
    rig.call_words();
    rig.pass(3);
    assert_eq!(rig.call_words(), "renew");
    rig.pass(30);
    assert_eq!(rig.call_words(), "", "one is under way");
    rig.tell(Input::RenewFailed(Trouble::NoAnswer));
    rig.pass(1);
    assert_eq!(rig.call_words(), "renew");
}

#[test]
fn a_report_is_sent_at_once_and_again_until_it_is_durable() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    assert!(!rig.call_words().contains("report"), "it most often passes at once");
    rig.up(1, ONE);
    assert_eq!(rig.call_words(), "report");
    rig.ended(1, ONE, ExitStatus::exited(1));
    assert_eq!(rig.call_words(), "", "one is under way");
    rig.tell(Input::ReportFailed(Trouble::NoAnswer));
    rig.pass(1);
    assert!(rig.call_words().contains("report"), "it is repeated with the present state");
    assert_eq!(rig.report[0].exit, Some(ExitStatus::exited(1)));
    rig.acknowledge();
    rig.call_words();
    rig.tell(Input::Tick);
    assert_eq!(rig.call_words(), "");
}

#[test]
fn more_than_a_report_holds_goes_in_several() {
    let many = (1..=600).map(|n| assigned(n, template(Kind::Service))).collect();
    let mut rig = Rig::joined(many);
    rig.pass(1);
    let mut sizes = Vec::new();
    for _ in 0..3 {
        sizes.push(rig.report.len());
        rig.acknowledge();
    }
    assert_eq!(sizes, [256, 256, 88]);
}

#[test]
fn case_e92_what_must_end_is_gone_before_the_host_is_registered_again() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    rig.call_words();
    rig.words();
    let renewed =
        Renewed { epoch: Epoch::new(1), fence: Fence::new(1), lease: Millis::from_secs(15) };
    rig.tell(Input::Renewed { sent: rig.now, renewed });
    assert_eq!(rig.call_words(), "unfollow");
    rig.pass(1);
    assert_eq!(rig.call_words(), "register");
    let kill = vec![id(1), id(99)];
    rig.tell(Input::Registered(Registered { host: HOST, fence: Fence::new(1), kill }));
    assert_eq!(rig.words(), "stop e_1 in 10s");
    assert!(!rig.call_words().contains("follow"), "no work before the leftovers are gone");
    rig.ended(1, ONE, ExitStatus::of(ExitReason::Stopped));
    rig.event(1, Event::Removed);
    let calls: Vec<Call> = std::mem::take(&mut rig.calls);
    let registers = calls.iter().filter_map(|call| match call {
        Call::Register { inventory, .. } => Some(inventory.len()),
        _ => None,
    });
    assert_eq!(registers.collect::<Vec<_>>(), [0]);
}

#[test]
fn a_fenced_report_leads_to_a_registration_and_everything_is_told_again() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.up(1, ONE);
    rig.acknowledge();
    rig.acknowledge();
    rig.call_words();
    rig.tell(Input::RenewFailed(Trouble::Fenced));
    rig.pass(1);
    assert_eq!(rig.call_words(), "unfollow, register");
    rig.join();
    assert!(rig.call_words().contains("report"));
}

#[test]
fn an_assignment_under_another_fence_is_not_obeyed() {
    let mut rig = Rig::joined(vec![]);
    rig.call_words();
    let mut offer = whole(2, vec![assigned(1, template(Kind::Service))]);
    if let crate::logic::Offer::Whole(whole) = &mut offer {
        whole.fence = Fence::new(3);
    }
    rig.offer(offer);
    assert_eq!((rig.words().as_str(), rig.stage(1)), ("", None));
    assert_eq!(rig.call_words(), "unfollow");
}

#[test]
fn a_slow_preparation_is_told_soon() {
    let mut rig = Rig::joined(vec![assigned(1, template(Kind::Service))]);
    rig.pass(1);
    assert_eq!(rig.report[0].phase, pliant_types::Phase::Preparing);
}
