//! A task's output directory as a tar archive: a walk of its own over directories and plain files,
//! within limits. The same files give the same bytes: names in order, no times, no owners.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use tar::{Builder, EntryType, Header};

use super::Limits;

const DIRECTORY_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// Why an output directory is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveError {
    /// More entries than are kept.
    #[error("the output has more than {limit} entries (output-entries)")]
    Entries { limit: u32 },
    /// More bytes than are kept.
    #[error("the output has more than {limit} bytes (output-bytes)")]
    Bytes { limit: u64 },
    /// Deeper than is kept.
    #[error("the output has more than {limit} directories within each other (output-depth)")]
    Depth { limit: u32 },
    /// Neither a directory nor a plain file.
    #[error("{path} in the output is neither a file nor a directory")]
    Kind { path: String },
    /// A name that is no text.
    #[error("a name in the output is not UTF-8: {path}")]
    Name { path: String },
    /// The disk failed.
    #[error("{path} in the output cannot be archived")]
    Io { path: String, source: io::Error },
}

/// What an archive holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Archived {
    pub(super) files: u32,
    pub(super) entries: u32,
    pub(super) bytes: u64,
}

/// Archives `output` into the file `into`.
pub(super) fn archive(
    output: &Path,
    into: &Path,
    limits: &Limits,
) -> Result<Archived, ArchiveError> {
    let at = |path: &Path| {
        let path = path.display().to_string();
        move |source| ArchiveError::Io { path, source }
    };
    let root = Dir::open_ambient_dir(output, ambient_authority()).map_err(at(Path::new("/")))?;
    let file = File::create(into).map_err(at(into))?;
    let mut walk =
        Walk { tar: Builder::new(BufWriter::new(file)), limits, sum: Archived::default() };
    walk.directory(&root, Path::new(""), 0)?;
    let finished = walk.tar.into_inner().and_then(|mut file| file.flush());
    finished.map_err(at(into))?;
    Ok(walk.sum)
}

struct Walk<'a> {
    tar: Builder<BufWriter<File>>,
    limits: &'a Limits,
    sum: Archived,
}

impl Walk<'_> {
    /// The entries of a directory in the order of their names. The depth is bounded.
    fn directory(&mut self, dir: &Dir, path: &Path, depth: u32) -> Result<(), ArchiveError> {
        if depth > self.limits.output_depth {
            return Err(ArchiveError::Depth { limit: self.limits.output_depth });
        }
        let mut names: Vec<OsString> = Vec::new();
        for entry in dir.entries().map_err(failed(path))? {
            names.push(entry.map_err(failed(path))?.file_name());
            self.sum.entries += 1;
            if self.sum.entries > self.limits.output_entries {
                return Err(ArchiveError::Entries { limit: self.limits.output_entries });
            }
        }
        names.sort();
        for name in names {
            let below = path.join(&name);
            if name.to_str().is_none() {
                return Err(ArchiveError::Name { path: below.display().to_string() });
            }
            self.entry(dir, &name, &below, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        dir: &Dir,
        name: &OsString,
        path: &Path,
        depth: u32,
    ) -> Result<(), ArchiveError> {
        let kind = dir.symlink_metadata(name).map_err(failed(path))?.file_type();
        if kind.is_dir() {
            let mut header = header(EntryType::Directory, DIRECTORY_MODE, 0);
            self.tar.append_data(&mut header, path, io::empty()).map_err(failed(path))?;
            let below = dir.open_dir(name).map_err(failed(path))?;
            return self.directory(&below, path, depth + 1);
        }
        if !kind.is_file() {
            return Err(ArchiveError::Kind { path: path.display().to_string() });
        }
        self.file(dir, name, path)
    }

    fn file(&mut self, dir: &Dir, name: &OsString, path: &Path) -> Result<(), ArchiveError> {
        let file = dir.open(name).map_err(failed(path))?;
        let size = file.metadata().map_err(failed(path))?.len();
        self.sum.bytes = self.sum.bytes.saturating_add(size);
        if self.sum.bytes > self.limits.output_bytes {
            return Err(ArchiveError::Bytes { limit: self.limits.output_bytes });
        }
        self.sum.files += 1;
        let mut header = header(EntryType::Regular, FILE_MODE, size);
        let whole = Exactly { inner: file, left: size };
        self.tar.append_data(&mut header, path, whole).map_err(failed(path))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path: PathBuf = path.to_owned();
    move |source| ArchiveError::Io { path: path.display().to_string(), source }
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// A reader that gives as many bytes as were announced, or fails.
struct Exactly<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.inner.read(&mut buffer[..room])?;
        if read == 0 && room > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
        }
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    fn limits() -> Limits {
        Limits { output_entries: 5, output_bytes: 100, output_depth: 2, ..Limits::default() }
    }

    fn listing(tar: &Path) -> Vec<String> {
        let mut archive = tar::Archive::new(File::open(tar).unwrap());
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            let path = entry.path().unwrap().display().to_string();
            let (kind, mtime) = (header.entry_type(), header.mtime().unwrap());
            format!("{path} {kind:?} {} {mtime}", header.size().unwrap())
        });
        entries.collect()
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let mut archives = Vec::new();
        for (number, order) in [["b", "a"], ["a", "b"]].into_iter().enumerate() {
            let output = dir.path().join(format!("out{number}"));
            fs::create_dir_all(output.join("d")).unwrap();
            for name in order {
                fs::write(output.join(name), name).unwrap();
            }
            fs::write(output.join("d/c"), "cc").unwrap();
            let tar = dir.path().join(format!("{number}.tar"));
            let archived = archive(&output, &tar, &limits()).unwrap();
            assert_eq!(archived, Archived { files: 3, entries: 4, bytes: 4 });
            archives.push(tar);
        }
        assert_eq!(fs::read(&archives[0]).unwrap(), fs::read(&archives[1]).unwrap());
        let expected =
            ["a Regular 1 0", "b Regular 1 0", "d Directory 0 0", "d/c Regular 2 0"];
        assert_eq!(listing(&archives[0]), expected);
    }

    #[test]
    fn what_is_over_a_limit_or_no_plain_file_is_named() {
        let check = |make: &dyn Fn(&Path), words: &str| {
            let dir = tempfile::tempdir().unwrap();
            let output = dir.path().join("out");
            fs::create_dir(&output).unwrap();
            make(&output);
            let error = archive(&output, &dir.path().join("t"), &limits()).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        };
        check(&|out| symlink("/etc", out.join("l")).unwrap(), "l in the output is neither");
        check(&|out| fs::write(out.join("a"), [0; 101]).unwrap(), "output-bytes");
        check(&|out| fs::create_dir_all(out.join("a/b/c")).unwrap(), "output-depth");
        check(
            &|out| (0..6).for_each(|n| fs::write(out.join(n.to_string()), "").unwrap()),
            "output-entries",
        );
    }
}
