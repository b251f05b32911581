//! The appender: makes staged batches durable in order, releases each, hands trouble back.

use super::{inbox::WriteError, snapshots::Snapshotter, term::JournalState};
use crate::published::Board;
use pliant_core::{Answer, Reply, ReplyTag, Staged, State};
use pliant_journal::{Append, BatchId, Class, Draft, Journal, Refusal, Sequence};
use pliant_types::{Revision, codes::Code};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, mpsc::Receiver},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// How often the journal's figures are looked at.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Where the answers of a batch go.
pub(super) type Answers =
    BTreeMap<ReplyTag, oneshot::Sender<Result<(Answer, Revision), WriteError>>>;

/// A staged batch with the way back of its answers.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) staged: Staged,
    pub(super) answers: Answers,
    pub(super) facts: u64,
}

/// Why the appender stopped.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Refused without a trace; the engine must go back to the last durable state.
    Refused(Code, String),
    /// May or may not be there: open again, then resolve.
    Unknown { job: Box<Job>, sequence: Sequence, id: BatchId, why: String },
}

/// What came back from the appender when its term ended.
pub(super) struct Ended {
    pub(super) journal: Box<dyn Journal>,
    pub(super) trouble: Option<Trouble>,
}

/// Owns the journal for a term.
pub(super) struct Appender {
    pub(super) journal: Box<dyn Journal>,
    pub(super) next: Sequence,
    pub(super) board: Board,
    pub(super) snapshotter: Snapshotter,
    pub(super) figures: Arc<Mutex<JournalState>>,
    pub(super) told: Option<Instant>,
}

impl Appender {
    /// Appends until the stager hangs up or trouble comes; what is still queued then is given up.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) -> Ended {
        let mut trouble = None;
        self.tell();
        for job in jobs {
            if let Err(why) = self.append(job) {
                trouble = Some(why);
                break;
            }
        }
        let (code, words) = match &trouble {
            Some(Trouble::Refused(code, words)) => (*code, words.clone()),
            _ => (Code::JournalUnavailable, "the journal is being opened again".to_owned()),
        };
        for job in jobs.try_iter() {
            give_up(job, code, &words);
        }
        self.snapshotter.finish(&mut *self.journal);
        Ended { journal: self.journal, trouble }
    }

    fn append(&mut self, job: Job) -> Result<(), Trouble> {
        let Some(payload) = job.staged.payload() else {
            release(&self.board, job);
            return Ok(());
        };
        let id = BatchId(rand::random());
        let class = if job.staged.is_new_work() { Class::NewWork } else { Class::Essential };
        match self.journal.append(&Draft { id, class, payload }, self.next) {
            Append::Committed(position) => {
                let facts = job.facts;
                let state = release(&self.board, job);
                self.next = position.sequence.next();
                self.snapshotter.note(&mut *self.journal, position.sequence, facts, state);
                if self.told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
                    self.tell();
                }
                Ok(())
            }
            Append::Refused(refusal) => {
                let code = match refusal {
                    Refusal::NoSpace { .. } => Code::NoSpace,
                    Refusal::TooLarge { .. } => Code::TooLarge,
                    _ => Code::JournalUnavailable,
                };
                let words = refusal.to_string();
                give_up(job, code, &words);
                Err(Trouble::Refused(code, words))
            }
            Append::Unknown(poison) => Err(Trouble::Unknown {
                job: Box::new(job),
                sequence: self.next,
                id,
                why: poison.to_string(),
            }),
        }
    }
}

impl Appender {
    /// Puts the journal's figures where readers find them.
    fn tell(&mut self) {
        self.told = Some(Instant::now());
        let stats = self.journal.stats();
        let kept = self.journal.snapshots().list().unwrap_or_default();
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.stats = Some(stats);
        figures.snapshot = kept.last().map_or(0, |newest| newest.at.0);
    }
}

/// Publishes a durable batch, then answers its requests.
pub(super) fn release(board: &Board, job: Job) -> State {
    let Job { staged, mut answers, .. } = job;
    let mut release = staged.committed();
    board.publish(&mut release);
    for Reply { tag, result, revision } in release.replies.drain(..) {
        if let Some(answer) = answers.remove(&tag) {
            let result = result
                .map(|answer| (answer, revision))
                .map_err(|rejection| WriteError::Rejected(Box::new(rejection)));
            // A caller that went away has lost interest; the change is made all the same.
            let _ = answer.send(result);
        }
    }
    release.state.as_ref().clone()
}

/// Answers every request of a batch that was not appended.
pub(super) fn give_up(job: Job, code: Code, words: &str) {
    for (_, answer) in job.answers {
        let _ = answer.send(Err(WriteError::Unavailable(code, words.to_owned())));
    }
}
