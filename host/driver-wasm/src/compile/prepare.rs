//! The verb `prepare`: verify, inspect, compile, load, with the work shared by concurrent calls.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pliant_driver::{Artifact, DriverError, Phase, Prepared, Progress};
use pliant_inspect::ArtifactKind;
use pliant_types::Digest;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Linker;

use super::cache::CodeCache;
use super::failed::{Failed, Lasting};
use super::load::Program;
use super::process::{CompileFailure, CompilerCommand, compile};
use crate::guest::GuestState;
use crate::limits;

pub(crate) struct Preparer {
    engine: Engine,
    linker: Linker<GuestState>,
    cache: CodeCache,
    compiler: CompilerCommand,
    loaded: Mutex<Loaded>,
    failed: Mutex<Failed>,
    gates: Mutex<HashMap<Digest, Arc<tokio::sync::Mutex<()>>>>,
    compiles: Semaphore,
}

#[derive(Default)]
struct Loaded {
    programs: HashMap<Digest, (Arc<Program>, ArtifactKind, u64)>,
    uses: u64,
}

/// An artifact that passed every check.
struct Checked {
    kind: ArtifactKind,
    component: Vec<u8>,
    memory_bytes: u64,
}

impl Preparer {
    pub(crate) fn new(
        engine: Engine,
        linker: Linker<GuestState>,
        cache_dir: &Path,
        compiler: CompilerCommand,
    ) -> Result<Self, DriverError> {
        let cache = CodeCache::open(cache_dir, &engine).map_err(|(path, source)| {
            DriverError::Io { action: "open the code cache at", path, source }
        })?;
        Ok(Self {
            engine,
            linker,
            cache,
            compiler,
            loaded: Mutex::default(),
            failed: Mutex::default(),
            gates: Mutex::default(),
            compiles: Semaphore::new(limits::COMPILES_AT_ONCE),
        })
    }

    /// The program of a prepared artifact.
    pub(crate) fn get(&self, digest: Digest) -> Option<Arc<Program>> {
        let mut loaded = lock(&self.loaded);
        loaded.uses += 1;
        let now = loaded.uses;
        let (program, _, used) = loaded.programs.get_mut(&digest)?;
        *used = now;
        Some(program.clone())
    }

    pub(crate) async fn prepare(
        self: &Arc<Self>,
        artifact: &Artifact,
        progress: &dyn Progress,
    ) -> Result<Prepared, DriverError> {
        let digest = artifact.digest;
        let gate = lock(&self.gates).entry(digest).or_default().clone();
        let outcome = {
            let _turn = gate.lock().await;
            self.prepare_alone(artifact, progress).await
        };
        drop(gate);
        lock(&self.gates).retain(|_, gate| Arc::strong_count(gate) > 1);
        outcome
    }

    async fn prepare_alone(
        self: &Arc<Self>,
        artifact: &Artifact,
        progress: &dyn Progress,
    ) -> Result<Prepared, DriverError> {
        let digest = artifact.digest;
        progress.phase(Phase::Verifying);
        if let Some((_, kind, _)) = lock(&self.loaded).programs.get(&digest) {
            return Ok(Prepared { digest, kind: kind.to_string(), compiled: false });
        }
        if let Some(why) = lock(&self.failed).get(digest) {
            return Err(why.error(digest));
        }
        let bytes = self.blocking({
            let artifact = artifact.clone();
            move |_| read_verified(&artifact)
        });
        let bytes = bytes.await?;
        progress.phase(Phase::Inspecting);
        let checked = self.blocking(move |this| {
            check(&bytes).map_err(|problems| this.fail(digest, Lasting::Invalid(problems)))
        });
        let Checked { kind, component, memory_bytes } = checked.await?;
        let cached = self.blocking(move |this| Ok(this.cache.find(digest))).await?;
        let compiled = cached.is_none();
        let code_path = match cached {
            Some(path) => path,
            None => {
                progress.phase(Phase::Compiling);
                self.compile(digest, &component).await?
            }
        };
        progress.phase(Phase::Loading);
        let program = self.blocking(move |this| {
            Program::load(&this.engine, &this.linker, &code_path, memory_bytes).map_err(|error| {
                this.fail(digest, Lasting::Invalid(vec![format!("it cannot be linked: {error:#}")]))
            })
        });
        let program = program.await?;
        self.remember(digest, program, kind);
        Ok(Prepared { digest, kind: kind.to_string(), compiled })
    }

