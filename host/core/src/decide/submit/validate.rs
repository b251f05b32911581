//! What a submission must satisfy before it is compared with anything.

use crate::{Rejection, State, command::Submit, limits, state::Wanted};
use alloc::{format, string::String};
use pliant_types::{
    Effective, JobUid,
    codes::Code,
    validate::{self, ProblemKind},
};

pub(super) fn submission(submit: &Submit) -> Result<(), Rejection> {
    let mut problems = validate::metadata("labels", &submit.labels);
    problems.extend(validate::metadata("annotations", &submit.annotations));
    problems.extend(validate::spec(&submit.spec));
    if !problems.is_empty() {
        let only_absent = problems.iter().all(|p| p.kind == ProblemKind::NotOffered);
        let code = if only_absent { Code::NotOffered } else { Code::SpecInvalid };
        let count = problems.len();
        let message = match problems.first() {
            Some(first) if count == 1 => format!("{}: {}", first.pointer, first.message),
            _ => format!("the spec of {} has {count} problems", submit.name),
        };
        let mut rejection = Rejection::new(code, message);
        rejection.problems = problems;
        return Err(rejection);
    }
    let size = serde_json::to_string(&submit.spec).map_or(0, |text| text.len())
        + submit.text.as_ref().map_or(0, String::len);
    if size > limits::SPEC_BYTES {
        let message =
            format!("the spec with its text has {size} bytes, at most {}", limits::SPEC_BYTES);
        return Err(Rejection::new(Code::TooLarge, message).hint("put large values into files"));
    }
    message(submit.message.as_ref())
}

/// Refuses a route that another job has; the other job is named.
pub(super) fn route(
    state: &State,
    own: Option<JobUid>,
    effective: &Effective,
) -> Result<(), Rejection> {
    let Some(route) = effective.route() else { return Ok(()) };
    let taken = state
        .jobs
        .iter()
        .map(|(_, job)| job)
        .filter(|job| job.wanted != Wanted::Deleted && Some(job.uid) != own)
        .find(|job| {
            let current = state.current_version(job);
            current.and_then(|version| version.effective.route()).as_ref() == Some(&route)
        });
    match taken {
        None => Ok(()),
        Some(job) => Err(Rejection::new(
            Code::RouteTaken,
            format!(
                "{}{} leads to job {} in namespace {}",
                route.0, route.1, job.name, job.namespace
            ),
        )),
    }
}

/// The limit of a message, which every verb that takes one shares.
pub(in crate::decide) fn message(message: Option<&String>) -> Result<(), Rejection> {
    if message.is_some_and(|m| m.len() > limits::MESSAGE_BYTES) {
        let words = format!("a message has at most {} bytes", limits::MESSAGE_BYTES);
        return Err(Rejection::new(Code::TooLarge, words));
    }
    Ok(())
}
