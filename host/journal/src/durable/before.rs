//! The store as it was before the engine opened it, so that opening happens wholly or not at all.
//!
//! The engine rewrites its files while it opens: it frees and overwrites segments as a new
//! accelerator file has it, before the name of that file is durable. A power cut in between leaves
//! a store that it cannot read. Therefore a durable copy is made first. An opening that did not
//! finish is taken back by the next one; one that is refused leaves the store as it was.

use super::{
    aside,
    head::Stop,
    io::{copy_dir_synced, remove_dir, rename_synced, size_bytes},
    space::Space,
    vessel::Layout,
};
use crate::{EngineError, Note};

/// A copy is made only if at least this many times its size is free.
const FREE_TIMES_COPY: u64 = 2;

/// Copies the store, unless that would fill the disk.
pub(crate) fn keep(layout: &Layout<'_>, space: Space) -> Result<Option<Note>, EngineError> {
    let needed_bytes = size_bytes(&layout.store())?;
    if needed_bytes == 0 {
        return Ok(None);
    }
    if space.free_bytes / FREE_TIMES_COPY < needed_bytes {
        return Ok(Some(Note::CopySkipped { needed_bytes }));
    }
    remove_dir(&layout.copying())?;
    copy_dir_synced(&layout.store(), &layout.copying())?;
    rename_synced(&layout.copying(), &layout.before())?;
    Ok(None)
}

/// Makes the store once more as it was, and keeps the copy. Does nothing without one.
pub(crate) fn restore(layout: &Layout<'_>) -> Result<(), EngineError> {
    if !layout.before().exists() {
        return Ok(());
    }
    remove_dir(&layout.store())?;
    copy_dir_synced(&layout.before(), &layout.store())
}

/// Takes an opening back that was refused or did not finish. Does nothing without a copy.
pub(crate) fn give_back(layout: &Layout<'_>) -> Result<(), EngineError> {
    if !layout.before().exists() {
        return Ok(());
    }
    remove_dir(&layout.store())?;
    rename_synced(&layout.before(), &layout.store())
}

/// Ends an opening: from here on the store counts, not the copy. After an unclean stop the copy is
/// kept for people, else it is removed.
pub(crate) fn release(layout: &Layout<'_>, stop: Stop) -> Result<Option<Note>, EngineError> {
    if !layout.before().exists() {
        return Ok(None);
    }
    if stop == Stop::Unclean {
        let path = aside::adopt(&layout.before(), &layout.aside())?;
        return Ok(Some(Note::CopiedAside { path: path.display().to_string() }));
    }
    // First the name, durably: half a copy must never pass for a whole one.
    rename_synced(&layout.before(), &layout.copying())?;
    remove_dir(&layout.copying())?;
    Ok(None)
}
