//! The appender: makes staged batches durable in order, releases each, hands trouble back.

use super::{
    inbox::{Asked, Bell},
    resolve::{Tries, Unresolved},
    snapshots::Snapshotter,
    term::JournalState,
    waiting::{Job, Reason, release, turn_away},
};
use crate::published::Board;
use pliant_journal::{Append, BatchId, Class, Draft, Journal, Refusal, Sequence};
use pliant_types::codes::Code;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::Receiver,
    },
    time::{Duration, Instant},
};

/// How often the journal's figures are looked at.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Why the appender stopped.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Refused without a trace; the engine must go back to the last durable state.
    Refused(Box<Job>, Reason),
    /// May or may not be there: open again, then resolve.
    Unknown(Unresolved),
}

impl Trouble {
    pub(super) const fn reason(&self) -> &Reason {
        match self {
            Self::Refused(_, reason) => reason,
            Self::Unknown(unresolved) => &unresolved.reason,
        }
    }
}

/// What came back from the appender when its term ended.
pub(super) struct Ended {
    pub(super) journal: Box<dyn Journal>,
    pub(super) trouble: Option<Ending>,
}

/// Trouble once its requests were answered: what goes into the next term.
#[derive(Debug)]
pub(super) struct Ending {
    /// Why nothing, or no new work, was taken.
    pub(super) reason: Reason,
    /// What must be resolved first.
    pub(super) unresolved: Option<Unresolved>,
    /// What is asked again.
    pub(super) again: Vec<Asked>,
}

/// Owns the journal for a term.
pub(super) struct Appender {
    pub(super) journal: Box<dyn Journal>,
    pub(super) next: Sequence,
    pub(super) board: Board,
    pub(super) snapshotter: Snapshotter,
    pub(super) figures: Arc<Mutex<JournalState>>,
    pub(super) told: Option<Instant>,
    /// Set, and rung for, when trouble has ended the term.
    pub(super) over: Arc<AtomicBool>,
    pub(super) bell: Bell,
}

impl Appender {
    /// Appends until the stager hangs up or trouble comes; what is still queued then is given up.
    pub(super) fn run(mut self, jobs: Receiver<Job>) -> Ended {
        let mut trouble = None;
        self.tell();
        for job in &jobs {
            if let Err(why) = self.append(job) {
                trouble = Some(why);
                break;
            }
        }
        let trouble = trouble.map(|trouble| {
            self.say(trouble.reason().words());
            end(trouble, jobs)
        });
        self.over.store(true, Ordering::Release);
        self.bell.ring();
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
                let words = refusal.to_string();
                let reason = match refusal {
                    Refusal::NoSpace { .. } if class == Class::NewWork => Reason::NoNewWork(words),
                    Refusal::NoSpace { .. } => Reason::Nothing(Code::NoSpace, words),
                    Refusal::TooLarge { .. } => Reason::Nothing(Code::TooLarge, words),
                    _ => Reason::Nothing(Code::JournalUnavailable, words),
                };
                Err(Trouble::Refused(Box::new(job), reason))
            }
            Append::Unknown(poison) => Err(Trouble::Unknown(Unresolved {
                job: Box::new(job),
                sequence: self.next,
                id,
                tries: Tries::First,
                reason: Reason::poisoned(&poison),
            })),
        }
    }
}

/// What was refused and what waits behind it is answered, or is asked again in the next term.
/// A stager that waits for a place in the channel learns of it by its end.
fn end(trouble: Trouble, jobs: Receiver<Job>) -> Ending {
    let reason = trouble.reason().clone();
    let (refused, unresolved) = match trouble {
        Trouble::Refused(job, _) => (Some(*job), None),
        Trouble::Unknown(unresolved) => (None, Some(unresolved)),
    };
    let mut again = Vec::new();
    for job in refused.into_iter().chain(jobs.try_iter()) {
        again.extend(turn_away(job.answers, &reason));
    }
    drop(jobs);
    Ending { reason, unresolved, again }
}

impl Appender {
    /// Says that writes are not taken. Said before the first request is turned away, so that
    /// whoever asks for readiness after such an answer sees the same thing.
    fn say(&self, trouble: &str) {
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.trouble = Some(trouble.to_owned());
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::{inbox::Message, waiting::Waiting};
    use pliant_core::{Command, Engine, ReplyTag, Request, StartTerm, State};
    use pliant_journal::{
        ClusterId, Opener as _,
        faulty::{Fault, FaultyStore, Script},
        memory::{MemoryStore, Sharing},
    };
    use pliant_types::{Epoch, Millis};
    use std::sync::mpsc::sync_channel;

    /// A client that is refused and then asks for readiness must not hear "ready" from before.
    #[test]
    fn trouble_is_said_when_the_appender_turns_requests_away() {
        let memory = MemoryStore::new(ClusterId([1; 16]), Sharing::Single);
        let store = FaultyStore::new(Arc::new(memory), Script::default().at(1, Fault::Fenced));
        let opened = store.open().expect("a new store opens");
        let mut journal = opened.journal;
        let epoch = journal.campaign().expect("nobody else campaigns");
        let mut engine = Engine::new(State::default());
        let start = StartTerm { epoch: Epoch::new(epoch.0), gap: Millis::ZERO };
        let request = Request::internal(Command::StartTerm(start));
        let (way, mut answer) = tokio::sync::oneshot::channel();
        let answers = [(ReplyTag(1), Waiting::new(&request, way))].into();
        engine.submit(ReplyTag(1), request);
        let staged = engine.stage(pliant_types::Time::default()).expect("a term begins");
        let (inbox, _kept) = sync_channel::<Message>(1);
        let (sender, jobs) = sync_channel(1);
        sender.send(Job { staged, answers, facts: 1 }).expect("the channel is open");
        let figures = Arc::new(Mutex::new(JournalState::default()));
        let appender = Appender {
            journal,
            next: opened.head.next(),
            board: Board::default(),
            snapshotter: Snapshotter::new(1_000, 0),
            figures: Arc::clone(&figures),
            told: None,
            over: Arc::default(),
            bell: Bell(Arc::downgrade(&Arc::new(inbox))),
        };
        let ended = appender.run(jobs);
        assert!(ended.trouble.is_some(), "the journal refused");
        assert!(matches!(answer.try_recv(), Ok(Err(_))), "the request was turned away");
        let trouble = figures.lock().expect("nothing panicked").trouble.clone();
        assert!(trouble.is_some(), "and readiness says so already");
    }
}
