//! Stops of what nobody wants, relabels, ends of changes in place, tasks that are gone.

use super::{Planner, bucket::Buckets};
use crate::fact::FactKind;

pub(super) fn stop_and_relabel(planner: &mut Planner, buckets: Buckets) {
    let stops = buckets.stop.into_iter().map(|(execution, cause, kill)| {
        FactKind::ExecutionStopRequested { execution, cause, kill }
    });
    let relabels = buckets
        .relabel
        .into_iter()
        .map(|(execution, version)| FactKind::ExecutionRelabelled { execution, version });
    let forgotten = buckets.forget.into_iter().map(|task| FactKind::TaskForgotten { task });
    for fact in stops.chain(relabels).chain(buckets.settle).chain(forgotten) {
        if !planner.propose(fact) {
            return;
        }
    }
}
