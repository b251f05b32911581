//! The whole logic of an agent: what happens to its executions. What it says to the controller is
//! in `flow`, how it comes back after a restart in `recovery`.

use std::collections::BTreeMap;

use pliant_types::{
    Attempt, ExecutionId, Fence, Millis,
    assignment::{AssignedExecution, Desired},
};

use super::{
    Edit, Event, Execution, HostRecord, Input, Keeper, Lease, Moment, Output, Stage, Step,
    StopCause, Then, Trouble, Verdict,
    link::{Link, Standing},
};

/// How long a state may be kept back that most often passes in less: a warm start is told once,
/// as running, and not three times.
const PASSING: Millis = Millis::new(20);

/// The logic of one agent.
#[derive(Clone, Debug)]
pub struct AgentLogic {
    pub(super) host: HostRecord,
    pub(super) keeper: Keeper,
    pub(super) executions: BTreeMap<ExecutionId, Execution>,
    pub(super) lease: Lease,
    pub(super) link: Link,
    /// After a restart: until when nothing begins unless the controller was heard.
    pub(super) hold: Option<Moment>,
    /// Whether a whole assignment was obeyed since the start.
    pub(super) has_obeyed: bool,
    /// Executions whose state may not be known to the controller, and when it must be told.
    pub(super) untold: BTreeMap<ExecutionId, Moment>,
}

impl AgentLogic {
    /// Takes what happened and says what follows, in the order that [`Output`] demands.
    pub fn handle(&mut self, input: Input, now: Moment) -> Output {
        let mut out = Output::default();
        match input {
            Input::Execution(id, event) => self.event(id, event, now, &mut out),
            Input::Progress { execution, attempt, detail } => {
                self.progress(execution, attempt, detail, now);
            }
            Input::Offered(offer) => self.offered(offer, now, &mut out),
            Input::Tick => {}
            controller => self.controller(controller, now, &mut out),
        }
        self.tick(now, &mut out);
        self.calls(now, &mut out);
        out
    }

    /// When `Input::Tick` must come at the latest.
    #[must_use]
    pub fn next_due(&self) -> Option<Moment> {
        let executions = self.executions.values().filter_map(Execution::due).min();
        let lease = self.lease.end().filter(|_| self.exclusive_ones().next().is_some());
        [executions, lease, self.hold, self.call_due()].into_iter().flatten().min()
    }

    /// Every execution that is remembered.
    pub fn executions(&self) -> impl Iterator<Item = &Execution> {
        self.executions.values()
    }

    /// One execution.
    #[must_use]
    pub fn execution(&self, id: ExecutionId) -> Option<&Execution> {
        self.executions.get(&id)
    }

    /// What is known of the own host.
    #[must_use]
    pub const fn host(&self) -> &HostRecord {
        &self.host
    }

    /// Whether a whole assignment was obeyed since the start: the host takes work.
    #[must_use]
    pub const fn has_obeyed(&self) -> bool {
        self.has_obeyed
    }

    /// The lease.
    #[must_use]
    pub const fn lease(&self) -> Lease {
        self.lease
    }

    fn progress(&mut self, id: ExecutionId, attempt: Attempt, detail: String, now: Moment) {
        let known = self.executions.get_mut(&id).filter(|known| known.record.attempt == attempt);
        let busy = known.filter(|known| {
            matches!(known.record.stage, Stage::Preparing | Stage::Starting | Stage::Collecting)
        });
        if let Some(busy) = busy {
            busy.detail = Some(detail);
            self.touch(id, now);
        }
    }

    fn offered(&mut self, offer: super::Offer, now: Moment, out: &mut Output) {
        if self.link.standing != Standing::Joined {
            return;
        }
        if let super::Offer::Whole(whole) = &offer
            && (self.host.host != Some(whole.host) || self.host.fence != Some(whole.fence))
        {
            return self.fenced(Trouble::Fenced, now, out);
        }
        let is_whole = matches!(offer, super::Offer::Whole(_));
        match self.keeper.take(offer) {
            Verdict::Stale => {}
            Verdict::AskWhole => out.calls.extend(self.host.host.map(super::Call::Follow)),
            Verdict::Obey { put, gone } => {
                self.host.obeyed = self.keeper.obeyed();
                for id in gone {
                    self.forget(id, now, out);
                }
                if is_whole {
                    self.forget_unlisted(now, out);
                    self.hold = None;
                    self.has_obeyed = true;
                }
                for one in put {
                    self.put(one, now, out);
                }
                out.must(Edit::Host(self.host.clone()));
            }
        }
    }

    fn forget_unlisted(&mut self, now: Moment, out: &mut Output) {
        let unlisted: Vec<_> =
            self.executions.keys().filter(|id| !self.keeper.lists(**id)).copied().collect();
        for id in unlisted {
            self.forget(id, now, out);
        }
    }

    /// Ends an execution and lets go of it; what never ran goes at once.
    pub(super) fn forget(&mut self, id: ExecutionId, now: Moment, out: &mut Output) {
        let grace = self.executions.get(&id).map(|known| known.template().kill_timeout);
        if let Some(grace) = grace {
            self.event(id, Event::Forget { grace }, now, out);
        }
    }

    fn put(&mut self, assigned: AssignedExecution, now: Moment, out: &mut Output) {
        let id = assigned.execution;
        let desired = assigned.desired;
        match self.executions.get_mut(&id) {
            Some(known) => {
                let before = known.record.clone();
                out.steps.extend(known.assign(assigned));
                self.touch(id, now);
                self.remember(&before, out);
            }
            None => {
                let fence = self.host.fence.unwrap_or(Fence::FIRST);
                let new = Execution::new(assigned, fence);
                out.must(Edit::Put(Box::new(new.record.clone())));
                self.executions.insert(id, new);
                self.touch(id, now);
            }
        }
        if let Desired::Stop { kill } = desired {
            let stop = Event::StopAsked { cause: StopCause::Asked, grace: kill };
            self.event(id, stop, now, out);
        }
    }

