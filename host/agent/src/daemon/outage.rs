//! While the ledger takes nothing: what may not go before it is remembered waits here, in order.
//!
//! Renewals go on, and what runs can be stopped: neither needs memory. Nothing begins and nothing
//! is reported. The agent does not end for it: its tasks run, and the disk may have space again.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use pliant_journal::store::MapError;
use pliant_types::ExecutionId;
use tokio::time::Instant;

use super::{
    AgentError,
    ledger::{Answer, Edits, Ledger},
};
use crate::logic::{Call, Edit, Output, Step, Then};

/// How long the ledger is left alone after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Outputs that wait.
pub(super) struct Outage {
    held: Output,
    /// What the ledger was asked to remember; it has not answered yet.
    asked: Option<(Answer, Output)>,
    retry_at: Instant,
}

/// Whether a failure of the ledger may pass by itself.
pub(super) const fn may_pass(error: &AgentError) -> bool {
    matches!(error, AgentError::Write(MapError::Stopped(_)))
}

impl Outage {
    pub(super) fn new() -> Self {
        Self { held: Output::default(), asked: None, retry_at: Instant::now() + RETRY }
    }

    /// Keeps an output behind the others; gives back what need not wait.
    pub(super) fn hold(&mut self, output: Output) -> Output {
        let mut free = Output::default();
        let mut kept = Output { edits: output.edits, later: output.later, ..Output::default() };
        for step in output.steps {
            // An end that a beginning follows waits like that beginning.
            if let Step::Stop { execution, then: Then::Over, .. } = &step {
                self.call_off(*execution);
                kept.steps.retain(|other| !begins(other, *execution));
                free.steps.push(step);
            } else {
                kept.steps.push(step);
            }
        }
        for call in output.calls {
            let target = if matches!(call, Call::Renew(_)) { &mut free } else { &mut kept };
            target.calls.push(call);
        }
        self.keep(kept);
        free
    }

    /// What is stopped must not begin afterwards; a driver that never heard of it answers the stop.
    fn call_off(&mut self, execution: ExecutionId) {
        let asked = self.asked.iter_mut().map(|(_, output)| output);
        for output in asked.chain([&mut self.held]) {
            output.steps.retain(|other| !begins(other, execution));
        }
    }

    fn keep(&mut self, newer: Output) {
        self.held.append(newer);
        newest_only(&mut self.held.edits);
        newest_only(&mut self.held.later);
        let is_stream = |call: &Call| matches!(call, Call::Follow(_) | Call::Unfollow);
        let last = self.held.calls.iter().rposition(is_stream);
        let mut at = 0..;
        self.held.calls.retain(|call| at.next() == last || !is_stream(call));
    }

    /// Returns what is remembered now. May be dropped and called again at any time.
    pub(super) async fn retry(&mut self, ledger: &Ledger) -> Result<Output, AgentError> {
        loop {
            let Some((answer, _)) = &mut self.asked else {
                tokio::time::sleep_until(self.retry_at).await;
                let place = ledger.place().await?;
                let output = std::mem::take(&mut self.held);
                let edits: Edits = Arc::new(output.edits.clone());
                self.asked = Some((place.ask(&edits), output));
                continue;
            };
            let outcome = answer.await.map_err(|_| AgentError::LedgerGone)?;
            let output = self.asked.take().map(|(_, output)| output).unwrap_or_default();
            match outcome {
                Ok(()) => return Ok(output),
                Err(error) if may_pass(&error) => {
                    let newer = std::mem::replace(&mut self.held, output);
                    self.keep(newer);
                    self.retry_at = Instant::now() + RETRY;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether nothing came behind what was remembered.
    pub(super) fn is_over(&self) -> bool {
        self.asked.is_none() && self.held == Output::default()
    }

    /// All that waits, in order.
    pub(super) fn into_held(mut self) -> Output {
        let newer = self.held;
        self.held = self.asked.take().map(|(_, output)| output).unwrap_or_default();
        self.held.append(newer);
        self.held
    }
}

/// An edit says all of what it changes, so the newest of each is enough.
fn newest_only(edits: &mut Vec<Edit>) {
    let mut seen: BTreeSet<Option<ExecutionId>> = BTreeSet::new();
    let mut newest: Vec<Edit> = Vec::with_capacity(edits.len());
    newest.extend(edits.drain(..).rev().filter(|edit| seen.insert(edit.key())));
    newest.reverse();
    *edits = newest;
}

fn begins(step: &Step, wanted: ExecutionId) -> bool {
    match step {
        Step::Start { assigned, .. } => assigned.execution == wanted,
        Step::Prepare { execution, .. }
        | Step::PrepareNext { execution, .. }
        | Step::Resize { execution, .. } => *execution == wanted,
        Step::Stop { .. } | Step::Collect { .. } | Step::Remove { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pliant_types::{Attempt, Digest, HostId, Millis};

    fn id(number: u64) -> ExecutionId {
        ExecutionId::new(number)
    }

    fn prepare(number: u64) -> Step {
        let digest = Digest::new([1; 32]);
        let engine = "wasm".to_owned();
        Step::Prepare { execution: id(number), attempt: Attempt::FIRST, engine, digest }
    }

    fn stop(number: u64) -> Step {
        let (engine, grace) = ("wasm".to_owned(), Millis::ZERO);
        let then = Then::Over;
        Step::Stop { execution: id(number), engine, attempt: Attempt::FIRST, grace, then }
    }

    fn steps(steps: Vec<Step>) -> Output {
        Output { steps, ..Output::default() }
    }

    #[tokio::test]
    async fn a_stop_goes_at_once_and_calls_off_what_would_begin_later() {
        let mut outage = Outage::new();
        assert_eq!(outage.hold(steps(vec![prepare(1), prepare(2)])), Output::default());
        assert_eq!(outage.hold(steps(vec![stop(1)])), steps(vec![stop(1)]));
        assert_eq!(outage.hold(steps(vec![prepare(3), stop(3)])), steps(vec![stop(3)]));
        assert_eq!(outage.into_held(), steps(vec![prepare(2)]));
    }

    #[tokio::test]
    async fn a_long_outage_keeps_one_edit_for_each_execution_and_lets_renewals_go() {
        let mut outage = Outage::new();
        for number in 0..100 {
            let edits = vec![Edit::Remove(id(number % 3))];
            let calls = vec![Call::Renew(HostId::new(1)), Call::Unfollow];
            let free = outage.hold(Output { edits, calls, ..Output::default() });
            assert_eq!(free.calls, [Call::Renew(HostId::new(1))]);
        }
        let held = outage.into_held();
        assert_eq!((held.edits.len(), held.calls), (3, vec![Call::Unfollow]));
    }
}
