//! The lock file: an advisory lock that the kernel drops with the process, and the holder's process
//! id inside, so that the second opener can be told whom to stop.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::Path,
};

use super::io::doing;
use crate::OpenError;

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub(crate) struct LockFile {
    file: File,
}

impl LockFile {
    /// Takes the lock or says who has it. Touches nothing else.
    pub(crate) fn acquire(path: &Path) -> Result<Self, OpenError> {
        let what = || format!("locking {}", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(doing(what()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked {
                    path: path.display().to_string(),
                    holder: holder(&mut file),
                });
            }
            Err(TryLockError::Error(error)) => return Err(doing(what())(error).into()),
        }
        let mut sign = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        sign().map_err(doing(what()))?;
        Ok(Self { file })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread is just starting has a copy of the
        // descriptor until it runs its program. If this fails, the kernel does it a moment later.
        let _ = self.file.unlock();
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok());
    match pid {
        Some(pid) if pid == std::process::id() => format!("this process ({pid})"),
        Some(pid) => format!("process {pid}"),
        None => "a process that did not say its id".to_owned(),
    }
}
