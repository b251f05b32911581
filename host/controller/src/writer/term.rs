//! Terms of the writer: open, read, campaign, stage; after trouble open again.

use super::{
    append::{Appender, Ended, Ending},
    inbox::{Asked, Bell, INBOX_LIMIT, Inbox, Message},
    recover::{OpenedState, ReadError, open_state},
    resolve::{Resolved, Unresolved, resolve},
    snapshots::Snapshotter,
    waiting::{Answers, Job, Reason, Waiting, refuse, turn_away},
};
use crate::{clock::ClusterClock, hosts::HostBook, published::Board};
use pliant_core::{Command, Engine, ReplyTag, Request, StartTerm, State};
use pliant_journal::{CampaignError, Opener, Stats};
use pliant_types::{Epoch, Millis, Time, codes::Code};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SendError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tracing::{error, info, warn};

/// Batches that may be staged ahead of the append.
const STAGED_AHEAD: usize = 2;
/// How long the stager sleeps at most; silent hosts are looked for at least so often.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);
/// Wait between attempts to open a journal that does not open.
const REOPEN_WAIT: Duration = Duration::from_secs(1);

/// What the writer needs.
#[derive(Clone)]
pub struct WriterSettings {
    /// Makes the journal.
    pub opener: Arc<dyn Opener>,
    /// Facts after which a snapshot is made.
    pub snapshot_facts: u64,
    /// Where durable batches are published.
    pub board: Board,
    /// Which hosts are silent.
    pub hosts: HostBook,
}

impl std::fmt::Debug for WriterSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterSettings").finish_non_exhaustive()
    }
}

/// How the journal stands, for status and readiness.
#[derive(Clone, Debug, Default)]
pub struct JournalState {
    /// Why writes are refused now; nothing while they are taken.
    pub trouble: Option<String>,
    /// The journal's newest figures.
    pub stats: Option<Stats>,
    /// The batch of the newest snapshot; 0 while there is none.
    pub snapshot: u64,
}

/// A running writer.
#[derive(Debug)]
pub struct Writer {
    inbox: Inbox,
    journal: Arc<Mutex<JournalState>>,
    thread: JoinHandle<Result<(), ReadError>>,
}

impl Writer {
    /// Opens and reads the journal, then starts the writer's threads.
    ///
    /// # Errors
    /// [`ReadError`] when the journal does not give a state.
    pub fn start(settings: WriterSettings) -> Result<Self, ReadError> {
        let first = open_state(&*settings.opener)?;
        for note in &first.opened.notes {
            info!(%note, "journal");
        }
        settings.board.reset(first.state.clone());
        let (sender, inbox) = sync_channel(INBOX_LIMIT);
        let sender = Arc::new(sender);
        let journal = Arc::new(Mutex::new(JournalState::default()));
        let stager = Stager {
            settings,
            inbox,
            bell: Bell(Arc::downgrade(&sender)),
            journal: Arc::clone(&journal),
            next_tag: 0,
            again: Vec::new(),
            stop: false,
        };
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || stager.run(first))
            .map_err(ReadError::Thread)?;
        Ok(Self { inbox: Inbox { sender, waiting: Arc::default() }, journal, thread })
    }

    /// The way in.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// How the journal stands.
    #[must_use]
    pub fn journal(&self) -> Arc<Mutex<JournalState>> {
        Arc::clone(&self.journal)
    }

    /// Finishes what was taken, closes the journal in order and joins the threads.
    ///
    /// # Errors
    /// The error that had ended the writer before.
    pub fn stop(self) -> Result<(), ReadError> {
        // A writer that has ended already has hung up; its result says why.
        let _ = self.inbox.sender.send(Message::Stop);
        self.thread.join().unwrap_or(Ok(()))
    }
}

struct Stager {
    settings: WriterSettings,
    inbox: Receiver<Message>,
    bell: Bell,
    journal: Arc<Mutex<JournalState>>,
    next_tag: u64,
    /// What a disk too full for new work did not take with it; first in the next term.
    again: Vec<Asked>,
    stop: bool,
}

