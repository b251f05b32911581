//! Free space of the journal's disk, asked at most once a second.

use pliant_journal::{
    NEW_WORK_FREE_PERMILLE,
    durable::{SpaceProbe, SystemSpace},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

const VALID: Duration = Duration::from_secs(1);

/// Tells whether new work may be taken (13-journal.md, guard 8); cheap to clone.
#[derive(Clone, Debug)]
pub struct SpaceGauge {
    dir: PathBuf,
    newest: Arc<Mutex<Option<(Instant, u32)>>>,
}

impl SpaceGauge {
    /// A gauge of the filesystem that holds `dir`.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf(), newest: Arc::default() }
    }

    /// Free share in thousandths; nothing where the system does not say.
    #[must_use]
    pub fn free_permille(&self) -> Option<u32> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, free)) = *newest
            && at.elapsed() < VALID
        {
            return Some(free);
        }
        let free = SystemSpace.space(&self.dir).ok()?.free_permille();
        *newest = Some((Instant::now(), free));
        Some(free)
    }

    /// Why new work is refused, if it is.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let free = self.free_permille().filter(|free| *free < NEW_WORK_FREE_PERMILLE)?;
        Some(format!(
            "{}.{} % of the journal's disk are free, new work needs {} %",
            free / 10,
            free % 10,
            NEW_WORK_FREE_PERMILLE / 10
        ))
    }
}
