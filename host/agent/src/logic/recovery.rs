//! How an agent comes back from what it remembers. What runs no more gets a new attempt that
//! spends no budget (14-decisions.md, 11); what had ended is reported and never runs again.

use std::{collections::BTreeMap, sync::Arc};

use pliant_types::{ExitReason, ExitStatus, Millis};

use super::{
    AgentLogic, Edit, Event, Execution, HostRecord, Image, Keeper, Lease, Moment, Obeys, Output,
    Record, Recovered, Stage, Step, link::Link,
};

/// How long after a restart nothing begins unless the controller was heard: what was stopped or
/// placed elsewhere meanwhile must not begin again. Without a controller it begins then.
pub const HOLD: Millis = Millis::from_secs(10);

impl AgentLogic {
    /// An agent in this boot of the machine, with what it remembers and what drivers still run.
    #[must_use]
    pub fn recover(
        image: Image,
        boot: &str,
        recovered: &[Recovered],
        now: Moment,
    ) -> (Self, Output) {
        let mut out = Output::default();
        let same_boot = image.host.boot == boot;
        let lease_end = image.host.lease_end.filter(|_| same_boot);
        let host = HostRecord { boot: boot.to_owned(), lease_end, ..image.host };
        out.must(Edit::Host(host.clone()));
        let mut executions = BTreeMap::new();
        for (id, record) in image.executions {
            let running = recovered.iter().find(|one| one.execution == id);
            let before = record.clone();
            let (execution, step) = resume(record, running, now);
            if !same_boot {
                // The controller has fenced off what ran in another boot (14-decisions.md, 14).
                out.must(Edit::Remove(id));
                continue;
            }
            if execution.record != before {
                out.must(Edit::Put(Box::new(execution.record.clone())));
            }
            out.steps.extend(step.or_else(|| Self::step_of(&execution, now)));
            executions.insert(id, execution);
        }
        let untold = executions.keys().map(|id| (*id, now)).collect();
        let listed = executions.values().filter(|one| !one.record.stage.is_forgotten());
        let listed = listed.map(|one| one.record.assigned.clone()).collect();
        let logic = Self {
            keeper: Keeper::resumed(host.obeyed, listed),
            hold: (!executions.is_empty()).then(|| now.after(HOLD)),
            host,
            executions,
            lease: Lease::resumed(lease_end),
            link: Link::new(now),
            has_obeyed: false,
            untold,
        };
        (logic, out)
    }
}

/// Where an execution goes on, and with which step.
fn resume(record: Record, running: Option<&Recovered>, now: Moment) -> (Execution, Option<Step>) {
    let mut execution = Execution::from_record(record);
    let step = match (execution.record.stage, running) {
        (
            Stage::Held
            | Stage::Preparing
            | Stage::Starting
            | Stage::Up { .. }
            | Stage::Restarting(_),
            Some(one),
        ) => take_up(&mut execution, one, now),
        // It may have begun: the next attempt is another one.
        (
            Stage::Held
            | Stage::Preparing
            | Stage::Starting
            | Stage::Up { .. }
            | Stage::Restarting(_),
            None,
        ) => {
            execution.record.attempt = execution.record.attempt.next();
            execution.record.stage = Stage::Held;
            execution.detail = Some("the agent was restarted; waits for its controller".to_owned());
            None
        }
        (Stage::StoppingStart(stopping), Some(_)) => {
            execution.record.stage = Stage::Stopping(stopping);
            None
        }
        (Stage::StoppingStart(_) | Stage::Stopping(_), None) => {
            let exit = ExitStatus::of(ExitReason::Stopped);
            execution.on(Event::Ended { attempt: execution.record.attempt, exit }, now)
        }
        (Stage::Stopping(_), Some(one)) => {
            execution.ports = one.ports.clone();
            None
        }
        (Stage::Waiting { .. } | Stage::Collecting | Stage::Ended | Stage::Removing, _) => None,
    };
    (execution, step)
}

/// It still runs. What it obeys is remembered, unless it is what was assigned first.
fn take_up(execution: &mut Execution, running: &Recovered, now: Moment) -> Option<Step> {
    let record = &mut execution.record;
    record.attempt = running.attempt;
    record.stage = Stage::Starting;
    record.obeys.get_or_insert_with(|| Obeys {
        version: record.assigned.version,
        template: Arc::clone(&record.assigned.template),
    });
    let started = Event::Started { attempt: running.attempt, ports: running.ports.clone() };
    execution.on(started, now)
}
