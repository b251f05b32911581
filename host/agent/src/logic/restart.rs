//! Restart in place: back-off and budget of one execution (03-jobs.md, section 6).
//!
//! Counts only restarts after ends. An attempt that follows a restart of the agent is none.

use pliant_types::{Millis, assignment::RestartRule};
use serde::{Deserialize, Serialize};

use super::Moment;

/// Restarts that are remembered; a rule that allows more within its window is never spent.
pub const MAX_HISTORY: usize = 1_000;

/// What an execution has used of its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarts {
    /// When restarts were decided, oldest first, within the window.
    decided: Vec<Moment>,
    /// Restarts since an attempt ran for a whole window; doubles the delay.
    streak: u32,
}

impl Restarts {
    /// When the next attempt may begin; `None` when the budget is spent. `ran`: how long the
    /// attempt was up.
    pub fn next(&mut self, rule: &RestartRule, ran: Millis, now: Moment) -> Option<Moment> {
        let is_windowed = rule.within != Millis::ZERO;
        if is_windowed {
            self.decided.retain(|at| now.since(*at) < rule.within);
        }
        if is_windowed && ran >= rule.within {
            self.streak = 0;
        }
        if self.decided.len() >= usize::try_from(rule.attempts).unwrap_or(usize::MAX) {
            return None;
        }
        if self.decided.len() == MAX_HISTORY {
            self.decided.remove(0);
        }
        self.decided.push(now);
        let delay = delay(rule, self.streak);
        self.streak = self.streak.saturating_add(1);
        Some(now.after(delay))
    }

    /// Restarts within the window.
    #[must_use]
    pub fn used(&self) -> usize {
        self.decided.len()
    }
}

/// `first` doubled `streak` times, at most `longest`.
fn delay(rule: &RestartRule, streak: u32) -> Millis {
    let factor = 1u64.checked_shl(streak).unwrap_or(u64::MAX);
    let doubled = rule.backoff.first.get().saturating_mul(factor);
    Millis::new(doubled.min(rule.backoff.longest.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pliant_types::spec::{Backoff, RestartPolicy};

    fn rule(attempts: u32, within_secs: u64) -> RestartRule {
        RestartRule {
            policy: RestartPolicy::OnFailure,
            backoff: Backoff { first: Millis::from_secs(1), longest: Millis::from_secs(5) },
            attempts,
            within: Millis::from_secs(within_secs),
        }
    }

    /// Delays in seconds of attempts that each run `ran_secs`, until the budget is spent.
    fn delays(rule: &RestartRule, ran_secs: u64, most: usize) -> Vec<u64> {
        let mut restarts = Restarts::default();
        let mut now = Moment::default();
        let mut delays = Vec::new();
        while delays.len() < most {
            now = now.after(Millis::from_secs(ran_secs));
            let Some(until) = restarts.next(rule, Millis::from_secs(ran_secs), now) else { break };
            delays.push(until.since(now).get() / 1_000);
            now = until;
        }
        delays
    }

    #[test]
    fn case_h10_delays_double_up_to_the_longest_and_the_budget_ends() {
        assert_eq!(delays(&rule(5, 600), 0, 99), [1, 2, 4, 5, 5]);
        assert_eq!(delays(&rule(0, 600), 0, 99), []);
        assert_eq!(delays(&rule(1, 600), 0, 99), [1]);
    }

    #[test]
    fn a_window_of_stable_running_resets_the_delay_and_the_budget() {
        assert_eq!(delays(&rule(1, 60), 60, 4), [1, 1, 1, 1]);
        assert_eq!(delays(&rule(3, 60), 30, 4), [1, 2, 4, 5], "old restarts leave the window");
    }

    #[test]
    fn without_a_window_the_budget_is_for_life() {
        assert_eq!(delays(&rule(3, 0), 100_000, 99), [1, 2, 4]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut restarts = Restarts::default();
        for _ in 0..MAX_HISTORY + 10 {
            assert!(restarts.next(&rule(u32::MAX, 600), Millis::ZERO, Moment::new(7)).is_some());
        }
        assert_eq!(restarts.used(), MAX_HISTORY);
    }
}
