//! What a request means: facts, or a refusal with a code. Changes nothing (law 1).

mod host;
mod job;
mod namespace;
mod report;
pub(crate) mod rollout;
mod run;
mod submit;
mod term;
mod version;

pub use namespace::must_exist;
pub(crate) use run::new_run;
pub use submit::differences;
pub use version::resolve;

use crate::{Answer, Command, Request, State, fact::FactKind, rejection::Rejection};
use alloc::vec::Vec;
use pliant_types::{Revision, Time, codes::Code};

/// The facts of a request and what it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What to apply, all at the decision's time; empty is a no-op, which is not journaled.
    pub facts: Vec<FactKind>,
    /// What to answer.
    pub answer: Answer,
}

impl Decided {
    fn done(facts: Vec<FactKind>) -> Self {
        Self { facts, answer: Answer::Done }
    }
}

/// Decides a request at a time. The same key and body get the first answer again (law 9).
///
/// # Errors
/// A [`Rejection`] with the reason; nothing changes then.
pub fn decide(state: &State, request: &Request, now: Time) -> Result<Decided, Rejection> {
    if let Some(answer) = remembered(state, request, now)? {
        return Ok(Decided { facts: Vec::new(), answer });
    }
    let mut decided = match &request.command {
        Command::Submit(submit) => submit::decide(state, submit, &request.principal, now),
        Command::Stop(stop) => job::stop(state, stop, now),
        Command::Start(start) => job::start(state, start, now),
        Command::Delete(delete) => job::delete(state, delete, now),
        Command::Rollout(asked) => rollout::verb(state, asked, &request.principal, now),
        Command::RegisterHost(register) => host::register(state, register),
        Command::HostSilent(silent) => host::silent(state, silent),
        Command::HostSeen(seen) => host::seen(state, seen),
        Command::SetHostMode(mode) => host::set_mode(state, mode),
        Command::Report(report) => report::decide(state, report),
        Command::StartTerm(term) => Ok(term::start(state, term)),
        Command::Rollback(rollback) => submit::rollback(state, rollback, &request.principal, now),
        Command::Tag(tag) => version::tag(state, tag),
        Command::Rerun(rerun) => run::rerun(state, rerun, now),
        Command::Scale(scale) => job::scale(state, scale),
        Command::CreateNamespace(asked) => namespace::create(state, asked),
        Command::DeleteNamespace(asked) => namespace::delete(state, asked),
        Command::Tick => Ok(Decided::done(crate::plan::plan(state, now).facts)),
    }?;
    if let (Some((key, body)), false) = (&request.key, decided.facts.is_empty()) {
        decided.facts.push(FactKind::RequestRemembered {
            principal: request.principal.clone(),
            key: key.clone(),
            body: *body,
            answer: decided.answer.clone(),
        });
    }
    if decided.facts.len() > crate::limits::DECISION_FACTS {
        let message = alloc::format!(
            "the request makes {} facts, at most {} are taken at once",
            decided.facts.len(),
            crate::limits::DECISION_FACTS
        );
        return Err(Rejection::new(Code::TooLarge, message));
    }
    Ok(decided)
}

fn remembered(state: &State, request: &Request, now: Time) -> Result<Option<Answer>, Rejection> {
    let Some((key, body)) = &request.key else { return Ok(None) };
    let found = state.requests.get(&(request.principal.clone(), key.clone()));
    match found {
        Some(old) if now.since(old.at).get() > crate::limits::REMEMBERED_MILLIS => Ok(None),
        Some(old) if old.body == *body => Ok(Some(old.answer.clone())),
        Some(_) => Err(Rejection::new(
            Code::KeyReused,
            alloc::format!("the key {:?} was used with another request", key.0),
        )),
        None => Ok(None),
    }
}

/// A job's spec revision once the facts are applied: that of the last one that changes what is
/// wanted, else the present one (14-decisions.md, 2).
fn revision_after(state: &State, facts: &[FactKind], present: Revision) -> Revision {
    let last = facts.iter().rposition(FactKind::changes_wanted);
    last.map_or(present, |at| Revision::new(state.counters.revision + at as u64 + 1))
}