impl Stager {
    fn run(mut self, first: OpenedState) -> Result<(), ReadError> {
        let mut current = Some(first);
        let mut unresolved = None;
        while !self.stop {
            let opened = match current.take().map_or_else(|| open_state(&*self.settings.opener), Ok)
            {
                Ok(opened) => opened,
                Err(error) => {
                    let reason = Reason::not_opened(&error);
                    self.say(Some(reason.words().to_owned()));
                    self.refuse_for(REOPEN_WAIT, &reason);
                    continue;
                }
            };
            unresolved = self.one_term(opened, unresolved.take());
        }
        Ok(())
    }

    /// One term: from an opened journal until trouble or the stop. Returns what must be resolved.
    fn one_term(
        &mut self,
        opened: OpenedState,
        unresolved: Option<Unresolved>,
    ) -> Option<Unresolved> {
        let OpenedState { opened, state, replayed_facts } = opened;
        let mut journal = opened.journal;
        let mut state = state;
        let mut head = opened.head;
        if let Some(unresolved) = unresolved {
            match resolve(&mut *journal, unresolved, &self.settings.board) {
                Resolved::Present(found) => state = *found,
                Resolved::Absent => {}
                Resolved::Appended(after) => (state, head) = (*after, head.next()),
                Resolved::Unknown(unresolved) => {
                    drop(journal);
                    self.refuse_for(REOPEN_WAIT, &unresolved.reason);
                    return Some(unresolved);
                }
                Resolved::Overtaken => {
                    error!("another writer has taken over; stepping down");
                    self.stop = true;
                    return None;
                }
            }
        }
        let epoch = match journal.campaign() {
            Ok(epoch) => epoch,
            Err(CampaignError::Stopped(poison)) => {
                drop(journal);
                self.refuse_for(REOPEN_WAIT, &Reason::poisoned(&poison));
                return None;
            }
        };
        self.settings.board.reset(state.clone());
        self.say(None);
        let (staged, jobs) = sync_channel(STAGED_AHEAD);
        let over = Arc::new(AtomicBool::new(false));
        let appender = Appender {
            journal,
            next: head.next(),
            board: self.settings.board.clone(),
            snapshotter: Snapshotter::new(self.settings.snapshot_facts, replayed_facts),
            figures: Arc::clone(&self.journal),
            told: None,
            over: Arc::clone(&over),
            bell: self.bell.clone(),
        };
        let Ok(thread) =
            std::thread::Builder::new().name("appender".into()).spawn(move || appender.run(jobs))
        else {
            let words = "no thread can be started".to_owned();
            self.refuse_for(REOPEN_WAIT, &Reason::Nothing(Code::JournalUnavailable, words));
            return None;
        };
        let clock = ClusterClock::seeded(state.counters.now);
        self.settings.hosts.begin_term(&state, clock);
        let mut term = Term::new(state, clock, (Epoch::new(epoch.0), over));
        term.serve(self, &staged);
        drop(staged);
        let ended = thread.join().ok()?;
        self.finish(ended, term)
    }

    /// After the appender has ended: what was decided and not appended is answered, and the journal
    /// is closed in order unless it must be resolved.
    fn finish(&mut self, ended: Ended, term: Term) -> Option<Unresolved> {
        let Ended { journal, trouble } = ended;
        let reason = match &trouble {
            Some(Ending { reason, .. }) => reason.clone(),
            None => Reason::reopening(),
        };
        if trouble.is_some() {
            warn!(why = reason.words(), "the journal does not take batches; it is opened again");
        }
        let words = trouble.as_ref().map(|_| reason.words().to_owned());
        self.say(words.or_else(|| self.stop.then(|| "the controller is stopping".into())));
        let Ending { unresolved, mut again, .. } = trouble.unwrap_or_else(|| Ending {
            reason: reason.clone(),
            unresolved: None,
            again: Vec::new(),
        });
        again.extend(term.turn_away(&reason));
        self.again = again;
        if let Err(error) = journal.close() {
            warn!(error = %error, "the journal was not closed in order");
        }
        unresolved
    }

