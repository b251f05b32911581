//! Copies of the store that are made before the engine opens it after an unclean stop, because the
//! engine rewrites what is damaged while it opens. A bounded number is kept.

use std::path::{Path, PathBuf};

use super::{
    io::{copy_dir, names_in, remove_dir, size_bytes, sync_dir},
    space::Space,
};
use crate::{EngineError, Note, limits::ASIDE_KEPT};

/// A copy is made only if at least this many times its size is free.
const FREE_TIMES_COPY: u64 = 2;

/// Copies `store` to `aside/NNNN`, unless that would fill the disk; then drops the oldest copies.
pub(crate) fn copy(store: &Path, aside: &Path, space: Space) -> Result<Option<Note>, EngineError> {
    let needed_bytes = size_bytes(store)?;
    if needed_bytes == 0 {
        return Ok(None);
    }
    if space.free_bytes / FREE_TIMES_COPY < needed_bytes {
        return Ok(Some(Note::CopySkipped { needed_bytes }));
    }
    let path = fresh(aside)?;
    copy_dir(store, &path)?;
    sync_dir(aside)?;
    keep_newest(aside)?;
    Ok(Some(Note::CopiedAside { path: path.display().to_string() }))
}

/// The next free numbered name in `aside`, which is made if need be.
pub(crate) fn fresh(aside: &Path) -> Result<PathBuf, EngineError> {
    super::io::make_dir(aside)?;
    let newest = numbered(aside)?.last().map_or(0, |(number, _)| *number);
    Ok(aside.join(format!("{:04}", newest + 1)))
}

fn keep_newest(aside: &Path) -> Result<(), EngineError> {
    let copies = numbered(aside)?;
    let surplus = copies.len().saturating_sub(ASIDE_KEPT);
    copies[..surplus].iter().try_for_each(|(_, name)| remove_dir(&aside.join(name)))
}

fn numbered(aside: &Path) -> Result<Vec<(u64, String)>, EngineError> {
    let number = |name: String| Some((name.parse().ok()?, name));
    let mut found: Vec<_> = names_in(aside)?.into_iter().filter_map(number).collect();
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_copies_are_kept_and_a_small_disk_gets_none() {
        let dir = tempfile::tempdir().unwrap();
        let (store, aside) = (dir.path().join("store"), dir.path().join("aside"));
        std::fs::create_dir(&store).unwrap();
        std::fs::write(store.join("db"), [7; 1000]).unwrap();
        let roomy = Space { total_bytes: 10_000, free_bytes: 5_000 };
        for _ in 0..4 {
            assert!(matches!(copy(&store, &aside, roomy), Ok(Some(Note::CopiedAside { .. }))));
        }
        assert_eq!(names_in(&aside).unwrap(), ["0003", "0004"]);
        assert_eq!(std::fs::read(aside.join("0004/db")).unwrap(), [7; 1000]);
        let tight = Space { total_bytes: 10_000, free_bytes: 1_500 };
        let skipped = Note::CopySkipped { needed_bytes: 1_000 };
        assert_eq!(copy(&store, &aside, tight).unwrap(), Some(skipped));
        assert_eq!(names_in(&aside).unwrap(), ["0003", "0004"]);
    }
}
