//! The engine of a job: Wasm or container, and where its artifact comes from.

use super::{words, written};
use crate::{
    digest::Digest,
    duration::Millis,
    text::{InvalidText, serde_as_text},
};
use alloc::{string::String, vec::Vec};
use core::{fmt, str::FromStr};
use serde::{Deserialize, Serialize};

/// Exactly one engine: `wasm: {…}` or `container: {…}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// A component or an adapted core module.
    Wasm(Wasm),
    /// An OCI image.
    Container(Container),
}

impl Engine {
    /// The engine's word, as hosts name what they offer.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Wasm(_) => "wasm",
            Self::Container(_) => "container",
        }
    }
}

written! {
    /// A component and its arguments.
    pub struct Wasm {
        /// Where the bytes come from.
        component: Source,
        /// Arguments after the program's name.
        args: Vec<String>,
        /// Whether an HTTP instance serves more than one request.
        reuse: Reuse,
        /// Whether the namespace has a process of its own.
        isolation: Isolation,
    }
}

written! {
    /// Bounds of the reuse of an HTTP instance.
    pub struct Reuse {
        /// Requests that one instance serves; 1 is a fresh instance a request.
        max_requests: u32,
        /// How long an instance waits for its next request.
        max_idle: Millis,
    }
}

words! {
    /// Which process the instances live in.
    pub enum Isolation {
        /// The agent's own.
        Shared = "shared",
        /// One of the namespace's own.
        Process = "process",
    }
}

written! {
    /// An image and how it is started.
    pub struct Container {
        /// The image's reference.
        image: String,
        /// Replaces the image's entry point.
        command: Vec<String>,
        /// Replaces the image's arguments.
        args: Vec<String>,
        /// User or uid:gid inside.
        user: String,
    }
}

/// Where a component comes from: `oci://`, `https://`, `file://` (uploaded by the CLI), `sha256:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Bytes that the artifact store has, by digest.
    Digest(Digest),
    /// A file of the CLI's machine; never reaches a controller.
    File(String),
    /// A download.
    Https(String),
    /// A registry, `HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`.
    Oci(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digest(digest) => digest.fmt(f),
            Self::File(path) => write!(f, "file://{path}"),
            Self::Https(rest) => write!(f, "https://{rest}"),
            Self::Oci(rest) => write!(f, "oci://{rest}"),
        }
    }
}

impl FromStr for Source {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let rest = |prefix| {
            text.strip_prefix(prefix)
                .filter(|r: &&str| !r.is_empty() && !r.contains(char::is_control))
        };
        if text.starts_with("sha256:") {
            return text.parse().map(Self::Digest);
        }
        if let Some(path) = rest("file://") {
            return Ok(Self::File(path.into()));
        }
        if let Some(url) = rest("https://") {
            return Ok(Self::Https(url.into()));
        }
        if let Some(reference) = rest("oci://") {
            return Ok(Self::Oci(reference.into()));
        }
        Err(InvalidText::new(format_args!(
            "expected oci://, https://, file:// or sha256:, saw {text:?}"
        )))
    }
}

serde_as_text!(Source);
