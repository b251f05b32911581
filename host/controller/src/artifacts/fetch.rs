//! Downloads of artifacts: `https://` and `oci://`, with the checked address as the one connected to.

use super::{
    gate::Gate,
    meta::ArtifactMeta,
    store::{ArtifactStore, MAX_ARCHIVE_BYTES, StoreError},
};
use crate::config::FetchRules;
use futures::StreamExt;
use oci_client::{
    Client, Reference,
    client::{ClientConfig, ClientProtocol},
    errors::OciDistributionError,
    manifest::OciManifest,
    secrets::RegistryAuth,
};
use pliant_types::Digest;
use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

/// Redirects that are followed; each is checked again.
const MAX_REDIRECTS: usize = 5;
/// From connecting to the first byte of an answer.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// A whole download.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(300);
/// Media types that hold a component or module (12-dependencies.md).
const WASM_LAYERS: [&str; 2] = ["application/wasm", "application/vnd.wasm.content.layer.v1+wasm"];

/// What a private address is to each kind of download.
const HTTPS_WAY: &str = "downloads may not reach";
pub(super) const OCI_WAY: &str =
    "is asked only when `--plain-registry HOST:PORT` of `pliant up` names the registry";

/// Why a source could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address is in a range that downloads may not reach.
    #[error("{host} leads to {address}, a private or local address that {way}")]
    Refused {
        /// The name.
        host: String,
        /// What it resolves to.
        address: IpAddr,
        /// Who may not reach it, and what would allow it.
        way: &'static str,
    },
    /// Nothing answers, or it answers with a refusal.
    #[error("{url}: {why}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// In words.
        why: String,
    },
    /// The artifact of a registry holds no single component.
    #[error("{0} is not one component: {1}")]
    NotOne(String, String),
    /// It could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Fetches into a store.
#[derive(Clone, Debug)]
pub struct Fetcher {
    store: ArtifactStore,
    rules: FetchRules,
}

impl Fetcher {
    /// A fetcher with its rules.
    #[must_use]
    pub const fn new(store: ArtifactStore, rules: FetchRules) -> Self {
        Self { store, rules }
    }

    /// Downloads `https://REST`.
    ///
    /// # Errors
    /// [`FetchError`]
    pub async fn https(&self, rest: &str) -> Result<(Digest, ArtifactMeta), FetchError> {
        let mut url = format!("https://{rest}");
        for _ in 0..=MAX_REDIRECTS {
            let unreachable = |why: String| FetchError::Unreachable { url: url.clone(), why };
            let parsed = reqwest::Url::parse(&url).map_err(|e| unreachable(e.to_string()))?;
            if parsed.scheme() != "https" {
                return Err(unreachable("it leads away from https".into()));
            }
            let host = parsed.host_str().unwrap_or_default().to_owned();
            let port = parsed.port_or_known_default().unwrap_or(443);
            let address = resolve(&host, port, HTTPS_WAY).await?;
            let client = reqwest::Client::builder()
                .resolve(&host, address)
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(CONNECT_LIMIT)
                .timeout(DOWNLOAD_LIMIT)
                .build()
                .map_err(|e| unreachable(e.to_string()))?;
            let answer =
                client.get(parsed.clone()).send().await.map_err(|e| unreachable(chain(&e)))?;
            if answer.status().is_redirection() {
                let next =
                    answer.headers().get(http::header::LOCATION).and_then(|l| l.to_str().ok());
                let next = next.and_then(|l| parsed.join(l).ok());
                url = next.ok_or_else(|| unreachable("a redirect to nowhere".into()))?.to_string();
                continue;
            }
            if !answer.status().is_success() {
                return Err(unreachable(format!("it answers {}", answer.status())));
            }
            return Ok(self.store.put(None, MAX_ARCHIVE_BYTES, answer.bytes_stream()).await?);
        }
        Err(FetchError::Unreachable { url, why: format!("more than {MAX_REDIRECTS} redirects") })
    }

