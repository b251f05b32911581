//! What is known of an artifact beside its bytes; found out once, when it is stored.

use pliant_api::body::{ArtifactKind, ArtifactView, Timestamp};
use pliant_inspect::inspect;
use pliant_types::{Digest, Time, codes::Code};
use serde::{Deserialize, Serialize};

/// What the bytes are, and whether a host can run them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactMeta {
    /// Their number.
    pub size_bytes: u64,
    /// When they were stored.
    pub created_at: Time,
    /// What they are.
    pub kind: ArtifactKind,
    /// Imports of a component or module.
    pub imports: Vec<String>,
    /// Exports of a component or module.
    pub exports: Vec<String>,
    /// Why no host can run them.
    pub verdict: Verdict,
}

/// Whether a host can run an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// It can be started.
    Runs,
    /// It cannot: the code and every reason.
    Refused {
        /// `artifact-invalid` or `import-not-offered`.
        code: Code,
        /// One sentence each.
        reasons: Vec<String>,
    },
}

const WASM_MAGIC: &[u8] = b"\0asm";
/// Where a tar archive says that it is one.
const TAR_MAGIC_AT: usize = 257;

impl ArtifactMeta {
    /// Looks at the bytes.
    #[must_use]
    pub fn of(bytes: &[u8], size_bytes: u64, created_at: Time) -> Self {
        let plain = |kind, verdict| Self {
            size_bytes,
            created_at,
            kind,
            imports: Vec::new(),
            exports: Vec::new(),
            verdict,
        };
        let refused = |code, reasons| Verdict::Refused { code, reasons };
        if !bytes.starts_with(WASM_MAGIC) {
            let tar = bytes.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar"));
            let kind = if tar { ArtifactKind::Archive } else { ArtifactKind::Other };
            let reason = "it is not a wasm file: it does not begin with \\0asm".to_owned();
            return plain(kind, refused(Code::ArtifactInvalid, vec![reason]));
        }
        let kind = match bytes.get(4..8) {
            Some([1, 0, 0, 0]) => ArtifactKind::Module,
            _ => ArtifactKind::Component,
        };
        match inspect(bytes) {
            Err(error) => plain(kind, refused(Code::ArtifactInvalid, vec![error.to_string()])),
            Ok(found) => Self {
                imports: found.imports,
                exports: found.exports,
                verdict: if found.problems.is_empty() {
                    Verdict::Runs
                } else {
                    let import = found.problems.iter().any(|p| p.code() == "import-unknown");
                    let code = if import { Code::ImportNotOffered } else { Code::ArtifactInvalid };
                    refused(code, found.problems.iter().map(ToString::to_string).collect())
                },
                ..plain(kind, Verdict::Runs)
            },
        }
    }

    /// The artifact as answers show it.
    #[must_use]
    pub fn view(&self, digest: Digest, in_use: bool) -> ArtifactView {
        ArtifactView {
            digest,
            size_bytes: self.size_bytes,
            kind: self.kind,
            imports: self.imports.clone(),
            exports: self.exports.clone(),
            created_at: Timestamp(self.created_at),
            in_use,
        }
    }
}
