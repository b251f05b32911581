//! How much of the disk is free, and the ballast: a file that can be given up on a full disk, so
//! that stops and reports still find room.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::io::{doing, sync_parent, write_synced};
use crate::{EngineError, Note};

/// Space of the filesystem below a directory, as an unprivileged user may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes in use or free.
    pub total_bytes: u64,
    /// Bytes free.
    pub free_bytes: u64,
}

impl Space {
    /// Free share in thousandths.
    #[must_use]
    pub fn free_permille(&self) -> u32 {
        let share = u128::from(self.free_bytes) * 1000 / u128::from(self.total_bytes.max(1));
        u32::try_from(share).unwrap_or(1000)
    }
}

/// Asks for the space; tests bring their own.
pub trait SpaceProbe: Send + Sync {
    /// The space of the filesystem that holds `dir`.
    ///
    /// # Errors
    /// The operating system's refusal.
    fn space(&self, dir: &Path) -> io::Result<Space>;
}

/// Asks the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemSpace;

impl SpaceProbe for SystemSpace {
    fn space(&self, dir: &Path) -> io::Result<Space> {
        let found = rustix::fs::statvfs(dir)?;
        let used_blocks = found.f_blocks.saturating_sub(found.f_bfree);
        Ok(Space {
            total_bytes: (used_blocks + found.f_bavail).saturating_mul(found.f_frsize),
            free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        })
    }
}

/// The ballast file of a journal.
pub(crate) struct Ballast {
    path: PathBuf,
    len_bytes: u64,
}

/// Ballast takes no larger part of the free space than one of so many: a small disk gets a small one.
const MAX_PART_OF_FREE: u64 = 8;
/// Below this it would not hold what a few stops write.
const MIN_BALLAST_BYTES: u64 = 512 * 1024;

static BLOCK: [u8; 64 * 1024] = [0xb5; 64 * 1024];

impl Ballast {
    /// Ballast of this size in a directory; nothing is touched yet.
    pub(crate) fn new(dir: &Path, len_bytes: u64) -> Self {
        Self { path: dir.join("BALLAST"), len_bytes }
    }

    /// Gives the ballast up if less than its size is free.
    pub(crate) fn release_if_full(&self, space: Space) -> Result<Option<Note>, EngineError> {
        let Ok(found) = fs::metadata(&self.path) else { return Ok(None) };
        if space.free_bytes >= found.len() {
            return Ok(None);
        }
        fs::remove_file(&self.path).map_err(doing("giving up the ballast"))?;
        Ok(Some(Note::BallastReleased { len_bytes: found.len() }))
    }

    /// Lays it down if it is not there, as large as the room allows.
    pub(crate) fn lay(&self, space: Space) -> Result<(), EngineError> {
        let len_bytes = self.len_bytes.min(space.free_bytes / MAX_PART_OF_FREE);
        if len_bytes < MIN_BALLAST_BYTES.min(self.len_bytes) || len_bytes == 0 || self.path.exists()
        {
            return Ok(());
        }
        let blocks = len_bytes.div_ceil(BLOCK.len() as u64);
        let blocks = usize::try_from(blocks).unwrap_or(usize::MAX);
        write_synced(&self.path, &vec![&BLOCK[..]; blocks])?;
        sync_parent(&self.path)
    }
}

/// Asks a probe, as a step that may fail.
pub(crate) fn ask(probe: &dyn SpaceProbe, dir: &Path) -> Result<Space, EngineError> {
    probe.space(dir).map_err(doing(format!("asking for the space of {}", dir.display())))
}
