//! Bytes to and from the artifact store: streamed, and verified by their digest on both ways.

use std::path::{Path, PathBuf};

use pliant_api::body::{ArtifactView, MAX_ARTIFACT_BYTES, Page, PageQuery};
use pliant_api::headers;
use pliant_api::problem::Problem;
use pliant_api::routes;
use pliant_types::Digest;
use pliant_types::codes::Code;
use reqwest::Method;
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::io::ReaderStream;

use crate::call::{Call, Repeat};
use crate::{Client, ClientError};

/// Bytes that are read, hashed and sent at once.
const PIECE_BYTES: usize = 256 * 1024;

/// Names a file in an error.
fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> ClientError {
    let path = path.to_owned();
    move |source| ClientError::File { path, source }
}

/// Digest and size of a file.
///
/// # Errors
/// `File` when it cannot be read; `Refused` with `too-large` when the store would not take it.
async fn measured(path: &Path) -> Result<(Digest, u64), ClientError> {
    // Asked before it is opened: opening a pipe waits for its writer, and a device has no end.
    let metadata = tokio::fs::metadata(path).await.map_err(file_error(path))?;
    if !metadata.is_file() {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file");
        return Err(file_error(path)(error));
    }
    let mut file = File::open(path).await.map_err(file_error(path))?;
    let size = metadata.len();
    if size > MAX_ARTIFACT_BYTES {
        let detail =
            format!("{} has {size} bytes, the limit is {MAX_ARTIFACT_BYTES}", path.display());
        let problem = Problem::new(Code::TooLarge).with_detail(detail);
        return Err(ClientError::Refused(Box::new(problem)));
    }
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = file.read(&mut piece).await.map_err(file_error(path))?;
        if read == 0 {
            return Ok((Digest::new(hash.finalize().into()), size));
        }
        hash.update(&piece[..read]);
    }
}

impl Client {
    /// Sends a file, unless the store has it already.
    ///
    /// # Errors
    /// Any [`ClientError`]; `Refused` with `artifact-invalid` when a component is expected and it is none.
    pub async fn upload(&self, path: &Path) -> Result<ArtifactView, ClientError> {
        let (digest, size) = measured(path).await?;
        if let Some(known) = self.known_artifact(&digest).await? {
            return Ok(known);
        }
        let file = File::open(path).await.map_err(file_error(path))?;
        let stream = ReaderStream::with_capacity(file.take(size), PIECE_BYTES);
        // Not repeated here: the bytes may have been read in part. The caller may, it costs nothing
        // when the store has them.
        let call = Call::new(Method::PUT, routes::artifact(&digest), Repeat::Never)
            .header(headers::DIGEST, &digest.to_string())
            .header("content-length", &size.to_string())
            .header("content-type", "application/octet-stream");
        let request = self.request(&call).body(reqwest::Body::wrap_stream(stream));
        let response = self.judged(request.send().await).await?;
        let body = response.bytes().await.map_err(|source| self.failed(source))?;
        serde_json::from_slice(&body)
            .map_err(|source| ClientError::Unreadable { path: call.path().to_owned(), source })
    }

    async fn known_artifact(&self, digest: &Digest) -> Result<Option<ArtifactView>, ClientError> {
        match self.artifact_view(digest).await {
            Ok(view) => Ok(Some(view)),
            Err(error) if error.code() == Code::ArtifactNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What an artifact is.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn artifact_view(&self, digest: &Digest) -> Result<ArtifactView, ClientError> {
        self.answer(&Call::get(routes::artifact_view(digest))).await
    }

    /// All artifacts.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn artifacts(&self, page: &PageQuery) -> Result<Page<ArtifactView>, ClientError> {
        self.answer(&Call::get(routes::ARTIFACTS).query(page)).await
    }

    /// Writes an artifact's bytes to `sink` and returns their number. They are good only if this succeeds:
    /// the digest is known at the end.
    ///
    /// # Errors
    /// Any [`ClientError`]; `WrongDigest` when other bytes came.
    pub async fn download(
        &self,
        digest: &Digest,
        sink: &mut (impl AsyncWrite + Unpin),
    ) -> Result<u64, ClientError> {
        let call = Call::get(routes::artifact(digest));
        let mut response = self.judged(self.request(&call).send().await).await?;
        let mut hash = Sha256::new();
        let mut size = 0u64;
        let silence = self.config.silence_timeout;
        loop {
            let piece = match tokio::time::timeout(silence, response.chunk()).await {
                Ok(piece) => piece.map_err(|source| self.failed(source))?,
                Err(_) => {
                    let path = call.path().to_owned();
                    return Err(ClientError::Silent { path, silent_secs: silence.as_secs() });
                }
            };
            let Some(piece) = piece else { break };
            size += piece.len() as u64;
            if size > MAX_ARTIFACT_BYTES {
                let detail = format!("the artifact has more than {MAX_ARTIFACT_BYTES} bytes");
                let problem = Problem::new(Code::TooLarge).with_detail(detail);
                return Err(ClientError::Refused(Box::new(problem)));
            }
            hash.update(&piece);
            sink.write_all(&piece).await.map_err(file_error(Path::new("download")))?;
        }
        sink.flush().await.map_err(file_error(Path::new("download")))?;
        let found = Digest::new(hash.finalize().into());
        if found == *digest {
            Ok(size)
        } else {
            Err(ClientError::WrongDigest { expected: *digest, found })
        }
    }

    /// Puts an artifact at a path: there is either the whole verified file or none.
    ///
    /// # Errors
    /// Any [`ClientError`].
    pub async fn fetch(&self, digest: &Digest, path: &Path) -> Result<u64, ClientError> {
        let part = beside(path);
        let outcome = self.fetch_through(digest, &part, path).await;
        if outcome.is_err() {
            // What is left of a failed fetch is of no use; that it cannot be removed is not the failure.
            let _ = tokio::fs::remove_file(&part).await;
        }
        outcome
    }

    async fn fetch_through(
        &self,
        digest: &Digest,
        part: &Path,
        path: &Path,
    ) -> Result<u64, ClientError> {
        let mut file = File::create_new(part).await.map_err(file_error(part))?;
        let size = self.download(digest, &mut file).await?;
        file.sync_all().await.map_err(file_error(part))?;
        drop(file);
        tokio::fs::rename(part, path).await.map_err(file_error(path))?;
        Ok(size)
    }
}

/// A name in the same folder that nobody else uses.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.part", rand::random::<u64>()));
    path.with_file_name(name)
}