    fn say(&self, trouble: Option<String>) {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).trouble = trouble;
    }

    /// Answers everything with 503 for a while, so that nothing hangs while the journal is away.
    fn refuse_for(&mut self, span: Duration, reason: &Reason) {
        for asked in self.again.drain(..) {
            refuse(asked.answer, reason);
        }
        let end = Instant::now() + span;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok(Message::Ask(asked)) => refuse(asked.answer, reason),
                Ok(Message::Ended) => {}
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.stop = true;
                    return;
                }
                Err(RecvTimeoutError::Timeout) => return,
            }
        }
    }
}

/// The stager's side of one term.
struct Term {
    engine: Engine,
    clock: ClusterClock,
    answers: Answers,
    /// A batch that the appender did not take any more.
    unsent: Option<Job>,
    /// The appender has ended; without this a term would last until the next batch.
    over: Arc<AtomicBool>,
    last_silence_check: Instant,
}

impl Term {
    fn new(state: State, clock: ClusterClock, (epoch, over): (Epoch, Arc<AtomicBool>)) -> Self {
        let fresh = state.revision().get() == 0;
        let gap = if fresh { Millis::ZERO } else { clock.now().since(state.counters.now) };
        let mut engine = Engine::new(state);
        let start = Command::StartTerm(StartTerm { epoch, gap });
        engine.submit(ReplyTag(0), Request::internal(start));
        Self {
            engine,
            clock,
            answers: Answers::new(),
            unsent: None,
            over,
            last_silence_check: Instant::now(),
        }
    }

    /// What is asked again has the first batch for itself, so that no new work can take it along.
    fn serve(&mut self, stager: &mut Stager, staged: &SyncSender<Job>) {
        let again = std::mem::take(&mut stager.again);
        let mut receives = again.is_empty();
        for asked in again {
            self.take(stager, asked);
        }
        loop {
            if receives && !self.receive(stager) {
                stager.stop = true;
            }
            receives = true;
            if self.over.load(Ordering::Acquire) {
                return;
            }
            self.look_for_silence(stager);
            let now = self.clock.now();
            let before = self.engine.head().revision().get();
            if let Some(batch) = self.engine.stage(now) {
                let facts = self.engine.head().revision().get() - before;
                let answers = batch.tags().filter_map(|t| self.answers.remove_entry(&t)).collect();
                if let Err(SendError(job)) = staged.send(Job { staged: batch, answers, facts }) {
                    self.unsent = Some(job);
                    return;
                }
            } else if stager.stop {
                return;
            }
        }
    }

    /// Takes everything that waits; sleeps only when there is nothing to do. `false` is the stop.
    fn receive(&mut self, stager: &mut Stager) -> bool {
        if stager.stop {
            return true;
        }
        let sleep = match self.engine.wake_at() {
            Some(wake) if wake == Time::default() => Duration::ZERO,
            Some(wake) => self.clock.until(wake).min(LONGEST_SLEEP),
            None => LONGEST_SLEEP,
        };
        let first = stager.inbox.recv_timeout(sleep);
        let mut next = match first {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        let mut taken = 0;
        while let Some(message) = next.take() {
            match message {
                Message::Stop => return false,
                Message::Ended => {}
                Message::Ask(asked) => self.take(stager, *asked),
            }
            taken += 1;
            if taken < INBOX_LIMIT {
                next = stager.inbox.try_recv().ok();
            }
        }
        true
    }

    fn take(&mut self, stager: &mut Stager, asked: Asked) {
        stager.next_tag += 1;
        let tag = ReplyTag(stager.next_tag);
        let Asked { request, answer } = asked;
        self.answers.insert(tag, Waiting::new(&request, answer));
        self.engine.submit(tag, request);
    }

    fn look_for_silence(&mut self, stager: &Stager) {
        if self.last_silence_check.elapsed() < LONGEST_SLEEP {
            return;
        }
        self.last_silence_check = Instant::now();
        for command in stager.settings.hosts.silent(self.clock.now()) {
            self.engine.submit(ReplyTag(0), Request::internal(command));
        }
    }

    /// Answers what was taken and never appended, or gives it back to be asked again.
    fn turn_away(self, reason: &Reason) -> Vec<Asked> {
        let mut again = self.unsent.map_or_else(Vec::new, |job| turn_away(job.answers, reason));
        again.extend(turn_away(self.answers, reason));
        again
    }
}
