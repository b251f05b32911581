//! Requests on their way to the writer, and their answers on the way back.

use pliant_core::{Answer, Rejection, Request};
use pliant_types::{Revision, codes::Code};
use std::sync::{
    Arc, Weak,
    atomic::{AtomicUsize, Ordering},
    mpsc::{SyncSender, TrySendError},
};
use tokio::sync::oneshot;

/// Requests that may wait for the writer; more answer `queue-full`.
pub const INBOX_LIMIT: usize = 4_096;

/// A request with the way back.
#[derive(Debug)]
pub struct Asked {
    /// What is asked.
    pub request: Request,
    /// Where its answer goes; a caller that left is not an error.
    pub answer: oneshot::Sender<Result<(Answer, Revision), WriteError>>,
}

/// Why a write was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The core refused it.
    #[error("{0}")]
    Rejected(Box<Rejection>),
    /// Its outcome is not known or it was not taken: the code says which.
    #[error("{1}")]
    Unavailable(Code, String),
}

/// Messages to the stager.
#[derive(Debug)]
pub(super) enum Message {
    Ask(Box<Asked>),
    /// The appender has ended its term.
    Ended,
    Stop,
}

/// Wakes the stager; does not keep the inbox open.
#[derive(Clone, Debug)]
pub(super) struct Bell(pub(super) Weak<SyncSender<Message>>);

impl Bell {
    pub(super) fn ring(&self) {
        if let Some(inbox) = self.0.upgrade() {
            // A full inbox does not let the stager sleep.
            let _ = inbox.try_send(Message::Ended);
        }
    }
}

/// The way to the writer; cheap to clone.
#[derive(Clone, Debug)]
pub struct Inbox {
    pub(super) sender: Arc<SyncSender<Message>>,
    pub(super) waiting: Arc<AtomicUsize>,
}

impl Inbox {
    /// Asks the writer and waits for the durable answer.
    ///
    /// # Errors
    /// The core's refusal, or that the writer cannot take it now.
    pub async fn ask(&self, request: Request) -> Result<(Answer, Revision), WriteError> {
        let (answer, answered) = oneshot::channel();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let sent = self.sender.try_send(Message::Ask(Box::new(Asked { request, answer })));
        let result = match sent {
            Ok(()) => answered.await.unwrap_or_else(|_| Err(unknown())),
            Err(TrySendError::Full(_)) => Err(WriteError::Unavailable(
                Code::QueueFull,
                format!("{INBOX_LIMIT} requests wait for the writer already"),
            )),
            Err(TrySendError::Disconnected(_)) => Err(WriteError::Unavailable(
                Code::ShuttingDown,
                "the controller is stopping".into(),
            )),
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Requests that wait for their answer now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

fn unknown() -> WriteError {
    WriteError::Unavailable(
        Code::JournalUnavailable,
        "the writer stopped before it could answer; whether the change was made shows after its \
         restart"
            .into(),
    )
}
