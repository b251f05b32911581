//! Artifacts on this host by digest: whole verified files, bounded in number and bytes. What no
//! execution uses goes first, the least recently used before the others.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use pliant_client::{Client, ClientError};
use pliant_types::Digest;

use super::{AgentError, Config, places::remove_file};

/// Files named by digest.
#[derive(Debug)]
pub(super) struct Cache {
    dir: PathBuf,
    most_bytes: u64,
    most_files: usize,
    files: Mutex<BTreeMap<Digest, Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// Zero while it is not there yet.
    bytes: u64,
    used: SystemTime,
    users: usize,
    /// One fetch at a time.
    gate: Arc<tokio::sync::Mutex<()>>,
}

/// A file that stays in the cache while this lives.
#[derive(Debug)]
pub(super) struct Pin {
    cache: Arc<Cache>,
    digest: Digest,
}

impl Drop for Pin {
    fn drop(&mut self) {
        if let Some(entry) = self.cache.files().get_mut(&self.digest) {
            entry.users -= 1;
        }
        self.cache.evict();
    }
}

impl Cache {
    /// Opens the directory; halves of broken fetches go.
    pub(super) fn open(config: &Config) -> Result<Self, AgentError> {
        let dir = config.data_dir.join("cache");
        let files = fs::create_dir_all(&dir).and_then(|()| found(&dir));
        let files =
            files.map_err(|source| AgentError::Directory { path: dir.clone(), source })?;
        let cache = Self {
            dir,
            most_bytes: config.limits.cache_bytes,
            most_files: config.limits.cache_files,
            files: Mutex::new(files),
        };
        cache.evict();
        Ok(cache)
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<Digest, Entry>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.dir.join(name(digest))
    }

    /// Keeps a digest from now on, whether it is there or not.
    pub(super) fn pin(self: &Arc<Self>, digest: Digest) -> Pin {
        let mut files = self.files();
        let entry = files.entry(digest).or_insert_with(|| Entry {
            bytes: 0,
            used: SystemTime::now(),
            users: 0,
            gate: Arc::default(),
        });
        entry.users += 1;
        entry.used = SystemTime::now();
        Pin { cache: Arc::clone(self), digest }
    }

    /// Lets go of what is over the bounds and not in use.
    fn evict(&self) {
        let mut files = self.files();
        files.retain(|_, entry| entry.users > 0 || entry.bytes > 0);
        loop {
            let bytes: u64 = files.values().map(|entry| entry.bytes).sum();
            if bytes <= self.most_bytes && files.len() <= self.most_files {
                return;
            }
            let unused = files.iter().filter(|(_, entry)| entry.users == 0);
            let oldest = unused.min_by_key(|(_, entry)| entry.used).map(|(digest, _)| *digest);
            let Some(oldest) = oldest else { return };
            files.remove(&oldest);
            if let Err(error) = remove_file(&self.path(&oldest)) {
                tracing::warn!(digest = %oldest, %error, "a cached artifact cannot be removed");
            }
        }
    }
}

impl Pin {
    /// The file; fetched if it is not there.
    pub(super) async fn file(&self, client: &Client) -> Result<PathBuf, ClientError> {
        let path = self.cache.path(&self.digest);
        let gate = self.cache.files().get(&self.digest).map(|entry| Arc::clone(&entry.gate));
        let gate = gate.expect("a pinned entry stays");
        let _turn = gate.lock().await;
        let is_there = self.cache.files().get(&self.digest).is_some_and(|entry| entry.bytes > 0);
        if !is_there {
            let bytes = client.fetch(&self.digest, &path).await?;
            if let Some(entry) = self.cache.files().get_mut(&self.digest) {
                entry.bytes = bytes.max(1);
            }
            self.cache.evict();
        }
        touch(&path);
        Ok(path)
    }

    /// The file is not what it should be: fetch it anew next time.
    pub(super) fn spoiled(&self) {
        if let Some(entry) = self.cache.files().get_mut(&self.digest) {
            entry.bytes = 0;
        }
        if let Err(error) = remove_file(&self.cache.path(&self.digest)) {
            tracing::warn!(digest = %self.digest, %error, "a spoiled artifact cannot be removed");
        }
    }
}

/// Notes on disk when a file was used, so that the order survives a restart. Only an order: that
/// it cannot be noted is no failure.
fn touch(path: &Path) {
    let noted = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
    if let Err(error) = noted {
        tracing::debug!(path = %path.display(), %error, "the use of an artifact is not noted");
    }
}

fn name(digest: &Digest) -> String {
    digest.to_string().replace(':', "-")
}

fn digest_of(name: &str) -> Option<Digest> {
    name.replacen('-', ":", 1).parse().ok()
}

fn found(dir: &Path) -> io::Result<BTreeMap<Digest, Entry>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let name = file_name.to_string_lossy();
        if name.ends_with(".part") {
            fs::remove_file(entry.path())?;
            continue;
        }
        let Some(digest) = digest_of(&name) else { continue };
        let metadata = entry.metadata()?;
        let used = metadata.modified()?;
        let bytes = metadata.len().max(1);
        files.insert(digest, Entry { bytes, used, users: 0, gate: Arc::default() });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pliant_types::HostName;

    fn cache(dir: &Path, most_files: usize) -> Arc<Cache> {
        let name: HostName = "one".parse().unwrap();
        let mut config = Config::new(dir.to_owned(), String::new(), String::new(), name);
        config.limits.cache_files = most_files;
        Arc::new(Cache::open(&config).unwrap())
    }

    fn put(dir: &Path, byte: u8, age_secs: u64) -> Digest {
        let digest = Digest::new([byte; 32]);
        let path = dir.join("cache").join(name(&digest));
        fs::create_dir_all(dir.join("cache")).unwrap();
        fs::write(&path, [byte]).unwrap();
        let used = SystemTime::now() - std::time::Duration::from_secs(age_secs);
        File::open(&path).unwrap().set_modified(used).unwrap();
        digest
    }

    #[test]
    fn the_least_recently_used_goes_first_and_what_is_in_use_stays() {
        let dir = tempfile::tempdir().unwrap();
        let old = put(dir.path(), 1, 300);
        let middle = put(dir.path(), 2, 200);
        let new = put(dir.path(), 3, 100);
        fs::write(dir.path().join("cache/half.part"), "x").unwrap();
        let cache = cache(dir.path(), 3);
        let pin = cache.pin(old);
        let other = cache.pin(Digest::new([9; 32]));
        cache.evict();
        let there = |digest: &Digest| cache.path(digest).exists();
        assert!(there(&old) && !there(&middle) && there(&new));
        assert!(!dir.path().join("cache/half.part").exists());
        drop((pin, other));
        assert!(cache.files().values().all(|entry| entry.users == 0));
    }
}
