//! The host's lease as the agent counts it: from when it sent the renewal that was answered, so
//! that it never believes itself alive longer than the controller does (14-decisions.md, 14).

use pliant_types::Millis;

use super::Moment;

/// Until when the host counts as alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    end: Option<Moment>,
}

impl Lease {
    /// As it was before a restart of the agent in the same boot.
    #[must_use]
    pub const fn resumed(end: Option<Moment>) -> Self {
        Self { end }
    }

    /// A renewal that was sent then was answered with this span. An answer that comes late never
    /// shortens what a newer one gave.
    pub fn renewed(&mut self, sent: Moment, span: Millis) {
        self.end = self.end.max(Some(sent.after(span)));
    }

    /// When it is over; `None` before the first renewal.
    #[must_use]
    pub const fn end(&self) -> Option<Moment> {
        self.end
    }

    /// Whether it is good now. Without any renewal it is not.
    #[must_use]
    pub fn is_good(&self, now: Moment) -> bool {
        self.end.is_some_and(|end| now < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_from_sending_and_an_older_answer_changes_nothing() {
        let mut lease = Lease::default();
        assert!(!lease.is_good(Moment::new(0)));
        lease.renewed(Moment::new(1_000), Millis::from_secs(15));
        assert!(lease.is_good(Moment::new(15_999)) && !lease.is_good(Moment::new(16_000)));
        lease.renewed(Moment::new(500), Millis::from_secs(15));
        assert_eq!(lease.end(), Some(Moment::new(16_000)));
    }
}
