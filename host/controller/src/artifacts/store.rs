//! The content-addressed store: `objects/<hex>` with `objects/<hex>.json` beside it.
//!
//! Bytes are streamed to a temporary file, hashed on the way, synced and renamed; a digest that
//! does not match leaves nothing behind.

use super::meta::ArtifactMeta;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use pliant_types::{Digest, Time};
use sha2::{Digest as _, Sha256};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::io::AsyncWriteExt;

/// Largest archive of results or other artifact that is stored.
pub const MAX_ARCHIVE_BYTES: u64 = 256 << 20;

/// Where artifacts are; cheap to clone.
#[derive(Clone, Debug)]
pub struct ArtifactStore {
    dir: Arc<Path>,
}

/// Why bytes were not stored or found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The bytes have another digest.
    #[error("the bytes have the digest {found}, but {expected} was named")]
    Mismatch {
        /// What was named.
        expected: Digest,
        /// What they have.
        found: Digest,
    },
    /// They are too many.
    #[error("more than {limit} bytes were sent; that is the limit for an artifact")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The sender broke off.
    #[error("the bytes did not arrive whole: {0}")]
    Interrupted(String),
    /// The disk is full.
    #[error("no space is left for artifacts")]
    NoSpace,
    /// The disk failed.
    #[error("the artifact store failed")]
    Io(#[source] io::Error),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace,
            _ => Self::Io(error),
        }
    }
}

impl ArtifactStore {
    /// Opens the store and removes what an interrupted upload left.
    ///
    /// # Errors
    /// The directory cannot be made or read.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let incoming = dir.join("incoming");
        match std::fs::remove_dir_all(&incoming) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::fs::create_dir_all(dir.join("objects"))?;
        std::fs::create_dir_all(incoming)?;
        Ok(Self { dir: dir.into() })
    }

    /// Where an artifact's bytes are, if the store has them.
    #[must_use]
    pub fn path(&self, digest: Digest) -> Option<PathBuf> {
        Some(self.object(digest)).filter(|path| path.is_file())
    }

    /// What is known of an artifact.
    ///
    /// # Errors
    /// The disk failed.
    pub fn meta(&self, digest: Digest) -> Result<Option<ArtifactMeta>, StoreError> {
        if self.path(digest).is_none() {
            return Ok(None);
        }
        match std::fs::read(self.object(digest).with_extension("json")) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(meta) => Ok(Some(meta)),
                Err(_) => self.inspect_again(digest).map(Some),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.inspect_again(digest).map(Some)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Every artifact, in the order of their digests.
    ///
    /// # Errors
    /// The disk failed.
    pub fn list(&self) -> Result<Vec<(Digest, ArtifactMeta)>, StoreError> {
        let mut digests: Vec<Digest> = std::fs::read_dir(self.dir.join("objects"))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| format!("sha256:{name}").parse().ok())
            .collect();
        digests.sort();
        let mut list = Vec::new();
        for digest in digests {
            if let Some(meta) = self.meta(digest)? {
                list.push((digest, meta));
            }
        }
        Ok(list)
    }

    /// Stores a stream; `expected` is compared with what arrives. Storing what is there already
    /// only verifies it.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is left behind.
    pub async fn put<E: std::fmt::Display>(
        &self,
        expected: Option<Digest>,
        limit: u64,
        mut bytes: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<(Digest, ArtifactMeta), StoreError> {
        let file = tempfile::NamedTempFile::new_in(self.dir.join("incoming"))?;
        let mut sink = tokio::fs::File::from_std(file.reopen()?);
        let mut hash = Sha256::new();
        let mut size: u64 = 0;
        while let Some(piece) = bytes.next().await {
            let piece = piece.map_err(|error| StoreError::Interrupted(error.to_string()))?;
            size += piece.len() as u64;
            if size > limit {
                return Err(StoreError::TooLarge { limit });
            }
            hash.update(&piece);
            sink.write_all(&piece).await?;
        }
        sink.flush().await?;
        sink.sync_all().await?;
        let found = Digest::new(hash.finalize().into());
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            return Err(StoreError::Mismatch { expected, found });
        }
        let store = self.clone();
        let kept = tokio::task::spawn_blocking(move || store.keep(file, found))
            .await
            .map_err(|error| StoreError::Io(io::Error::other(error)))??;
        Ok((found, kept))
    }

    /// Forgets an artifact; one that is not there is forgotten already.
    ///
    /// # Errors
    /// The disk failed.
    pub fn remove(&self, digest: Digest) -> Result<(), StoreError> {
        let path = self.object(digest);
        // The bytes last: what is found again without them is made anew from nothing.
        for path in [path.with_extension("json"), path] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    fn keep(
        &self,
        file: tempfile::NamedTempFile,
        digest: Digest,
    ) -> Result<ArtifactMeta, StoreError> {
        let path = self.object(digest);
        let meta = look_at(file.path())?;
        let json = serde_json::to_vec(&meta).map_err(|e| StoreError::Io(io::Error::other(e)))?;
        let mut beside = tempfile::NamedTempFile::new_in(self.dir.join("incoming"))?;
        io::Write::write_all(&mut beside, &json)?;
        beside.as_file().sync_all()?;
        beside.persist(path.with_extension("json")).map_err(|e| e.error)?;
        file.persist(&path).map_err(|e| e.error)?;
        std::fs::File::open(self.dir.join("objects"))?.sync_all()?;
        Ok(meta)
    }

    /// An older release did not write it, or a crash came between: the bytes tell it again.
    fn inspect_again(&self, digest: Digest) -> Result<ArtifactMeta, StoreError> {
        let path = self.object(digest);
        let meta = look_at(&path)?;
        let json = serde_json::to_vec(&meta).map_err(|e| StoreError::Io(io::Error::other(e)))?;
        let mut beside = tempfile::NamedTempFile::new_in(self.dir.join("incoming"))?;
        io::Write::write_all(&mut beside, &json)?;
        beside.persist(path.with_extension("json")).map_err(|e| e.error)?;
        Ok(meta)
    }

    fn object(&self, digest: Digest) -> PathBuf {
        let text = digest.to_string();
        self.dir.join("objects").join(text.trim_start_matches("sha256:"))
    }
}

/// A component is read whole, since its bytes are inspected; of anything else only the beginning.
fn look_at(path: &Path) -> Result<ArtifactMeta, StoreError> {
    use io::Read;
    let mut file = std::fs::File::open(path)?;
    let size = file.metadata()?.len();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(0));
    let mut bytes = Vec::new();
    // One byte more than the inspector takes, so that it says "too large" by itself.
    let whole = pliant_inspect::limits::ARTIFACT_BYTES + 1;
    (&mut file).take(whole).read_to_end(&mut bytes)?;
    Ok(ArtifactMeta::of(&bytes, size, Time::from_millis(now)))
}
