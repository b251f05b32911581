//! Compiled code on disk, by artifact digest and engine. Nothing is believed without its tag.

use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pliant_types::Digest;
use wasmtime::Engine;

use super::key::Key;
use crate::limits;

/// Version of the engine crate; part of every label.
pub(crate) const ENGINE_VERSION: &str = "48.0.8";

#[derive(Debug)]
pub(super) struct CodeCache {
    dir: PathBuf,
    key: Key,
    engine: String,
}

impl CodeCache {
    pub(super) fn open(dir: &Path, engine: &Engine) -> Result<Self, (PathBuf, io::Error)> {
        let key = Key::open(dir)?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let engine = format!("{ENGINE_VERSION}-{:016x}", hasher.finish());
        Ok(Self { dir: dir.to_owned(), key, engine })
    }

    /// The file with authentic code of this artifact. What is there but not authentic is removed.
    pub(super) fn find(&self, digest: Digest) -> Option<PathBuf> {
        let (code_path, tag_path) = self.paths(digest);
        let code = fs::read(&code_path).ok()?;
        let authentic =
            fs::read(&tag_path).is_ok_and(|tag| self.key.verify(&self.label(digest), &code, &tag));
        if authentic {
            return Some(code_path);
        }
        tracing::warn!(%digest, "compiled code in the cache is not authentic: it is made again");
        self.forget(digest);
        None
    }

    /// Keeps code. The tag is written last; a code file without one is not believed.
    pub(super) fn keep(&self, digest: Digest, code: &[u8]) -> io::Result<PathBuf> {
        self.make_room(code.len() as u64)?;
        let (code_path, tag_path) = self.paths(digest);
        write_whole(&code_path, code)?;
        write_whole(&tag_path, &self.key.tag(&self.label(digest), code))?;
        Ok(code_path)
    }

    pub(super) fn forget(&self, digest: Digest) {
        let (code_path, tag_path) = self.paths(digest);
        for path in [tag_path, code_path] {
            // What is not there need not be removed; what stays is not believed.
            let _removed = fs::remove_file(path);
        }
    }

    fn label(&self, digest: Digest) -> String {
        format!("{} {digest}", self.engine)
    }

    fn paths(&self, digest: Digest) -> (PathBuf, PathBuf) {
        let digest = digest.to_string();
        let hex = digest.trim_start_matches("sha256:");
        let name = format!("{hex}-{}", self.engine);
        (self.dir.join(format!("{name}.code")), self.dir.join(format!("{name}.tag")))
    }

    /// Removes the oldest code until `more` bytes fit. Mapped code stays usable when its file goes.
    fn make_room(&self, more: u64) -> io::Result<()> {
        let mut kept: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "code") {
                let metadata = entry.metadata()?;
                kept.push((metadata.modified()?, path, metadata.len()));
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, _, length)| length).sum();
        for (_, path, length) in kept {
            if total.saturating_add(more) <= limits::CACHE_BYTES {
                break;
            }
            fs::remove_file(&path)?;
            let _tag_gone = fs::remove_file(path.with_extension("tag"));
            total -= length;
        }
        Ok(())
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension(format!("new-{:08x}", rand::random::<u32>()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        let _removed = fs::remove_file(&fresh);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::compile_engine;

    fn cache(dir: &Path) -> CodeCache {
        CodeCache::open(dir, &compile_engine().unwrap()).unwrap()
    }

    #[test]
    fn believes_only_what_this_host_made_for_this_artifact() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (Digest::new([1; 32]), Digest::new([2; 32]));
        let path = cache(dir.path()).keep(one, b"code of one").unwrap();
        assert_eq!(cache(dir.path()).find(one), Some(path.clone()), "the key is kept");
        assert_eq!(cache(dir.path()).find(other), None);

        let (other_code, other_tag) = cache(dir.path()).paths(other);
        fs::copy(&path, &other_code).unwrap();
        fs::copy(path.with_extension("tag"), other_tag).unwrap();
        assert_eq!(cache(dir.path()).find(other), None, "a tag is for one artifact");
        assert!(!other_code.exists(), "what is not believed does not stay");

        let mut code = fs::read(&path).unwrap();
        code[3] ^= 1;
        fs::write(&path, code).unwrap();
        assert_eq!(cache(dir.path()).find(one), None, "a flipped bit");
    }

    #[test]
    fn another_hosts_key_is_worth_nothing() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let digest = Digest::new([1; 32]);
        let path = cache(there.path()).keep(digest, b"code").unwrap();
        let mine = cache(here.path());
        let (code_path, tag_path) = mine.paths(digest);
        fs::copy(&path, code_path).unwrap();
        fs::copy(path.with_extension("tag"), tag_path).unwrap();
        assert_eq!(mine.find(digest), None);
    }
}
