//! Plain files, with errors that say what was being done. Only std's calls that go through libc are
//! used, so that the power-loss model of the tests sees every one of them.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read},
    path::Path,
};

use crate::{ClusterId, EngineError, Poison};

/// Turns the refusal of the operating system into a failure of `what`.
pub(crate) fn doing(what: impl Into<String>) -> impl FnOnce(io::Error) -> EngineError {
    move |source| EngineError::Io { what: what.into(), source }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), EngineError> {
    let sync = || File::open(dir)?.sync_all();
    sync().map_err(doing(format!("syncing the directory {}", dir.display())))
}

/// Makes the directory that holds this path durable.
pub(crate) fn sync_parent(path: &Path) -> Result<(), EngineError> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_dir(Path::new(".")),
        Some(parent) => sync_dir(parent),
        None => Ok(()),
    }
}

/// Makes a directory with all above it.
pub(crate) fn make_dir(dir: &Path) -> Result<(), EngineError> {
    fs::create_dir_all(dir).map_err(doing(format!("making the directory {}", dir.display())))
}

/// Makes the bytes of a file durable, if it exists.
pub(crate) fn sync_file(path: &Path) -> Result<(), EngineError> {
    match File::open(path).and_then(|file| file.sync_all()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(doing(format!("syncing {}", path.display()))),
    }
}

/// Writes a new file and makes its bytes durable; its name is not yet.
pub(crate) fn write_synced(path: &Path, parts: &[&[u8]]) -> Result<(), EngineError> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        parts.iter().try_for_each(|part| io::Write::write_all(&mut file, part))?;
        file.sync_all()
    };
    write().map_err(doing(format!("writing {}", path.display())))
}

/// Moves a file or directory and makes both names durable.
pub(crate) fn rename_synced(from: &Path, to: &Path) -> Result<(), EngineError> {
    fs::rename(from, to).map_err(doing(format!(
        "moving {} to {}",
        from.display(),
        to.display()
    )))?;
    sync_parent(to)?;
    sync_parent(from)
}

/// Removes a directory with all in it, if it exists.
pub(crate) fn remove_dir(dir: &Path) -> Result<(), EngineError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(doing(format!("removing {}", dir.display()))),
    }
}

/// Names in a directory, sorted; none if it does not exist.
pub(crate) fn names_in(dir: &Path) -> Result<Vec<String>, EngineError> {
    let read = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    };
    match read() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(doing(format!("listing {}", dir.display()))),
    }
}

/// Bytes of all files below a directory.
pub(crate) fn size_bytes(dir: &Path) -> Result<u64, EngineError> {
    let mut total = 0;
    for name in names_in(dir)? {
        let path = dir.join(name);
        let meta = fs::symlink_metadata(&path).map_err(doing(format!("{}", path.display())))?;
        total += if meta.is_dir() { size_bytes(&path)? } else { meta.len() };
    }
    Ok(total)
}

/// Copies a directory of files and directories; the copy is not synced.
pub(crate) fn copy_dir(from: &Path, to: &Path) -> Result<(), EngineError> {
    make_dir(to)?;
    for name in names_in(from)? {
        let (source, target) = (from.join(&name), to.join(&name));
        if source.is_dir() {
            copy_dir(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(doing(format!("copying {}", source.display())))?;
        }
    }
    Ok(())
}

/// As [`copy_dir`]; the copy with all in it is durable, except for its own name.
pub(crate) fn copy_dir_synced(from: &Path, to: &Path) -> Result<(), EngineError> {
    copy_dir(from, to)?;
    sync_tree(to)
}

fn sync_tree(dir: &Path) -> Result<(), EngineError> {
    for name in names_in(dir)? {
        let path = dir.join(name);
        if path.is_dir() { sync_tree(&path) } else { sync_file(&path) }?;
    }
    sync_dir(dir)
}

/// A name for a new cluster, from the kernel's generator.
pub(crate) fn random_cluster() -> Result<ClusterId, EngineError> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(doing("reading /dev/urandom"))?;
    Ok(ClusterId(bytes))
}

/// A failed write or sync as the reason to stop.
pub(crate) fn poison(what: &str, error: &io::Error) -> Poison {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Poison::NoSpace,
        _ => Poison::Io(format!("{what}: {error}")),
    }
}
