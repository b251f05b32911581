//! What the end of an attempt means: done, another attempt, or failed. Decides on values only.

use pliant_types::{
    ExitReason, ExitStatus, Millis,
    assignment::{RestartRule, TaskTemplate},
    spec::RestartPolicy,
};

use crate::logic::{Moment, Restarts};

/// What follows an end that nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterEnd {
    /// The task has done its work.
    Done,
    /// Another attempt at this time.
    Again(Moment),
    /// Failed: the policy does not allow another, or its budget is spent.
    GiveUp,
}

pub(super) fn after_end(
    template: &TaskTemplate,
    exit: &ExitStatus,
    restarts: &mut Restarts,
    ran: Millis,
    now: Moment,
) -> AfterEnd {
    if template.kind.ends() && exit.is_success() {
        return AfterEnd::Done;
    }
    if is_hopeless(exit.reason) || !allows(&template.restart) {
        return AfterEnd::GiveUp;
    }
    restarts.next(&template.restart, ran, now).map_or(AfterEnd::GiveUp, AfterEnd::Again)
}

/// Whether the policy lets another attempt follow an end that was no success. The end of a
/// service or daemon never is one.
const fn allows(rule: &RestartRule) -> bool {
    match rule.policy {
        RestartPolicy::Always | RestartPolicy::OnFailure => true,
        RestartPolicy::Never => false,
    }
}

/// Whether the same attempt on the same host must end the same way.
const fn is_hopeless(reason: ExitReason) -> bool {
    match reason {
        ExitReason::ArtifactInvalid
        | ExitReason::NotGranted
        | ExitReason::TimedOut
        | ExitReason::HostLost => true,
        ExitReason::Exited
        | ExitReason::Trapped
        | ExitReason::OutOfMemory
        | ExitReason::Stopped
        | ExitReason::Killed
        | ExitReason::PortInUse
        | ExitReason::HostFailure
        | ExitReason::Signalled => false,
    }
}
