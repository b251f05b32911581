//! The planner: what must happen now, as facts, with the reason of everything that waits.
//!
//! A plan is a fixed point (law 5): applied and planned again at the same time it gives nothing,
//! unless it says `more`. Each step looks at tasks or jobs that the indexes name, never at all.
//! Order: fenced executions, judgement of ended ones, ends of jobs, members of daemon and ops jobs,
//! rollouts, stops and relabels, placement, garbage.

mod bucket;
mod expire;
mod finish;
mod garbage;
mod judge;
mod members;
mod placing;
mod report;
mod rollout;
mod settle;

pub use report::{PlanReport, Wait};
pub(crate) use rollout::{Foreseen, foresee, stopped};

use crate::{
    State,
    fact::{Fact, FactKind},
    limits,
};
use alloc::vec::Vec;
use pliant_types::Time;

/// What the planner proposes.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Facts to apply, in order.
    pub facts: Vec<FactKind>,
    /// Why anything waits.
    pub report: PlanReport,
    /// When to plan again although nothing else happens.
    pub wake_at: Option<Time>,
    /// The limit was reached; plan again at once.
    pub more: bool,
}

/// Plans at a time.
#[must_use]
pub fn plan(state: &State, now: Time) -> Plan {
    let mut planner = Planner { state: state.clone(), now, plan: Plan::default() };
    expire::fenced_executions(&mut planner);
    judge::ended_executions(&mut planner);
    finish::jobs(&mut planner);
    members::follow_hosts(&mut planner);
    settle::answered_changes(&mut planner);
    rollout::go_on(&mut planner);
    let buckets = bucket::sort(&planner);
    let waiting = buckets.place.clone();
    settle::stop_and_relabel(&mut planner, buckets);
    placing::place(&mut planner, &waiting);
    rollout::go_on_ends(&mut planner);
    garbage::forget(&mut planner);
    if planner.plan.more {
        planner.plan.wake_at = Some(now);
    }
    planner.plan
}

/// A plan in the making: its facts are applied to a copy, so that each step sees the ones before.
struct Planner {
    state: State,
    now: Time,
    plan: Plan,
}

impl Planner {
    /// Proposes a fact; `false` when the limit is reached and it was not taken.
    fn propose(&mut self, kind: FactKind) -> bool {
        if self.plan.facts.len() >= limits::PLAN_FACTS {
            self.plan.more = true;
            return false;
        }
        crate::apply(&mut self.state, &Fact { at: self.now, kind: kind.clone() });
        self.plan.facts.push(kind);
        true
    }

    /// Proposes facts that belong together: all of them, or none and `false`.
    fn propose_all(&mut self, kinds: Vec<FactKind>) -> bool {
        if self.plan.facts.len() + kinds.len() > limits::PLAN_FACTS && !self.plan.facts.is_empty() {
            self.plan.more = true;
            return false;
        }
        for kind in kinds {
            crate::apply(&mut self.state, &Fact { at: self.now, kind: kind.clone() });
            self.plan.facts.push(kind);
        }
        true
    }

    /// Asks to be run again at a time.
    fn wake(&mut self, at: Time) {
        self.plan.wake_at = Some(self.plan.wake_at.map_or(at, |wake| wake.min(at)));
    }
}
