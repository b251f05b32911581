//! The ledger: one thread that owns the durable map. Commits of all who wait are one commit.
//!
//! A map that stopped, as on a full disk, is opened again with the next commit. What waits
//! meanwhile is the reactor's concern.

use std::{sync::Arc, thread::JoinHandle};

use pliant_journal::{
    Poison,
    limits::{MAX_COMMIT_BYTES, MAX_EDITS},
    store::{DurableMap, Edit as MapEdit, MapError, MapOptions, OpenedMap, open},
};
use tokio::sync::{mpsc, oneshot};

use super::{
    AgentError, Config, LedgerPlace,
    drivers::chain,
    store::{Changes, Codec, order},
};
use crate::logic::{Edit, Image};

/// Requests that may wait for the thread.
const QUEUE_LIMIT: usize = 256;
/// How often a commit is written at once: the second time to a map that was opened again.
const TRIES: u32 = 2;

/// Edits that are kept by who asked, so that they can be asked again.
pub(super) type Edits = Arc<Vec<Edit>>;
/// Says when edits are durable, or why they are not.
pub(super) type Answer = oneshot::Receiver<Result<(), AgentError>>;

enum Request {
    Commit { edits: Edits, done: Option<oneshot::Sender<Result<(), AgentError>>> },
    Close(oneshot::Sender<()>),
}

/// A handle of the thread; the only one.
#[derive(Debug)]
pub(super) struct Ledger {
    requests: mpsc::Sender<Request>,
    thread: JoinHandle<()>,
}

fn open_map(config: &Config) -> Result<OpenedMap, AgentError> {
    let dir = config.data_dir.join("ledger");
    let opened = match &config.ledger {
        LedgerPlace::Disk => open(&MapOptions::new(&dir)),
        LedgerPlace::Memory(map) => map.open(),
    };
    opened.map_err(|source| AgentError::Ledger { path: dir.display().to_string(), source })
}

impl Ledger {
    /// Opens and verifies it; reads all that it holds.
    pub(super) fn open(config: &Config) -> Result<(Self, Image), AgentError> {
        let opened = open_map(config)?;
        for note in &opened.notes {
            tracing::info!(?note, clean = opened.clean, "the ledger was opened");
        }
        let (codec, image) = Codec::read(&opened.map)?;
        let (requests, inbox) = mpsc::channel(QUEUE_LIMIT);
        let keeper = Keeper {
            config: config.clone(),
            open: Some(Open { map: opened.map, codec }),
            trouble: None,
        };
        let thread = std::thread::Builder::new()
            .name("pliant-ledger".to_owned())
            .spawn(move || keeper.run(inbox))
            .map_err(|source| AgentError::Machine { what: "threads", source })?;
        Ok((Self { requests, thread }, image))
    }

    /// Returns when the edits are durable.
    pub(super) async fn commit(&self, edits: &Edits) -> Result<(), AgentError> {
        if edits.is_empty() {
            return Ok(());
        }
        let answer = self.place().await?.ask(edits);
        answer.await.map_err(|_| AgentError::LedgerGone)?
    }

    /// Waits until a request can be made; nothing is asked yet.
    pub(super) async fn place(&self) -> Result<Place<'_>, AgentError> {
        self.requests.reserve().await.map(Place).map_err(|_| AgentError::LedgerGone)
    }

    /// Writes the edits at some time; a crash before then loses them.
    pub(super) async fn later(&self, edits: Vec<Edit>) -> Result<(), AgentError> {
        if edits.is_empty() {
            return Ok(());
        }
        let request = Request::Commit { edits: Arc::new(edits), done: None };
        self.requests.send(request).await.map_err(|_| AgentError::LedgerGone)
    }

    /// Writes what is waiting, closes in order, ends the thread.
    pub(super) async fn close(self) -> Result<(), AgentError> {
        let (done, answer) = oneshot::channel();
        let sent = self.requests.send(Request::Close(done)).await;
        if sent.is_ok() {
            // The thread answers or is gone; either way the next line sees its end.
            let _closed = answer.await;
        }
        drop(self.requests);
        let thread = self.thread;
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        match joined {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(AgentError::Bug),
        }
    }
}

/// A place in the queue.
pub(super) struct Place<'a>(mpsc::Permit<'a, Request>);

impl Place<'_> {
    pub(super) fn ask(self, edits: &Edits) -> Answer {
        let (done, answer) = oneshot::channel();
        self.0.send(Request::Commit { edits: Arc::clone(edits), done: Some(done) });
        answer
    }
}

