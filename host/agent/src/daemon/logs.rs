//! Which attempts of an execution have a log, and the lines of them as a stream that follows
//! from attempt to attempt until the execution is over.

use std::{collections::BTreeMap, io, sync::Arc};

use pliant_api::body::{LogLine, LogQuery, LogStream, Timestamp};
use pliant_driver::{
    LogRequest,
    logs::{LogReader, LogRecord, Stream},
};
use pliant_types::{Attempt, ExecutionId, Time};
use tokio::sync::watch;

use super::{drivers::Drivers, places::Places};
use crate::logic::{Edit, Stage};

/// What is known of the logs of live executions.
#[derive(Clone, Debug)]
pub(super) struct LogIndex(Arc<watch::Sender<BTreeMap<ExecutionId, Written>>>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Written {
    /// The newest attempt that was started in this life of the agent.
    started: Option<Attempt>,
    /// Whether another attempt may follow, or this one may go on.
    open: bool,
}

impl Default for LogIndex {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(BTreeMap::new())))
    }
}

impl LogIndex {
    /// An attempt has a log from now on.
    pub(super) fn started(&self, id: ExecutionId, attempt: Attempt) {
        self.0.send_modify(|all| all.entry(id).or_default().started = Some(attempt));
    }

    /// What is remembered of executions says which are over.
    pub(super) fn remembered(&self, edits: &[Edit]) {
        if edits.iter().all(|edit| matches!(edit, Edit::Host(_))) {
            return;
        }
        self.0.send_modify(|all| {
            for edit in edits {
                match edit {
                    Edit::Put(record) => {
                        let is_over = matches!(
                            record.stage,
                            Stage::Ended | Stage::Collecting | Stage::Removing
                        );
                        all.entry(record.id()).or_default().open = !is_over;
                    }
                    Edit::Remove(id) => {
                        all.remove(id);
                    }
                    Edit::Host(_) => {}
                }
            }
        });
    }

    /// Whether the execution is one of this host, now.
    pub(super) fn knows(&self, id: ExecutionId) -> bool {
        self.0.borrow().contains_key(&id)
    }
}

/// What a reader asked for, and where it is to be found.
pub(super) struct Asked {
    pub(super) id: ExecutionId,
    pub(super) query: LogQuery,
    pub(super) drivers: Drivers,
    pub(super) places: Arc<Places>,
}

/// The lines that one reader asked for.
pub(super) struct Lines {
    asked: Asked,
    index: watch::Receiver<BTreeMap<ExecutionId, Written>>,
    current: Option<LogReader>,
    /// The newest attempt that was read.
    last: Option<Attempt>,
}

impl Lines {
    pub(super) fn new(asked: Asked, index: &LogIndex) -> Self {
        Self { asked, index: index.0.subscribe(), current: None, last: None }
    }

    /// Whose they are.
    pub(super) const fn id(&self) -> ExecutionId {
        self.asked.id
    }

    /// The next lines, with the place of the last one; `None`: this was all.
    pub(super) async fn next(&mut self) -> io::Result<Option<(String, Vec<LogLine>)>> {
        loop {
            let Some(reader) = &mut self.current else {
                let Some(attempt) = self.next_attempt().await else { return Ok(None) };
                self.current = Some(self.open(attempt).await?);
                self.last = Some(attempt);
                continue;
            };
            let records = if self.asked.query.follow {
                reader.next().await?
            } else {
                Some(reader.read()?).filter(|records| !records.is_empty())
            };
            let Some(records) = records else {
                self.current = None;
                continue;
            };
            let place = format!("{}-{}", self.last.unwrap_or(Attempt::FIRST), reader.offset());
            let wanted = self.asked.query.stream;
            let lines = records.iter().map(line);
            let lines = lines.filter(|line| wanted.is_none_or(|one| one == line.stream));
            return Ok(Some((place, lines.collect())));
        }
    }

    /// Which attempt to read after the last one. Who follows waits for it.
    async fn next_attempt(&mut self) -> Option<Attempt> {
        let newest = |last| self.asked.places.newest_log(self.asked.id).filter(|n| Some(*n) > last);
        if let Some(number) = self.asked.query.attempt {
            return Some(Attempt::new(number)).filter(|_| self.last.is_none());
        }
        if !self.asked.query.follow {
            return newest(self.last).filter(|_| self.last.is_none());
        }
        loop {
            let written = self.index.borrow_and_update().get(&self.asked.id).copied();
            let Some(written) = written else { return newest(self.last) };
            let started = written.started.filter(|started| Some(*started) > self.last);
            if started.is_some() {
                return started;
            }
            if !written.open {
                return newest(self.last);
            }
            self.index.changed().await.ok()?;
        }
    }

    /// The log of an attempt; its driver's if that still writes it.
    async fn open(&self, attempt: Attempt) -> io::Result<LogReader> {
        let (id, dir) = (self.asked.id, self.asked.places.logs(self.asked.id, attempt));
        let mut reader = LogReader::finished(dir.clone(), 0);
        for driver in self.asked.drivers.all() {
            if driver.probe(id).await.is_some() {
                let request = LogRequest { execution: id, dir: dir.clone(), from: 0 };
                reader = driver.logs(request).await.map_err(io::Error::other)?;
            }
        }
        if let Some(tail) = self.asked.query.tail.filter(|_| self.last.is_none()) {
            reader.seek_tail(usize::try_from(tail).unwrap_or(usize::MAX))?;
        }
        Ok(reader)
    }
}

/// A record as answers show it. Bytes that are no text are replaced.
fn line(record: &LogRecord) -> LogLine {
    LogLine {
        at: Timestamp(Time::from_millis(record.time_ms)),
        stream: match record.stream {
            Stream::Stdout => LogStream::Stdout,
            Stream::Stderr => LogStream::Stderr,
            Stream::Pliant => LogStream::Agent,
        },
        line: String::from_utf8_lossy(&record.text).into_owned(),
    }
}
