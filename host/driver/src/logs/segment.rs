//! Files of a log series: names, listing, order. Reads and writes no content.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const SUFFIX: &str = ".log";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    /// Offset of its first byte in the series.
    pub(super) start: u64,
    pub(super) path: PathBuf,
    pub(super) length: u64,
}

impl Segment {
    pub(super) fn end(&self) -> u64 {
        self.start + self.length
    }
}

pub(super) fn path(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:020}{SUFFIX}"))
}

/// The segments of `dir`, oldest first. A directory that is not there has none. Files that bear
/// another name are not ours and are left alone.
pub(super) fn list(dir: &Path) -> io::Result<Vec<Segment>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut segments = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Some(start) = entry.file_name().to_str().and_then(start_of) else { continue };
        // A segment may be rotated away between the listing and this look at it.
        let length = match entry.metadata() {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        segments.push(Segment { start, path: entry.path(), length });
    }
    segments.sort();
    Ok(segments)
}

fn start_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}
