//! Rules of start, end, stop and remove.

use std::collections::BTreeMap;
use std::time::Duration;

use pliant_types::{Attempt, ExecutionId};

use super::{Behaviour, Bench};
use crate::{DriverError, DriverEvent, ExecutionState, ExitCause};

const GRACE: Duration = Duration::from_secs(5);
/// Executions in `keeps_many_apart`.
const MANY: u64 = 32;

pub(super) async fn reports_the_exit_code_once(mut bench: Bench) {
    for (number, code) in [(1, 0), (2, 3)] {
        let id = bench.start(Behaviour::Exits(code), number).await;
        let report = bench.started_and_ended(id, Attempt::FIRST).await;
        assert_eq!(report.cause, ExitCause::Code(code));
        assert_eq!(report.cause.is_success(), code == 0);
        let state = bench.driver.probe(id).await;
        assert_eq!(state, Some(ExecutionState::Ended { attempt: Attempt::FIRST, report }));
        bench.quiet();
    }
}

pub(super) async fn reports_a_trap_with_its_message(mut bench: Bench) {
    let id = bench.start(Behaviour::Traps, 1).await;
    let report = bench.started_and_ended(id, Attempt::FIRST).await;
    assert!(
        matches!(&report.cause, ExitCause::Trap { message, backtrace }
            if !message.is_empty() && !backtrace.is_empty()),
        "{report:?}"
    );
}

pub(super) async fn stops_what_runs_for_ever(mut bench: Bench) {
    let id = bench.start(Behaviour::RunsForever, 1).await;
    bench.started(id, Attempt::FIRST).await;
    let state = bench.driver.probe(id).await;
    assert!(
        matches!(state, Some(ExecutionState::Running { attempt: Attempt::FIRST, .. })),
        "{state:?}"
    );
    let report = bench.driver.stop(id, GRACE).await.expect("it runs");
    assert_eq!(report.cause, ExitCause::Stopped);
    assert_eq!(bench.ended(id, Attempt::FIRST).await, report);
    bench.quiet();
}

pub(super) async fn stopping_twice_gives_the_same_report(mut bench: Bench) {
    let id = bench.start(Behaviour::RunsForever, 1).await;
    let (first, second) =
        futures::join!(bench.driver.stop(id, GRACE), bench.driver.stop(id, GRACE));
    let first = first.expect("it runs");
    assert_eq!(first, second.expect("it has run"));
    assert_eq!(first, bench.driver.stop(id, GRACE).await.expect("it has ended"));
    assert_eq!(bench.started_and_ended(id, Attempt::FIRST).await, first);
    bench.quiet();
}

pub(super) async fn does_not_start_a_second_time_while_running(mut bench: Bench) {
    let id = bench.start(Behaviour::RunsForever, 1).await;
    bench.started(id, Attempt::FIRST).await;
    let again = bench.start_spec(bench.subject.spec(Behaviour::RunsForever, id)).await;
    assert!(matches!(again, Err(DriverError::AlreadyRunning(known)) if known == id), "{again:?}");
    assert!(bench.driver.stop(id, GRACE).await.is_ok());
    bench.ended(id, Attempt::FIRST).await;
    bench.quiet();
}

pub(super) async fn starts_the_next_attempt_after_an_end(mut bench: Bench) {
    let id = bench.start(Behaviour::Exits(3), 1).await;
    bench.started_and_ended(id, Attempt::FIRST).await;
    let mut spec = bench.subject.spec(Behaviour::Exits(3), id);
    spec.attempt = Attempt::FIRST.next();
    bench.start_spec(spec).await.expect("the first attempt has ended");
    let report = bench.started_and_ended(id, Attempt::FIRST.next()).await;
    assert_eq!(report.cause, ExitCause::Code(3));
}

pub(super) async fn removes_only_what_has_ended(mut bench: Bench) {
    let id = bench.start(Behaviour::RunsForever, 1).await;
    bench.started(id, Attempt::FIRST).await;
    let early = bench.driver.remove(id).await;
    assert!(matches!(early, Err(DriverError::StillRunning(_))), "{early:?}");
    assert!(bench.driver.stop(id, GRACE).await.is_ok());
    bench.driver.remove(id).await.expect("it has ended");
    assert_eq!(bench.driver.probe(id).await, None);
    let gone = bench.driver.remove(id).await;
    assert!(matches!(gone, Err(DriverError::UnknownExecution(_))), "{gone:?}");
}

pub(super) async fn keeps_many_apart(mut bench: Bench) {
    let mut expected = BTreeMap::new();
    for number in 1..=MANY {
        let code = u32::try_from(number % 2).expect("0 or 1");
        let id = bench.start(Behaviour::Exits(code), number).await;
        expected.insert(id, ExitCause::Code(code));
    }
    let mut started = Vec::new();
    let mut ended = BTreeMap::new();
    for _ in 0..2 * MANY {
        match bench.event().await {
            DriverEvent::Started { execution, .. } => started.push(execution),
            DriverEvent::Ended { execution, report, .. } => {
                assert!(started.contains(&execution), "{execution} ended before it started");
                assert_eq!(ended.insert(execution, report.cause), None);
            }
        }
    }
    assert_eq!(ended, expected);
    bench.quiet();
}

pub(super) async fn shutdown_ends_everything(mut bench: Bench) {
    let ids: Vec<ExecutionId> = [
        bench.start(Behaviour::RunsForever, 1).await,
        bench.start(Behaviour::RunsForever, 2).await,
    ]
    .into();
    bench.driver.shutdown().await;
    for id in ids {
        let state = bench.driver.probe(id).await;
        assert!(matches!(state, Some(ExecutionState::Ended { .. })), "{state:?}");
    }
    for _ in 0..4 {
        bench.event().await;
    }
    bench.quiet();
}
