//! The lock of a directory: an advisory lock on the directory itself and one on the file `LOCK` in
//! it. The kernel drops both with the process. The file holds the process id, so that the second
//! opener can be told whom to stop; removing it frees nothing, for the directory stays locked.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::io::doing;
use crate::OpenError;

/// How long a killed process may take to let go: its memory is given back before its files.
const DYING_LIMIT: Duration = Duration::from_secs(2);
const DYING_PAUSE: Duration = Duration::from_millis(20);

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub(crate) struct LockFile {
    dir: File,
    file: File,
}

impl LockFile {
    /// Takes the lock of a directory or says who has it; touches nothing but the file `path` in it.
    /// Waits a little for a holder that is dying.
    pub(crate) fn acquire(dir: &Path, path: &Path) -> Result<Self, OpenError> {
        let begun = Instant::now();
        loop {
            match Self::try_acquire(dir, path) {
                Err(OpenError::Locked { .. })
                    if begun.elapsed() < DYING_LIMIT && pid_in(path).is_some_and(is_dying) =>
                {
                    pause();
                }
                outcome => return outcome,
            }
        }
    }

    fn try_acquire(dir: &Path, path: &Path) -> Result<Self, OpenError> {
        // The directory first: whoever has it has a right to the file, also to one made anew.
        let dir = lock(File::open(dir), dir, path)?;
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = lock(file, path, path)?;
        let mut sign = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        sign().map_err(doing(format!("locking {}", path.display())))?;
        Ok(Self { dir, file })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread is just starting has a copy of the
        // descriptor until it runs its program. If this fails, the kernel does it a moment later.
        let _ = self.file.unlock();
        let _ = self.dir.unlock();
    }
}

#[allow(clippy::disallowed_methods, reason = "a blocked lock would not end with the holder's life")]
fn pause() {
    std::thread::sleep(DYING_PAUSE);
}

/// Locks what was opened, or says who has it by what stands in the file `sign`.
fn lock(opened: std::io::Result<File>, what: &Path, sign: &Path) -> Result<File, OpenError> {
    let what = || format!("locking {}", what.display());
    let file = opened.map_err(doing(what()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(OpenError::Locked { path: sign.display().to_string(), holder: holder(sign) })
        }
        Err(TryLockError::Error(error)) => Err(doing(what())(error).into()),
    }
}

fn pid_in(path: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(path).ok()?.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn holder(path: &Path) -> String {
    match pid_in(path) {
        Some(pid) if pid == std::process::id() => format!("this process ({pid})"),
        Some(pid) => format!("process {pid}"),
        None => "a process that did not say its id".to_owned(),
    }
}

/// Whether a process was killed and has not let go of everything yet, as the kernel tells it. Where
/// there is no such table nobody is dying.
fn is_dying(pid: u32) -> bool {
    const KILL_BIT: u64 = 1 << (9 - 1);
    let table = PathBuf::from("/proc");
    if pid == std::process::id() || !table.join("self").exists() {
        return false;
    }
    let Ok(status) = std::fs::read_to_string(table.join(pid.to_string()).join("status")) else {
        return true;
    };
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    fields.into_iter().any(|(name, value)| match (name, value.trim()) {
        ("State", state) => state.starts_with(['Z', 'X']),
        ("SigPnd" | "ShdPnd", mask) => {
            u64::from_str_radix(mask, 16).is_ok_and(|mask| mask & KILL_BIT != 0)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(dir: &Path) -> Result<LockFile, OpenError> {
        LockFile::acquire(dir, &dir.join("LOCK"))
    }

    #[test]
    fn a_removed_file_lets_nobody_in() {
        let dir = tempfile::tempdir().unwrap();
        let held = taken(dir.path()).unwrap();
        std::fs::remove_file(dir.path().join("LOCK")).unwrap();
        let error = taken(dir.path()).unwrap_err();
        assert!(matches!(error, OpenError::Locked { .. }), "{error}");
        assert!(error.to_string().contains("removing LOCK does not help"), "{error}");
        drop(held);
        taken(dir.path()).unwrap();
    }

    #[test]
    fn a_holder_that_is_gone_is_waited_for_and_one_that_lives_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let held = taken(dir.path()).unwrap();
        assert!(taken(dir.path()).is_err(), "this process lives");
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        std::fs::write(dir.path().join("LOCK"), gone.id().to_string()).unwrap();
        let letting_go = std::thread::spawn(move || {
            (0..5).for_each(|_| pause());
            drop(held);
        });
        taken(dir.path()).unwrap();
        letting_go.join().unwrap();
    }

    #[test]
    fn who_was_killed_is_dying_and_who_lives_is_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(!is_dying(child.id()));
        child.kill().unwrap();
        let begun = Instant::now();
        while !is_dying(child.id()) {
            assert!(begun.elapsed() < Duration::from_secs(20), "it was killed");
        }
        child.wait().unwrap();
        assert!(!is_dying(std::process::id()));
    }
}
