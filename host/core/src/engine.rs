//! The writer's side of the core: stages batches ahead, releases them once they are durable.
//!
//! What waits on the journal is not visible (law 12): replies, the published state and changed
//! assignments leave only through [`Staged::committed`]. Batches may be staged ahead; they commit in
//! the order in which they were staged, or the engine is thrown away and made again from the journal.

use crate::{
    Answer, Command, Decision, Fact, Rejection, Request, State, apply,
    decide::decide,
    encode_batch, limits,
    plan::{PlanReport, plan},
};
use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    vec::Vec,
};
use pliant_types::{ExecutionId, HostId, Revision, Time};

/// The caller's number for a request; comes back with its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyTag(pub u64);

/// A held reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request's number.
    pub tag: ReplyTag,
    /// Its answer or refusal.
    pub result: Result<Answer, Rejection>,
    /// The revision at which it holds.
    pub revision: Revision,
}

/// A staged batch: append its payload, then release it with [`Staged::committed`].
#[derive(Debug)]
pub struct Staged {
    payload: Option<Vec<u8>>,
    replies: Vec<Reply>,
    decisions: Vec<Decision>,
    state: State,
    report: Option<PlanReport>,
    first_revision: Revision,
}

impl Staged {
    /// The bytes to append; nothing when no fact was made and the replies can go at once, in order.
    #[must_use]
    pub fn payload(&self) -> Option<&[u8]> {
        self.payload.as_deref()
    }

    /// The requests that the batch answers.
    pub fn tags(&self) -> impl Iterator<Item = ReplyTag> {
        self.replies.iter().map(|reply| reply.tag)
    }

    /// Releases the batch, which is durable now (or had nothing to append).
    #[must_use]
    pub fn committed(self) -> Release {
        let Self { replies, decisions, state, report, first_revision, payload: _ } = self;
        let mut facts = Vec::new();
        let mut revision = first_revision;
        for decision in decisions {
            for kind in decision.facts {
                revision = revision.next();
                facts.push((revision, Fact { at: decision.now, kind }));
            }
        }
        let assignments = changed(&state, &facts);
        Release { replies, state: Arc::new(state), facts, assignments, report }
    }

    /// Whether the batch brings new work, which a nearly full disk refuses.
    #[must_use]
    pub fn is_new_work(&self) -> bool {
        self.decisions.iter().any(|d| matches!(d.request.command, Command::Submit(_)))
    }
}

/// What may leave once a batch is durable.
#[derive(Debug)]
pub struct Release {
    /// Replies in the order of their requests.
    pub replies: Vec<Reply>,
    /// The published state.
    pub state: Arc<State>,
    /// Every fact of the batch with its revision, for watches.
    pub facts: Vec<(Revision, Fact)>,
    /// Hosts whose assignment changed, with the executions that changed in it.
    pub assignments: BTreeMap<HostId, BTreeSet<ExecutionId>>,
    /// The planner's newest report, when it ran.
    pub report: Option<PlanReport>,
}

/// The core behind a writer loop.
#[derive(Debug)]
pub struct Engine {
    head: State,
    inbox: VecDeque<(ReplyTag, Request)>,
    plan_due: bool,
    wake_at: Option<Time>,
}

impl Engine {
    /// An engine over a state that was read from the journal.
    #[must_use]
    pub const fn new(state: State) -> Self {
        Self { head: state, inbox: VecDeque::new(), plan_due: true, wake_at: None }
    }

    /// Reads one batch of the journal into a state: `apply` only (law 4).
    pub fn replay(state: &mut State, batch: &crate::codec::Batch) {
        for decision in &batch.decisions {
            for kind in &decision.facts {
                apply(state, &Fact { at: decision.now, kind: kind.clone() });
            }
        }
    }

    /// The staged state; readers get the published one of [`Release`] instead.
    #[must_use]
    pub const fn head(&self) -> &State {
        &self.head
    }

    /// Queues a request for the next batch. The caller bounds how many are queued.
    pub fn submit(&mut self, tag: ReplyTag, request: Request) {
        self.inbox.push_back((tag, request));
    }

