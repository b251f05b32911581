//! What is known of hosts beside the state: newest renewals and newest words of their agents.
//!
//! None of it is journaled (14-decisions.md, 1); a new controller starts with full fresh leases.

use crate::clock::ClusterClock;
use pliant_core::{Command, LeaseRules, Leases, State};
use pliant_types::{ExecutionId, HostId, Millis, Time, report::Report};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Words of agents that are kept at most; beyond it the oldest execution's go.
const MAX_DETAILS: usize = 50_000;

/// The book of hosts; cheap to clone.
#[derive(Clone, Debug)]
pub struct HostBook(Arc<Mutex<Pages>>);

#[derive(Debug)]
struct Pages {
    leases: Leases,
    clock: ClusterClock,
    heard: BTreeMap<HostId, Time>,
    details: BTreeMap<ExecutionId, String>,
}

impl HostBook {
    /// An empty book.
    #[must_use]
    pub fn new(rules: LeaseRules) -> Self {
        let pages = Pages {
            leases: Leases::new(rules),
            clock: ClusterClock::seeded(Time::default()),
            heard: BTreeMap::new(),
            details: BTreeMap::new(),
        };
        Self(Arc::new(Mutex::new(pages)))
    }

    /// Begins a term: every host that the state knows gets one full fresh lease.
    pub fn begin_term(&self, state: &State, clock: ClusterClock) {
        let mut pages = self.pages();
        pages.clock = clock;
        pages.leases = Leases::new(pages.leases.rules());
        let now = clock.now();
        for (id, host) in state.hosts.iter() {
            pages.leases.watch(*id, &host.description.boot, host.stage, now);
        }
    }

    /// Notes that a host lives; the command is for the writer when it had been silent.
    #[must_use]
    pub fn renew(&self, host: HostId, boot: &str) -> Option<Command> {
        let mut pages = self.pages();
        let now = pages.clock.now();
        pages.heard.insert(host, now);
        pages.leases.renew(host, boot, now)
    }

    /// The stages that silence has reached since the last call.
    #[must_use]
    pub fn silent(&self, now: Time) -> Vec<Command> {
        self.pages().leases.silent(now)
    }

    /// How long a renewal is good for.
    #[must_use]
    pub fn lease(&self) -> Millis {
        self.pages().leases.rules().lease
    }

    /// How long ago a host was heard of.
    #[must_use]
    pub fn last_heard(&self, host: HostId) -> Option<Millis> {
        let pages = self.pages();
        pages.heard.get(&host).map(|heard| pages.clock.now().since(*heard))
    }

    /// Keeps what agents do at the moment, in their words.
    pub fn note_details(&self, report: &Report) {
        let mut pages = self.pages();
        for seen in &report.observations {
            match &seen.detail {
                Some(detail) if !seen.phase.is_final() => {
                    pages.details.insert(seen.execution, detail.clone());
                }
                _ => {
                    pages.details.remove(&seen.execution);
                }
            }
        }
        while pages.details.len() > MAX_DETAILS {
            pages.details.pop_first();
        }
    }

    /// What an agent does with an execution at the moment.
    #[must_use]
    pub fn detail(&self, execution: ExecutionId) -> Option<String> {
        self.pages().details.get(&execution).cloned()
    }

    /// Cluster time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.pages().clock.now()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