struct Open {
    map: DurableMap,
    codec: Codec,
}

struct Keeper {
    config: Config,
    /// Nothing after the map stopped, until it is opened again.
    open: Option<Open>,
    /// Why it could not be written, as it was told last.
    trouble: Option<String>,
}

impl Keeper {
    fn run(mut self, mut inbox: mpsc::Receiver<Request>) {
        while let Some(first) = inbox.blocking_recv() {
            let mut edits = Vec::new();
            let mut waiting = Vec::new();
            let mut closing = None;
            let mut next = Some(first);
            while let Some(request) = next {
                match request {
                    Request::Commit { edits: more, done } => {
                        edits.push(more);
                        waiting.extend(done);
                    }
                    Request::Close(done) => closing = Some(done),
                }
                next = if closing.is_none() { inbox.try_recv().ok() } else { None };
            }
            let outcome = self.commit(&edits);
            self.tell(&outcome);
            answer(waiting, &outcome);
            if let Some(done) = closing {
                if let Some(open) = self.open.take() {
                    close(open);
                }
                // Whoever asked may be gone: then nobody waits.
                let _ = done.send(());
                return;
            }
        }
    }

    fn commit(&mut self, edits: &[Edits]) -> Result<(), MapError> {
        if edits.is_empty() {
            return Ok(());
        }
        let mut outcome = Ok(());
        for _ in 0..TRIES {
            let open = match self.open.take() {
                Some(open) => open,
                None => self.reopen()?,
            };
            let Open { map, codec } = self.open.insert(open);
            let changes = codec.changes(edits.iter().flat_map(|part| part.iter()));
            outcome = write(map, changes);
            if !matches!(outcome, Err(MapError::Stopped(_))) {
                return outcome;
            }
            if let Some(open) = self.open.take() {
                close(open);
            }
        }
        outcome
    }

    /// What a part of a commit left on disk shows in what is read.
    fn reopen(&self) -> Result<Open, MapError> {
        let stopped = |error: &AgentError| MapError::Stopped(Poison::Io(chain(error)));
        let map = open_map(&self.config).map_err(|error| stopped(&error))?.map;
        let (codec, _) = Codec::read(&map).map_err(|error| stopped(&error))?;
        Ok(Open { map, codec })
    }

    /// Once for each trouble, not once for each try.
    fn tell(&mut self, outcome: &Result<(), MapError>) {
        let trouble = outcome.as_ref().err().map(ToString::to_string);
        match &trouble {
            Some(why) if self.trouble != trouble => {
                tracing::error!(why, "the ledger cannot be written; it is tried again");
            }
            None if self.trouble.is_some() => tracing::info!("the ledger is written again"),
            _ => {}
        }
        self.trouble = trouble;
    }
}

fn close(open: Open) {
    if let Err(error) = open.map.close() {
        tracing::error!(%error, "the ledger was not closed in order");
    }
}

/// One commit if it fits, else several, in an order in which each leaves a whole ledger.
pub(super) fn write(map: &mut DurableMap, changes: Changes) -> Result<(), MapError> {
    let mut changes: Vec<_> = changes.into_iter().collect();
    changes.sort_by_key(|(key, value)| order(key, value.as_ref()));
    let mut rest = &changes[..];
    while !rest.is_empty() {
        let (part, after) = rest.split_at(fitting(map, rest));
        let edits: Vec<MapEdit<'_>> = part
            .iter()
            .map(|(key, value)| match value {
                Some(value) => MapEdit::Put { key: key.as_bytes(), value },
                None => MapEdit::Remove { key: key.as_bytes() },
            })
            .collect();
        map.commit(&edits)?;
        rest = after;
    }
    Ok(())
}

/// How many of the first changes one commit takes; one at least.
fn fitting(map: &DurableMap, changes: &[(String, Option<Vec<u8>>)]) -> usize {
    let mut bytes = 0;
    let fits = |(key, value): &&(String, Option<Vec<u8>>)| {
        let old = map.get(key.as_bytes()).map_or(0, <[u8]>::len);
        bytes += key.len() + old.max(value.as_ref().map_or(0, Vec::len));
        bytes <= MAX_COMMIT_BYTES
    };
    changes.iter().take(MAX_EDITS).take_while(fits).count().max(1)
}

fn answer(waiting: Vec<oneshot::Sender<Result<(), AgentError>>>, outcome: &Result<(), MapError>) {
    for done in waiting {
        let told = outcome.clone().map_err(AgentError::Write);
        // Whoever asked may be gone: then nobody waits.
        let _ = done.send(told);
    }
}
