//! Standing with the controller: when to register, renew, report and follow. Asks nothing itself.

use std::collections::BTreeSet;

use pliant_types::{ExecutionId, Millis};

use super::Moment;

/// How often a lease is renewed (14-decisions.md, 14).
pub const RENEW_EVERY: Millis = Millis::from_secs(3);
/// How soon a renewal without an answer is tried again.
pub const RENEW_RETRY: Millis = Millis::from_secs(1);
/// Pause after the first failure of a registration or report; doubles.
pub const FIRST_RETRY: Millis = Millis::new(100);
/// Longest such pause.
pub const LONGEST_RETRY: Millis = Millis::from_secs(5);

/// Where the host stands with the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Not registered; tries at this time.
    Apart { retry_at: Moment },
    /// Asked to be registered.
    Registering,
    /// Registered, but these must end first.
    Rejoining { kill: BTreeSet<ExecutionId> },
    /// Registered.
    Joined,
}

/// A call of which at most one is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) under_way: bool,
    pub(super) not_before: Moment,
}

impl Turn {
    const fn at(moment: Moment) -> Self {
        Self { under_way: false, not_before: moment }
    }

    /// Whether the call may be made now.
    pub(super) fn is_due(self, now: Moment) -> bool {
        !self.under_way && now >= self.not_before
    }

    fn due(self) -> Option<Moment> {
        (!self.under_way).then_some(self.not_before)
    }
}

/// The link.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) standing: Standing,
    pub(super) renewal: Turn,
    pub(super) report: Turn,
    failures: u32,
}

impl Link {
    pub(super) const fn new(now: Moment) -> Self {
        Self {
            standing: Standing::Apart { retry_at: now },
            renewal: Turn::at(now),
            report: Turn::at(now),
            failures: 0,
        }
    }

    pub(super) fn is_registered(&self) -> bool {
        matches!(self.standing, Standing::Joined | Standing::Rejoining { .. })
    }

    /// Registered; with nothing to kill it has joined. Renews at once: that gives the lease.
    pub(super) fn registered(&mut self, kill: BTreeSet<ExecutionId>, now: Moment) {
        self.renewal = Turn { not_before: now, ..self.renewal };
        self.report = Turn { not_before: now, ..self.report };
        self.standing =
            if kill.is_empty() { Standing::Joined } else { Standing::Rejoining { kill } };
    }

    /// One of those that must end is gone. True: that was the last.
    pub(super) fn gone(&mut self, id: ExecutionId) -> bool {
        let Standing::Rejoining { kill } = &mut self.standing else { return false };
        kill.remove(&id) && kill.is_empty()
    }

    /// Registers anew, at once the first time and then after pauses.
    pub(super) fn part(&mut self, now: Moment) {
        let retry_at = now.after(self.pause());
        self.standing = Standing::Apart { retry_at };
    }

    /// A registration without delay: all that had to end is gone.
    pub(super) fn part_for_rejoin(&mut self, now: Moment) {
        self.standing = Standing::Apart { retry_at: now };
    }

    pub(super) fn renewed(&mut self, sent: Moment) {
        self.failures = 0;
        self.renewal = Turn::at(sent.after(RENEW_EVERY));
    }

    pub(super) fn renew_failed(&mut self, now: Moment) {
        self.renewal = Turn::at(now.after(RENEW_RETRY));
    }

    pub(super) fn reported(&mut self, now: Moment) {
        self.report = Turn::at(now);
    }

    pub(super) fn report_failed(&mut self, now: Moment) {
        self.report = Turn::at(now.after(self.pause()));
    }

    fn pause(&mut self) -> Millis {
        let factor = 1u64.checked_shl(self.failures).unwrap_or(u64::MAX);
        self.failures = self.failures.saturating_add(1).min(32);
        let doubled = FIRST_RETRY.get().saturating_mul(factor);
        Millis::new(doubled.min(LONGEST_RETRY.get()))
    }

    /// When the next call is due; `news`: when something must be told at the latest.
    pub(super) fn due(&self, news: Option<Moment>) -> Option<Moment> {
        let report = match self.standing {
            Standing::Joined => self.report.due().zip(news).map(|(turn, news)| turn.max(news)),
            _ => None,
        };
        let renewal = if self.is_registered() { self.renewal.due() } else { None };
        let register = match self.standing {
            Standing::Apart { retry_at } => Some(retry_at),
            _ => None,
        };
        [register, renewal, report].into_iter().flatten().min()
    }
}