    /// Lets an event happen to an execution; remembers what changed.
    pub(super) fn event(&mut self, id: ExecutionId, event: Event, now: Moment, out: &mut Output) {
        let Some(execution) = self.executions.get_mut(&id) else { return };
        if event == Event::Removed && matches!(execution.record.stage, Stage::Removing) {
            self.executions.remove(&id);
            self.untold.remove(&id);
            out.must(Edit::Remove(id));
            if self.link.gone(id) {
                self.link.part_for_rejoin(now);
            }
            return;
        }
        let before = execution.record.clone();
        let step = execution.on(event, now);
        self.touch(id, now);
        out.steps.extend(step);
        self.remember(&before, out);
    }

    /// Its state may be news: told at once, or soon if it is about to change by itself.
    fn touch(&mut self, id: ExecutionId, now: Moment) {
        let passing = self.executions.get(&id).is_some_and(|one| {
            matches!(one.record.stage, Stage::Held | Stage::Preparing | Stage::Starting)
        });
        let due = if passing { now.after(PASSING) } else { now };
        let told_at = self.untold.entry(id).or_insert(due);
        *told_at = due.min(*told_at);
    }

    /// Notes what is to be written of an execution that was `before`.
    fn remember(&self, before: &super::Record, out: &mut Output) {
        let Some(after) = self.executions.get(&before.id()).map(|known| &known.record) else {
            return;
        };
        if before.is_same_after_crash(after) {
            return;
        }
        let edit = Edit::Put(Box::new(after.clone()));
        if before.is_urgent(after) { out.must(edit) } else { out.may(edit) }
    }

    /// Everything that time makes happen, or that waits for a permission.
    fn tick(&mut self, now: Moment, out: &mut Output) {
        if self.hold.is_some_and(|until| now >= until) {
            self.hold = None;
        }
        if !self.lease.is_good(now) {
            self.end_exclusive(now, out);
        }
        let due: Vec<_> = self.executions.values().filter(|one| self.is_due(one, now)).collect();
        let due: Vec<_> = due.into_iter().map(Execution::id).collect();
        for id in due {
            self.act(id, now, out);
        }
    }

    fn is_due(&self, execution: &Execution, now: Moment) -> bool {
        match execution.record.stage {
            Stage::Held => self.may_begin(execution, now),
            _ => execution.due().is_some_and(|due| now >= due),
        }
    }

    fn act(&mut self, id: ExecutionId, now: Moment, out: &mut Output) {
        let Some(execution) = self.executions.get_mut(&id) else { return };
        if execution.time_limit().is_some_and(|limit| now >= limit) {
            let grace = execution.template().kill_timeout;
            let stop = Event::StopAsked { cause: StopCause::TimedOut, grace };
            return self.event(id, stop, now, out);
        }
        let before = execution.record.clone();
        if let Some(kill) = execution.kill_if_due(now) {
            out.steps.push(kill);
            self.touch(id, now);
            return self.remember(&before, out);
        }
        match before.stage {
            Stage::Held => self.event(id, Event::Begin, now, out),
            Stage::Waiting { until } if now >= until => self.begin_waiting(id, now, out),
            _ => {}
        }
    }

    /// A back-off is over. Without permission the next attempt is held, and counts as its own.
    fn begin_waiting(&mut self, id: ExecutionId, now: Moment, out: &mut Output) {
        let Some(execution) = self.executions.get(&id) else { return };
        if self.may_begin(execution, now) {
            return self.event(id, Event::Begin, now, out);
        }
        if let Some(execution) = self.executions.get_mut(&id) {
            let before = execution.record.clone();
            execution.record.attempt = execution.record.attempt.next();
            execution.record.stage = Stage::Held;
            self.touch(id, now);
            self.remember(&before, out);
        }
    }

    /// Exclusive executions only under a good lease; none while the controller's word is awaited.
    fn may_begin(&self, execution: &Execution, now: Moment) -> bool {
        let leased = !execution.template().exclusive || self.lease.is_good(now);
        self.hold.is_none() && leased
    }

    /// Exclusive executions that run, or are about to.
    pub(super) fn exclusive_ones(&self) -> impl Iterator<Item = &Execution> {
        self.executions.values().filter(|one| {
            let stage = one.record.stage;
            let begun = matches!(
                stage,
                Stage::Preparing | Stage::Starting | Stage::Up { .. } | Stage::Restarting(_)
            );
            begun && one.template().exclusive
        })
    }

    fn end_exclusive(&mut self, now: Moment, out: &mut Output) {
        let ids: Vec<(ExecutionId, Millis)> =
            self.exclusive_ones().map(|one| (one.id(), one.template().kill_timeout)).collect();
        for (id, grace) in ids {
            let stop = Event::StopAsked { cause: StopCause::LeaseOver, grace };
            self.event(id, stop, now, out);
        }
    }

    /// What drivers would have to do again if all that they were told was lost: for a resume.
    pub(super) fn step_of(execution: &Execution, now: Moment) -> Option<Step> {
        let record = &execution.record;
        let engine = execution.template().engine.clone();
        let (id, attempt) = (record.id(), record.attempt);
        match record.stage {
            Stage::Collecting => Some(Step::Collect { execution: id, attempt }),
            Stage::Removing => Some(Step::Remove { execution: id, engine }),
            Stage::Stopping(stopping) => {
                let grace = stopping.deadline.since(now);
                Some(Step::Stop { execution: id, engine, attempt, grace, then: Then::Over })
            }
            _ => None,
        }
    }
}
