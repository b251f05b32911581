//! The beginning of a controller's term.

use super::Decided;
use crate::{State, command::StartTerm, fact::FactKind};
use alloc::{vec, vec::Vec};

pub(super) fn start(state: &State, term: &StartTerm) -> Decided {
    if term.epoch <= state.epoch() {
        return Decided::done(Vec::new());
    }
    Decided::done(vec![FactKind::TermStarted { epoch: term.epoch }])
}
