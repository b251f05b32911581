//! Requests that wait for their answer: told when a batch is durable, turned away when it is not.
//!
//! Does not decide what became of a batch; the appender and `resolve` do.

use super::{
    inbox::{Asked, WriteError},
    recover::ReadError,
};
use crate::published::Board;
use pliant_core::{Answer, Command, Reply, ReplyTag, Request, Staged, State};
use pliant_journal::Poison;
use pliant_types::{Revision, codes::Code};
use std::{
    collections::BTreeMap,
    error::Error,
    io::{self, ErrorKind},
};
use tokio::sync::oneshot;

/// The way back of an answer.
type Way = oneshot::Sender<Result<(Answer, Revision), WriteError>>;

/// One request that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    way: Way,
    /// The request, unless it brings new work: a disk too full for new work takes it all the same.
    again: Option<Request>,
}

impl Waiting {
    /// Keeps what is needed to answer a request, and to ask it again.
    pub(super) fn new(request: &Request, way: Way) -> Self {
        let new_work = matches!(request.command, Command::Submit(_));
        Self { way, again: (!new_work).then(|| request.clone()) }
    }
}

/// Where the answers of a batch go.
pub(super) type Answers = BTreeMap<ReplyTag, Waiting>;

/// A staged batch with the way back of its answers.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) staged: Staged,
    pub(super) answers: Answers,
    pub(super) facts: u64,
}

/// Why requests are not carried out now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Too little space for new work; everything else is asked again at once.
    NoNewWork(String),
    /// Nothing is taken now.
    Nothing(Code, String),
}

impl Reason {
    /// Writes are not taken while the journal is being opened again.
    pub(super) fn reopening() -> Self {
        Self::Nothing(
            Code::JournalUnavailable,
            "the journal is being opened again; nothing was changed".into(),
        )
    }

    /// After the journal stopped.
    pub(super) fn poisoned(poison: &Poison) -> Self {
        let code = match poison {
            Poison::NoSpace => Code::NoSpace,
            _ => Code::JournalUnavailable,
        };
        Self::Nothing(code, poison.to_string())
    }

    /// While the journal does not open.
    pub(super) fn not_opened(error: &ReadError) -> Self {
        let (mut words, mut code) = (Vec::new(), Code::JournalUnavailable);
        let mut next: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(cause) = next {
            words.push(cause.to_string());
            let io: Option<&io::Error> = cause.downcast_ref();
            if io.is_some_and(|io| io.kind() == ErrorKind::StorageFull) {
                code = Code::NoSpace;
            }
            next = cause.source();
        }
        Self::Nothing(code, words.join(": "))
    }

    pub(super) fn words(&self) -> &str {
        match self {
            Self::NoNewWork(words) | Self::Nothing(_, words) => words,
        }
    }

    fn error(&self) -> WriteError {
        let code = match self {
            Self::NoNewWork(_) => Code::NoSpace,
            Self::Nothing(code, _) => *code,
        };
        WriteError::Unavailable(code, self.words().to_owned())
    }
}

/// Publishes a durable batch, then answers its requests.
pub(super) fn release(board: &Board, job: Job) -> State {
    let Job { staged, mut answers, .. } = job;
    let mut release = staged.committed();
    board.publish(&mut release);
    for Reply { tag, result, revision } in release.replies.drain(..) {
        if let Some(waiting) = answers.remove(&tag) {
            let result = result
                .map(|answer| (answer, revision))
                .map_err(|rejection| WriteError::Rejected(Box::new(rejection)));
            // A caller that went away has lost interest; the change is made all the same.
            let _ = waiting.way.send(result);
        }
    }
    release.state.as_ref().clone()
}

/// Answers requests that left no trace in the journal; gives back those that are asked again.
pub(super) fn turn_away(answers: Answers, reason: &Reason) -> Vec<Asked> {
    let mut again = Vec::new();
    for (_, Waiting { way, again: request }) in answers {
        match (reason, request) {
            (Reason::NoNewWork(_), Some(request)) => again.push(Asked { request, answer: way }),
            _ => refuse(way, reason),
        }
    }
    again
}

/// Answers one request.
pub(super) fn refuse(way: Way, reason: &Reason) {
    let _ = way.send(Err(reason.error()));
}