    async fn compile(
        self: &Arc<Self>,
        digest: Digest,
        component: &[u8],
    ) -> Result<std::path::PathBuf, DriverError> {
        let permit = self.compiles.acquire().await.expect("the semaphore is never closed");
        let code = match compile(&self.compiler, component).await {
            Ok(code) => code,
            Err(CompileFailure::Refused(reason)) => {
                return Err(self.fail(digest, Lasting::DoesNotCompile(reason)));
            }
            Err(CompileFailure::Host(message)) => {
                return Err(DriverError::Engine { action: "compile", message });
            }
        };
        drop(permit);
        self.blocking(move |this| {
            this.cache.keep(digest, &code).map_err(|source| DriverError::Io {
                action: "keep compiled code of",
                path: digest.to_string().into(),
                source,
            })
        })
        .await
    }

    fn fail(&self, digest: Digest, why: Lasting) -> DriverError {
        lock(&self.failed).remember(digest, why.clone());
        why.error(digest)
    }

    /// Keeps the program; over the limit the one goes that was not used for longest and runs
    /// nowhere.
    fn remember(&self, digest: Digest, program: Program, kind: ArtifactKind) {
        let mut loaded = lock(&self.loaded);
        loaded.uses += 1;
        let now = loaded.uses;
        loaded.programs.insert(digest, (Arc::new(program), kind, now));
        if loaded.programs.len() > limits::LOADED_ARTIFACTS {
            let idle = loaded
                .programs
                .iter()
                .filter(|(_, (program, _, _))| Arc::strong_count(program) == 1);
            let oldest = idle.min_by_key(|(_, (_, _, used))| *used).map(|(digest, _)| *digest);
            if let Some(oldest) = oldest.filter(|oldest| *oldest != digest) {
                loaded.programs.remove(&oldest);
            }
        }
    }

    /// Runs work that computes or reads files away from the threads that serve others.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, DriverError> {
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&this)).await;
        done.unwrap_or_else(|error| {
            Err(DriverError::Engine { action: "prepare", message: error.to_string() })
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads no more than the limit, whatever the file's size is or becomes.
fn read_verified(artifact: &Artifact) -> Result<Vec<u8>, DriverError> {
    let failed = |source| DriverError::Io {
        action: "read the artifact at",
        path: artifact.path.clone(),
        source,
    };
    let limit_bytes = pliant_inspect::limits::ARTIFACT_BYTES;
    let file = File::open(&artifact.path).map_err(failed)?;
    let actual_bytes = file.metadata().map_err(failed)?.len();
    if actual_bytes > limit_bytes {
        return Err(DriverError::ArtifactTooLarge { actual_bytes, limit_bytes });
    }
    let mut bytes = Vec::new();
    file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    let actual = Digest::new(Sha256::digest(&bytes).into());
    if actual != artifact.digest {
        return Err(DriverError::DigestMismatch { expected: artifact.digest, actual });
    }
    Ok(bytes)
}

fn check(bytes: &[u8]) -> Result<Checked, Vec<String>> {
    let inspection = pliant_inspect::inspect(bytes).map_err(|error| vec![error.to_string()])?;
    if !inspection.problems.is_empty() {
        return Err(inspection.problems.iter().map(ToString::to_string).collect());
    }
    let kind = inspection.kind.ok_or_else(|| vec!["nothing in it can be started".to_owned()])?;
    let component = pliant_inspect::as_component(kind, bytes)
        .map_err(|error| vec![error.to_string()])?
        .into_owned();
    Ok(Checked { kind, component, memory_bytes: inspection.memory_bytes })
}
