//! What a durable batch lets out: replies to users and agents, and what has happened for the book.

use super::{Caller, World};
use pliant_agent::logic::{Input, Trouble};
use pliant_core::{
    Answer, FactKind, Release, State, SubmitOutcome,
    state::{Progress, RolloutReason, RolloutState},
};
use pliant_types::{codes::Code, host::HostStage};

impl World {
    pub(super) fn released(&mut self, release: Release) {
        for (_, fact) in &release.facts {
            self.cover(&fact.kind, &release.state);
        }
        if release.report.as_ref().is_some_and(|report| {
            report.waits.values().flatten().any(|w| w.code.as_str().starts_with("no-"))
        }) {
            self.coverage.note("task could not be placed");
        }
        for reply in release.replies {
            let Some(caller) = self.callers.remove(&reply.tag) else { continue };
            self.replied(caller, reply.result);
        }
    }

    fn replied(&mut self, caller: Caller, result: Result<Answer, pliant_core::Rejection>) {
        match (caller, result) {
            (Caller::User { name: Some(name) }, Ok(Answer::Submitted(answer))) => {
                if answer.outcome != SubmitOutcome::Unchanged {
                    self.oracle.promise(&name, answer.uid);
                }
            }
            (Caller::User { .. }, _) => {}
            (Caller::Register { machine, life }, Ok(Answer::Registered(registered))) => {
                if !registered.kill.is_empty() {
                    self.coverage.note("leftovers had to end before a host was up again");
                }
                if self.placed_elsewhere.remove(&registered.host) {
                    self.coverage.note("host back after its tasks were placed elsewhere");
                }
                if let Some(node) = &mut self.node {
                    let boot = self.machines[machine].boot();
                    // A registration is a renewal, and the host is up by it.
                    let _ = node.leases.renew(registered.host, &boot, self.now);
                }
                self.answer(machine, life, Input::Registered(registered));
            }
            (Caller::Register { machine, life }, _) => {
                self.answer(machine, life, Input::RegisterFailed(Trouble::NoAnswer));
            }
            (Caller::Report { machine, life, ticket }, Ok(_)) => {
                let fence = self.machines[machine].logic.as_ref().and_then(|l| l.host().fence);
                let Some(fence) = fence else { return };
                self.answer(machine, life, Input::Reported { ticket, fence });
            }
            (Caller::Report { machine, life, .. }, Err(refusal)) => {
                let fenced = refusal.code == Code::Fenced || refusal.code == Code::HostNotFound;
                let trouble = if fenced { Trouble::Fenced } else { Trouble::NoAnswer };
                self.answer(machine, life, Input::ReportFailed(trouble));
            }
            (Caller::Renew { machine, life, host, sent }, Ok(_)) => {
                self.renewed(machine, (life, host, sent));
            }
            (Caller::Renew { machine, life, .. }, Err(_)) => {
                self.answer(machine, life, Input::RenewFailed(Trouble::Fenced));
            }
        }
    }

    fn cover_rollout(&mut self, progress: &Progress) {
        match (progress.state, progress.reason) {
            (RolloutState::AwaitingPromotion, _) => self.coverage.note("rollout waited for a word"),
            (RolloutState::Superseded, _) => self.coverage.note("rollout superseded"),
            (RolloutState::Paused, _) => self.coverage.note("rollout paused"),
            (RolloutState::Failed, Some(RolloutReason::Aborted)) => {
                self.coverage.note("rollout aborted");
            }
            _ => {}
        }
        if progress.forced {
            self.coverage.note("task stopped before its successor could start");
        }
    }

    fn cover(&mut self, fact: &FactKind, state: &State) {
        match fact {
            FactKind::HostStaged { host, stage: HostStage::Lost, .. } => {
                self.coverage.note("host declared lost");
                self.placed_elsewhere.insert(*host);
            }
            FactKind::TaskRetried { failures, .. } if *failures > 0 => {
                self.coverage.note("task placed again after a failure");
            }
            FactKind::ExecutionObserved { observation } if observation.attempt.get() > 1 => {
                self.coverage.note("attempt restarted in place");
            }
            FactKind::JobEnded { end, .. } => {
                self.coverage.note(if end.success { "job completed" } else { "job failed" });
            }
            FactKind::VersionProven { .. } => self.coverage.note("version proven"),
            FactKind::RolloutStarted { rollout, .. } if rollout.undoes.is_some() => {
                self.coverage.note("rollout failed and went back by itself");
            }
            FactKind::RolloutChanged { progress, .. } => self.cover_rollout(progress),
            FactKind::ExecutionPlaced { task, .. } => {
                let known = state.tasks.get(task);
                let asked = known
                    .map_or(0, |task| state.executions_of(task).filter(|e| e.is_wanted()).count());
                if asked > 1 {
                    self.coverage.note("successor placed beside its task");
                }
            }
            FactKind::ExecutionChanged { .. } => self.coverage.note("task changed in place"),
            FactKind::ExecutionObserved { observation } if observation.refused.is_some() => {
                self.coverage.note("change in place refused");
            }
            FactKind::RunQueued { version: Some(_), .. } => {
                self.coverage.note("version waited for the run before it");
            }
            FactKind::IncarnationStarted { beside: true, .. } => {
                self.coverage.note("runs beside each other");
            }
            FactKind::VersionAdded { job, record }
                if record.from.is_some()
                    && state.marks(*job, record.number).proven_at.is_some() =>
            {
                self.coverage.note("rolled back to a proven version");
            }
            FactKind::IncarnationStarted { job, incarnation, .. }
                if incarnation.get() > 1 && state.index.job_live(*job) > 0 =>
            {
                self.coverage.note("job replaced while it runs");
            }
            _ => {}
        }
    }
}