    /// Pulls `oci://REFERENCE`.
    ///
    /// # Errors
    /// [`FetchError`]
    pub async fn oci(&self, reference: &str) -> Result<(Digest, ArtifactMeta), FetchError> {
        let url = format!("oci://{reference}");
        let unreachable = |why: String| FetchError::Unreachable { url: url.clone(), why };
        let image: Reference = reference.parse().map_err(|e| unreachable(format!("{e}")))?;
        let registry = image.resolve_registry().to_owned();
        // The operator has named a plain registry and trusts where it leads.
        let gate = match self.rules.plain_registries.contains(&registry) {
            true => None,
            false => Some(Gate::open().await.map_err(|e| unreachable(e.to_string()))?),
        };
        let client = registry_client(&self.rules.plain_registries, gate.as_ref())
            .map_err(|e| unreachable(chain(&e)))?;
        let pulled = self.pull(&client, &image, &url).await;
        match gate.as_ref().and_then(Gate::refusal) {
            Some(refusal) if pulled.is_err() => Err(refusal),
            _ => pulled,
        }
    }

    async fn pull(
        &self,
        client: &Client,
        image: &Reference,
        url: &str,
    ) -> Result<(Digest, ArtifactMeta), FetchError> {
        let unreachable = |why: String| FetchError::Unreachable { url: url.to_owned(), why };
        let auth = RegistryAuth::Anonymous;
        let pulled = client.pull_manifest(image, &auth).await;
        let (manifest, _) = pulled.map_err(|e| unreachable(chain(&e)))?;
        let OciManifest::Image(manifest) = manifest else {
            return Err(FetchError::NotOne(url.to_owned(), "it is an index of several".into()));
        };
        let wasm: Vec<_> = manifest
            .layers
            .iter()
            .filter(|l| WASM_LAYERS.contains(&l.media_type.as_str()))
            .collect();
        let [layer] = wasm.as_slice() else {
            let why = format!("it has {} layers of application/wasm", wasm.len());
            return Err(FetchError::NotOne(url.to_owned(), why));
        };
        let expected = layer.digest.parse().ok();
        let blob = client.pull_blob_stream(image, *layer).await;
        let blob = blob.map_err(|e| unreachable(chain(&e)))?.stream.boxed();
        Ok(self.store.put(expected, MAX_ARCHIVE_BYTES, blob).await?)
    }
}

/// A client of registries; with a gate every connection goes through it. Never made by `new`, which
/// takes a client without a gate where the settings fail.
pub(super) fn registry_client(
    plain: &[String],
    gate: Option<&Gate>,
) -> Result<Client, OciDistributionError> {
    Client::try_from(ClientConfig {
        protocol: ClientProtocol::HttpsExcept(plain.to_vec()),
        connect_timeout: Some(CONNECT_LIMIT),
        read_timeout: Some(DOWNLOAD_LIMIT),
        https_proxy: gate.map(Gate::url),
        http_proxy: gate.map(Gate::url),
        ..ClientConfig::default()
    })
}

/// Resolves a name and refuses it when any of its addresses may not be reached.
pub(super) async fn resolve(
    host: &str,
    port: u16,
    way: &'static str,
) -> Result<SocketAddr, FetchError> {
    let url = format!("{host}:{port}");
    let found = tokio::net::lookup_host((host, port)).await;
    let found: Vec<_> = found
        .map_err(|error| FetchError::Unreachable { url: url.clone(), why: error.to_string() })?
        .collect();
    if let Some(bad) = found.iter().find(|address| !pliant_types::address::is_public(address.ip()))
    {
        return Err(FetchError::Refused { host: host.to_owned(), address: bad.ip(), way });
    }
    found
        .first()
        .copied()
        .ok_or(FetchError::Unreachable { url, why: "the name has no address".into() })
}

/// An error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
