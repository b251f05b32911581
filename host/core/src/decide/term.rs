//! The beginning of a controller's term.

use super::Decided;
use crate::{LeaseRules, State, command::StartTerm, fact::FactKind};
use alloc::{vec, vec::Vec};

pub(super) fn start(state: &State, term: &StartTerm) -> Decided {
    if term.epoch <= state.epoch() {
        return Decided::done(Vec::new());
    }
    let gap = (term.gap > LeaseRules::default().lease).then_some(term.gap);
    Decided::done(vec![FactKind::TermStarted { epoch: term.epoch, gap }])
}
