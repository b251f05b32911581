//! Where things are on disk: `cache/`, `executions/ID/{logs/ATTEMPT, output, results.tar}`. Keeps
//! logs of ended executions within bounds.

use std::{
    collections::{BTreeSet, VecDeque},
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use pliant_types::{Attempt, ExecutionId};

use super::{AgentError, Config};

/// The agent's directories.
#[derive(Debug)]
pub(super) struct Places {
    executions: PathBuf,
    most: usize,
    longest: Duration,
    /// Ended ones, oldest first.
    kept: Mutex<VecDeque<(SystemTime, ExecutionId)>>,
}

impl Places {
    /// Makes the directories; `live`: executions that are not over.
    pub(super) fn open(config: &Config, live: &BTreeSet<ExecutionId>) -> Result<Self, AgentError> {
        let executions = config.data_dir.join("executions");
        let kept = fs::create_dir_all(&executions).and_then(|()| ended(&executions, live));
        let kept = kept
            .map_err(|source| AgentError::Directory { path: executions.clone(), source })?;
        let places = Self {
            executions,
            most: config.limits.kept_executions,
            longest: config.limits.kept_for,
            kept: Mutex::new(kept),
        };
        places.prune();
        Ok(places)
    }

    pub(super) fn execution(&self, id: ExecutionId) -> PathBuf {
        self.executions.join(id.to_string())
    }

    pub(super) fn output(&self, id: ExecutionId) -> PathBuf {
        self.execution(id).join("output")
    }

    pub(super) fn results(&self, id: ExecutionId) -> PathBuf {
        self.execution(id).join("results.tar")
    }

    pub(super) fn logs(&self, id: ExecutionId, attempt: Attempt) -> PathBuf {
        self.execution(id).join("logs").join(attempt.to_string())
    }

    /// The newest attempt whose log is there.
    pub(super) fn newest_log(&self, id: ExecutionId) -> Option<Attempt> {
        let entries = fs::read_dir(self.execution(id).join("logs")).ok()?;
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        numbers.max().map(Attempt::new)
    }

    /// An empty output and a place for the log of an attempt. What an execution of the same id
    /// left, of another cluster say, is not this one's (E57).
    pub(super) fn ready(&self, id: ExecutionId, attempt: Attempt) -> io::Result<()> {
        if attempt == Attempt::FIRST {
            remove_tree(&self.execution(id))?;
        }
        remove_tree(&self.output(id))?;
        fs::create_dir_all(self.output(id))?;
        fs::create_dir_all(self.logs(id, attempt))
    }

    /// An execution is over and done with: its logs are kept for a while, the rest goes.
    pub(super) fn retire(&self, id: ExecutionId) -> io::Result<()> {
        remove_tree(&self.output(id))?;
        remove_file(&self.results(id))?;
        if self.newest_log(id).is_none() {
            return remove_tree(&self.execution(id));
        }
        self.kept().push_back((SystemTime::now(), id));
        self.prune();
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(SystemTime, ExecutionId)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of what is too old or too much. What cannot be removed is tried again at the next
    /// start: its directory is still there.
    fn prune(&self) {
        let now = SystemTime::now();
        loop {
            let mut kept = self.kept();
            let too_many = kept.len() > self.most;
            let too_old = kept.front().is_some_and(|(since, _)| {
                now.duration_since(*since).is_ok_and(|age| age > self.longest)
            });
            if !too_many && !too_old {
                return;
            }
            let Some((_, id)) = kept.pop_front() else { return };
            drop(kept);
            if let Err(error) = remove_tree(&self.execution(id)) {
                tracing::warn!(execution = %id, %error, "an old log cannot be removed");
            }
        }
    }
}

/// Directories of executions that are over, oldest first.
fn ended(
    dir: &Path,
    live: &BTreeSet<ExecutionId>,
) -> io::Result<VecDeque<(SystemTime, ExecutionId)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(id) = id.filter(|id| !live.contains(id)) {
            found.push((entry.metadata()?.modified()?, id));
        }
    }
    found.sort();
    Ok(found.into())
}

/// Removes a tree; one that is not there is removed already.
fn remove_tree(path: &Path) -> io::Result<()> {
    ignore_absent(fs::remove_dir_all(path))
}

pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    ignore_absent(fs::remove_file(path))
}

fn ignore_absent(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
