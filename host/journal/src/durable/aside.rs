//! Copies of the store from before it was opened after an unclean stop: evidence, because the engine
//! rewrites what is damaged while it opens. A bounded number is kept.

use std::path::{Path, PathBuf};

use super::io::{make_dir, names_in, remove_dir, rename_synced};
use crate::{EngineError, limits::ASIDE_KEPT};

/// Moves a copy to `aside/NNNN` and drops the oldest ones there.
pub(crate) fn adopt(copy: &Path, aside: &Path) -> Result<PathBuf, EngineError> {
    make_dir(aside)?;
    let newest = numbered(aside)?.last().map_or(0, |(number, _)| *number);
    let path = aside.join(format!("{:04}", newest + 1));
    rename_synced(copy, &path)?;
    let copies = numbered(aside)?;
    let surplus = copies.len().saturating_sub(ASIDE_KEPT);
    copies[..surplus].iter().try_for_each(|(_, name)| remove_dir(&aside.join(name)))?;
    Ok(path)
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
    fn the_newest_two_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (copy, aside) = (dir.path().join("copy"), dir.path().join("aside"));
        for number in 1..=4_u8 {
            std::fs::create_dir(&copy).unwrap();
            std::fs::write(copy.join("db"), [number; 1000]).unwrap();
            adopt(&copy, &aside).unwrap();
        }
        assert_eq!(names_in(&aside).unwrap(), ["0003", "0004"]);
        assert_eq!(std::fs::read(aside.join("0004/db")).unwrap(), [4; 1000]);
    }
}
