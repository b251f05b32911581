//! The transition table of an execution: stage x event -> what to do. Holds no values.

use super::stage::StageKind;

/// An event without what it holds: the columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Begin,
    Prepared,
    Failed,
    Started,
    Ended,
    NextPrepared,
    NextFailed,
    Resized,
    ResizeRefused,
    StopAsked,
    Forget,
    Collected,
    Removed,
}

/// What a transition does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Go {
    /// Nothing: the event is late, or says what is known.
    Stay,
    /// Begin an attempt.
    Prepare,
    /// Tell the driver to start.
    Start,
    /// The guest runs.
    Run,
    /// An attempt ended by itself: complete, restart or give up.
    Judge,
    /// Wait for the start to come back, then end it.
    AwaitStart,
    /// Tell the driver to end it.
    Stop,
    /// What the next version needs is ready: end the attempt for it.
    Restart,
    /// The next version cannot be had; go on with this one.
    Refuse,
    /// The driver has changed the limits, or has not.
    Resized,
    /// The attempt that was ended for another one is over: begin that.
    Turn,
    /// Another reason or an earlier deadline for a stop that is under way.
    Merge,
    /// It is over because it was to stop.
    End,
    /// It is over with success.
    Complete,
    /// Its work is done, but what it left could not be kept.
    Spoil,
    /// Let the driver forget it.
    Remove,
    /// Nothing is left.
    Gone,
}

pub(super) const fn next(stage: StageKind, event: EventKind) -> Go {
    use EventKind as E;
    use StageKind as S;
    match (stage, event) {
        (S::Held | S::Waiting, E::Begin) => Go::Prepare,
        (S::Preparing, E::Prepared) => Go::Start,
        (S::Preparing | S::Starting, E::Failed) | (S::Starting | S::Up, E::Ended) => Go::Judge,
        (S::Starting, E::Started) => Go::Run,

        (S::Up, E::NextPrepared) => Go::Restart,
        (S::Up, E::NextFailed) => Go::Refuse,
        (S::Up, E::Resized | E::ResizeRefused) => Go::Resized,
        (S::Restarting, E::Ended) => Go::Turn,

        (S::Held | S::Preparing | S::Waiting, E::StopAsked) => Go::End,
        (S::Starting, E::StopAsked | E::Forget) => Go::AwaitStart,
        (S::Up | S::Restarting, E::StopAsked | E::Forget) | (S::StoppingStart, E::Started) => {
            Go::Stop
        }
        (S::StoppingStart | S::Stopping, E::StopAsked | E::Forget) => Go::Merge,
        (S::StoppingStart, E::Failed) | (S::StoppingStart | S::Stopping, E::Ended) => Go::End,

        (S::Collecting, E::Collected) => Go::Complete,
        (S::Collecting, E::Failed) => Go::Spoil,

        (S::Held | S::Preparing | S::Waiting | S::Collecting | S::Ended, E::Forget) => Go::Remove,
        (S::Removing, E::Removed) => Go::Gone,
        _ => Go::Stay,
    }
}

#[cfg(test)]
impl EventKind {
    pub(super) const ALL: [Self; 13] = [
        Self::Begin,
        Self::Prepared,
        Self::Failed,
        Self::Started,
        Self::Ended,
        Self::NextPrepared,
        Self::NextFailed,
        Self::Resized,
        Self::ResizeRefused,
        Self::StopAsked,
        Self::Forget,
        Self::Collected,
        Self::Removed,
    ];
}
