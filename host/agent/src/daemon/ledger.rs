//! The ledger: one thread that owns the durable map. Commits of all who wait are one commit.

use std::thread::JoinHandle;

use pliant_journal::store::{DurableMap, Edit as MapEdit, MapOptions, OpenedMap, open};
use tokio::sync::{mpsc, oneshot};

use super::{AgentError, Config, LedgerPlace, store::{Changes, Codec}};
use crate::logic::{Edit, Image};

/// Requests that may wait for the thread.
const QUEUE_LIMIT: usize = 256;
/// Edits of one commit; the map's own limit is higher by far than what one entry needs.
const COMMIT_EDITS: usize = pliant_journal::limits::MAX_EDITS;

enum Request {
    Commit { edits: Vec<Edit>, done: Option<oneshot::Sender<Result<(), AgentError>>> },
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
        let keeper = Keeper { map: opened.map, codec };
        let thread = std::thread::Builder::new()
            .name("pliant-ledger".to_owned())
            .spawn(move || keeper.run(inbox))
            .map_err(|source| AgentError::Machine { what: "threads", source })?;
        Ok((Self { requests, thread }, image))
    }

    /// Returns when the edits are durable.
    pub(super) async fn commit(&self, edits: Vec<Edit>) -> Result<(), AgentError> {
        if edits.is_empty() {
            return Ok(());
        }
        let (done, answer) = oneshot::channel();
        let request = Request::Commit { edits, done: Some(done) };
        self.requests.send(request).await.map_err(|_| AgentError::LedgerGone)?;
        answer.await.map_err(|_| AgentError::LedgerGone)?
    }

    /// Writes the edits at some time; a crash before then loses them.
    pub(super) async fn later(&self, edits: Vec<Edit>) -> Result<(), AgentError> {
        if edits.is_empty() {
            return Ok(());
        }
        let request = Request::Commit { edits, done: None };
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

struct Keeper {
    map: DurableMap,
    codec: Codec,
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
                        edits.extend(more);
                        waiting.extend(done);
                    }
                    Request::Close(done) => closing = Some(done),
                }
                next = if closing.is_none() { inbox.try_recv().ok() } else { None };
            }
            let outcome = self.write(&edits);
            if let Err(error) = &outcome {
                tracing::error!(%error, "the ledger cannot be written");
            }
            answer(waiting, &outcome);
            if let Some(done) = closing {
                self.close();
                // Whoever asked may be gone: then nobody waits.
                let _ = done.send(());
                return;
            }
        }
    }

    /// One commit if it fits, else several; the host's entry says what was obeyed and comes last.
    fn write(&mut self, edits: &[Edit]) -> Result<(), pliant_journal::MapError> {
        let changes = self.codec.changes(edits);
        let (last, first): (Changes, Changes) =
            changes.into_iter().partition(|(key, _)| key == "host");
        let ordered: Vec<_> = first.iter().chain(&last).collect();
        for part in ordered.chunks(COMMIT_EDITS) {
            let edits: Vec<MapEdit<'_>> = part
                .iter()
                .map(|(key, value)| match value {
                    Some(value) => MapEdit::Put { key: key.as_bytes(), value },
                    None => MapEdit::Remove { key: key.as_bytes() },
                })
                .collect();
            self.map.commit(&edits)?;
        }
        Ok(())
    }

    fn close(self) {
        if let Err(error) = self.map.close() {
            tracing::error!(%error, "the ledger was not closed in order");
        }
    }
}

fn answer(
    waiting: Vec<oneshot::Sender<Result<(), AgentError>>>,
    outcome: &Result<(), pliant_journal::MapError>,
) {
    for done in waiting {
        let told = outcome.clone().map_err(AgentError::Write);
        // Whoever asked may be gone: then nobody waits.
        let _ = done.send(told);
    }
}