    /// Asks for a run of the planner with the next batch, as after an unchanged submission.
    pub const fn kick(&mut self) {
        self.plan_due = true;
    }

    /// When the engine must be run again although nothing is queued; `Time` 0 is at once.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        if self.plan_due || !self.inbox.is_empty() { Some(Time::default()) } else { self.wake_at }
    }

    /// Stages the next batch at a time, or nothing when there is nothing to do. Requests are taken
    /// until 256 facts or 128 KiB are reached at a decision's edge; then the planner runs, if its
    /// facts still fit. The time is raised to the newest that was ever used (law 2).
    pub fn stage(&mut self, now: Time) -> Option<Staged> {
        let now = now.max(self.head.counters.now);
        let first_revision = self.head.revision();
        let mut batch = Batch::default();
        while !batch.is_full()
            && let Some((tag, request)) = self.inbox.pop_front()
        {
            self.decide_one(&mut batch, tag, request, now);
        }
        let due = self.plan_due || self.wake_at.is_some_and(|wake| wake <= now);
        let report =
            if due && !batch.is_full() { Some(self.run_planner(&mut batch, now)) } else { None };
        if batch.replies.is_empty() && batch.decisions.is_empty() && report.is_none() {
            return None;
        }
        let payload =
            (!batch.decisions.is_empty()).then(|| encode_batch(&batch.decisions, self.head.hash()));
        Some(Staged {
            payload,
            replies: batch.replies,
            decisions: batch.decisions,
            state: self.head.clone(),
            report,
            first_revision,
        })
    }

    fn decide_one(&mut self, batch: &mut Batch, tag: ReplyTag, request: Request, now: Time) {
        let kick = matches!(request.command, Command::Submit(_) | Command::Start(_));
        let result = decide(&self.head, &request, now).map(|decided| {
            if !decided.facts.is_empty() {
                self.take(batch, Decision { now, request, facts: decided.facts });
            } else if kick {
                self.plan_due = true;
            }
            decided.answer
        });
        batch.replies.push(Reply { tag, result, revision: self.head.revision() });
    }

    fn run_planner(&mut self, batch: &mut Batch, now: Time) -> PlanReport {
        let plan = plan(&self.head, now);
        self.plan_due = plan.more;
        self.wake_at = plan.wake_at;
        if !plan.facts.is_empty() {
            let request = Request::internal(Command::Tick);
            self.take(batch, Decision { now, request, facts: plan.facts });
            self.plan_due = plan.more;
        }
        plan.report
    }

    fn take(&mut self, batch: &mut Batch, decision: Decision) {
        for kind in &decision.facts {
            apply(&mut self.head, &Fact { at: decision.now, kind: kind.clone() });
        }
        batch.facts += decision.facts.len();
        batch.bytes += decision_bytes(&decision);
        batch.decisions.push(decision);
        self.plan_due = true;
    }
}

#[derive(Default)]
struct Batch {
    replies: Vec<Reply>,
    decisions: Vec<Decision>,
    facts: usize,
    bytes: usize,
}

impl Batch {
    const fn is_full(&self) -> bool {
        self.facts >= limits::BATCH_FACTS
            || self.bytes >= limits::BATCH_BYTES
            || self.replies.len() >= limits::BATCH_FACTS
    }
}

fn decision_bytes(decision: &Decision) -> usize {
    let mut bytes = Vec::new();
    crate::codec::encode_into(&decision.facts, &mut bytes);
    bytes.len()
}

/// Which executions changed in which host's assignment.
fn changed(state: &State, facts: &[(Revision, Fact)]) -> BTreeMap<HostId, BTreeSet<ExecutionId>> {
    let mut hosts: BTreeMap<HostId, BTreeSet<ExecutionId>> = BTreeMap::new();
    for (_, fact) in facts {
        if let crate::FactKind::HostFenced { host, .. } = &fact.kind {
            hosts.entry(*host).or_default();
        }
        let Some(id) = fact.kind.execution() else { continue };
        if let Some(execution) = state.executions.get(&id) {
            hosts.entry(execution.host).or_default().insert(id);
        }
    }
    hosts
}
