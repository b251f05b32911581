//! Terms of the writer: open, read, campaign, stage; after trouble open again.

use super::{
    append::{Answers, Appender, Ended, Job, Trouble, give_up, release},
    inbox::{Asked, INBOX_LIMIT, Inbox, Message, WriteError},
    recover::{OpenedState, ReadError, open_state},
    snapshots::Snapshotter,
};
use crate::{clock::ClusterClock, hosts::HostBook, published::Board};
use pliant_core::{Command, Engine, ReplyTag, Request, StartTerm, State};
use pliant_journal::{Append, Class, Draft, Journal, Opener, Resolution, Stats};
use pliant_types::{Epoch, Millis, Time, codes::Code};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
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
        let journal = Arc::new(Mutex::new(JournalState::default()));
        let stager =
            Stager { settings, inbox, journal: Arc::clone(&journal), next_tag: 0, stop: false };
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
    journal: Arc<Mutex<JournalState>>,
    next_tag: u64,
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
                    self.say(Some(words(&error)));
                    self.refuse_for(REOPEN_WAIT, &words(&error));
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
            match resolve(&mut *journal, unresolved, &self.settings.board, &mut state) {
                Ok(appended) => head = if appended { head.next() } else { head },
                Err(why) => {
                    error!(why, "another writer has taken over; stepping down");
                    self.stop = true;
                    return None;
                }
            }
        }
        let epoch = match journal.campaign() {
            Ok(epoch) => epoch,
            Err(error) => {
                self.refuse_for(REOPEN_WAIT, &error.to_string());
                return None;
            }
        };
        self.settings.board.reset(state.clone());
        self.say(None);
        let (staged, jobs) = sync_channel(STAGED_AHEAD);
        let appender = Appender {
            journal,
            next: head.next(),
            board: self.settings.board.clone(),
            snapshotter: Snapshotter::new(self.settings.snapshot_facts, replayed_facts),
            figures: Arc::clone(&self.journal),
            told: None,
        };
        let Ok(thread) =
            std::thread::Builder::new().name("appender".into()).spawn(move || appender.run(&jobs))
        else {
            self.refuse_for(REOPEN_WAIT, "no thread can be started");
            return None;
        };
        let clock = ClusterClock::seeded(state.counters.now);
        self.settings.hosts.begin_term(&state, clock);
        let mut term = Term::new(state, clock, Epoch::new(epoch.0));
        term.serve(self, &staged);
        drop(staged);
        let ended = thread.join().ok()?;
        self.finish(ended, term)
    }

    /// After the appender has ended: what was decided and not appended is answered, and the journal
    /// is closed in order unless it must be resolved.
    fn finish(&mut self, ended: Ended, term: Term) -> Option<Unresolved> {
        let Ended { journal, trouble } = ended;
        let words = match &trouble {
            Some(Trouble::Refused(_, why) | Trouble::Unknown { why, .. }) => Some(why.clone()),
            None => None,
        };
        if let Some(why) = &words {
            warn!(why, "the journal does not take batches; it is opened again");
        }
        self.say(words.or_else(|| self.stop.then(|| "the controller is stopping".into())));
        term.give_up();
        if let Err(error) = journal.close() {
            warn!(error = %error, "the journal was not closed in order");
        }
        match trouble {
            Some(Trouble::Unknown { job, sequence, id, .. }) => {
                Some(Unresolved { job, sequence, id })
            }
            _ => None,
        }
    }

    fn say(&self, trouble: Option<String>) {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).trouble = trouble;
    }

    /// Answers everything with 503 for a while, so that nothing hangs while the journal is away.
    fn refuse_for(&mut self, span: Duration, why: &str) {
        let end = Instant::now() + span;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok(Message::Ask(asked)) => refuse(*asked, why),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.stop = true;
                    return;
                }
                Err(RecvTimeoutError::Timeout) => return,
            }
        }
    }
}

fn refuse(asked: Asked, why: &str) {
    let error = WriteError::Unavailable(Code::JournalUnavailable, why.to_owned());
    let _ = asked.answer.send(Err(error));
}

fn words(error: &ReadError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// A batch whose fate is not known.
struct Unresolved {
    job: Box<Job>,
    sequence: pliant_journal::Sequence,
    id: pliant_journal::BatchId,
}

/// Present goes on; Absent appends the same batch once; Other steps down (14-decisions.md, 23).
/// The answer says whether a batch was appended now.
fn resolve(
    journal: &mut dyn Journal,
    unresolved: Unresolved,
    board: &Board,
    state: &mut State,
) -> Result<bool, String> {
    let Unresolved { job, sequence, id } = unresolved;
    let resolution = journal.resolve(sequence, id).map_err(|e| e.to_string());
    info!(?resolution, sequence = sequence.0, "resolved a batch of unknown outcome");
    match resolution {
        Ok(Resolution::Present) => {
            *state = release(board, *job);
            Ok(false)
        }
        Ok(Resolution::Absent) => {
            let campaigned = journal.campaign().map_err(|e| e.to_string());
            let payload = job.staged.payload().map(<[u8]>::to_vec).unwrap_or_default();
            let draft = Draft { id, class: Class::Essential, payload: &payload };
            let appended = campaigned.map(|_| journal.append(&draft, sequence));
            if let Ok(Append::Committed(_)) = appended {
                *state = release(board, *job);
                return Ok(true);
            }
            give_up(*job, Code::JournalUnavailable, "the journal did not take the change twice");
            Ok(false)
        }
        Ok(Resolution::Other) => {
            give_up(*job, Code::JournalUnavailable, "another controller leads now");
            Err("another batch stands in its place".into())
        }
        Err(why) => {
            give_up(*job, Code::JournalUnavailable, &why);
            Ok(false)
        }
    }
}

/// The stager's side of one term.
struct Term {
    engine: Engine,
    clock: ClusterClock,
    answers: Answers,
    last_silence_check: Instant,
}

impl Term {
    fn new(state: State, clock: ClusterClock, epoch: Epoch) -> Self {
        let fresh = state.revision().get() == 0;
        let gap = if fresh { Millis::ZERO } else { clock.now().since(state.counters.now) };
        let mut engine = Engine::new(state);
        let start = Command::StartTerm(StartTerm { epoch, gap });
        engine.submit(ReplyTag(0), Request::internal(start));
        Self { engine, clock, answers: Answers::new(), last_silence_check: Instant::now() }
    }

    fn serve(&mut self, stager: &mut Stager, staged: &SyncSender<Job>) {
        loop {
            if !self.receive(stager) {
                stager.stop = true;
            }
            self.look_for_silence(stager);
            let now = self.clock.now();
            let before = self.engine.head().revision().get();
            if let Some(batch) = self.engine.stage(now) {
                let facts = self.engine.head().revision().get() - before;
                let answers = batch.tags().filter_map(|t| self.answers.remove_entry(&t)).collect();
                if let Err(SendError(job)) = staged.send(Job { staged: batch, answers, facts }) {
                    give_up(job, Code::JournalUnavailable, "the journal is being opened again");
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
        self.answers.insert(tag, asked.answer);
        self.engine.submit(tag, asked.request);
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

    /// Answers what was taken and never staged.
    fn give_up(self) {
        for (_, answer) in self.answers {
            let error = WriteError::Unavailable(
                Code::JournalUnavailable,
                "the journal is being opened again".into(),
            );
            let _ = answer.send(Err(error));
        }
    }
}
