//! Two processes on one directory.

use pliant_journal::OpenError;

use crate::{
    child::{self, Role},
    rig,
};

#[test]
fn a_second_process_is_told_whom_to_stop() {
    let dir = rig::tempdir();
    let journal = dir.path().join("journal");
    let mut running = child::start(Role::Journal, dir.path(), None);
    running.next_ack().unwrap();
    let pid = running.pid();
    for _ in 0..3 {
        let error = rig::open(&journal).unwrap_err();
        let OpenError::Locked { holder, .. } = &error else { panic!("{error}") };
        assert_eq!(*holder, format!("process {pid}"));
        let error = pliant_journal::durable::inspect(&rig::options(&journal)).unwrap_err();
        assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    }
    let before = running.next_ack().unwrap();
    let after = running.next_ack().unwrap();
    assert_eq!(after, before + 1, "the first goes on undisturbed");
    let last = running.kill().unwrap_or(after);
    rig::assert_whole(&rig::open(&journal).unwrap(), last);
}
