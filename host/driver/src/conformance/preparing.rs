//! Rules of `prepare`.

use std::sync::Mutex;

use pliant_types::ExecutionId;

use super::{Behaviour, Bench};
use crate::{DriverError, Phase, Progress, SilentProgress};

pub(super) async fn prepares_once_and_then_from_cache(bench: Bench) {
    let artifact = bench.subject.artifact(Behaviour::Exits(0));
    let first = bench.driver.prepare(&artifact, &SilentProgress).await.expect("it is runnable");
    let second = bench.driver.prepare(&artifact, &SilentProgress).await.expect("it is runnable");
    assert_eq!(first.digest, artifact.digest);
    assert_eq!((first.digest, &first.kind), (second.digest, &second.kind));
    assert!(first.compiled && !second.compiled, "{first:?} then {second:?}");
}

#[derive(Default)]
struct Seen(Mutex<Vec<Phase>>);

impl Progress for Seen {
    fn phase(&self, phase: Phase) {
        self.0.lock().expect("nothing panics with the lock").push(phase);
    }
}

pub(super) async fn tells_phases_in_order(bench: Bench) {
    let seen = Seen::default();
    let artifact = bench.subject.artifact(Behaviour::Exits(0));
    bench.driver.prepare(&artifact, &seen).await.expect("it is runnable");
    let phases = seen.0.into_inner().expect("nothing panics with the lock");
    assert!(!phases.is_empty());
    assert!(phases.is_sorted_by(|a, b| a < b), "{phases:?}");
}

pub(super) async fn refuses_what_is_no_artifact_for_good(bench: Bench) {
    let artifact = bench.subject.artifact(Behaviour::Broken);
    for _ in 0..2 {
        let error = bench.driver.prepare(&artifact, &SilentProgress).await.expect_err("broken");
        assert!(error.is_permanent(), "{error}");
        assert!(matches!(error, DriverError::ArtifactInvalid { .. }), "{error}");
    }
}

pub(super) async fn does_not_start_what_is_not_prepared(mut bench: Bench) {
    let id = ExecutionId::new(1);
    let spec = bench.subject.spec(Behaviour::Exits(0), id);
    let error = bench.start_spec(spec).await.expect_err("nothing was prepared");
    assert!(matches!(error, DriverError::NotPrepared(_)), "{error}");
    assert_eq!(bench.driver.probe(id).await, None);
    bench.quiet();
}
