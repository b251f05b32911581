//! Versions: the immutable record, and what is worked out from it once.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
};
use minicbor::{Decode, Encode};
use pliant_types::{
    Digest, Effective, JobSpec, Tag, Time, Version as VersionNumber, assignment::TaskTemplate,
    effective::DefaultsTable, spec::Engine,
};

/// What is stored of a version, once (M7).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct VersionRecord {
    /// Its number.
    #[n(0)]
    pub number: VersionNumber,
    /// The spec as written.
    #[cbor(n(1), with = "crate::codec::spec_json")]
    pub spec: Arc<JobSpec>,
    /// The user's text with its comments.
    #[n(2)]
    pub text: Option<String>,
    /// Labels of the job at this version.
    #[n(3)]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the job at this version.
    #[n(4)]
    pub annotations: BTreeMap<String, String>,
    /// The table that its defaults come from.
    #[n(5)]
    pub defaults: DefaultsTable,
    /// What the component's source was resolved to.
    #[n(6)]
    pub digest: Digest,
    /// The source in the user's words.
    #[n(7)]
    pub source: Option<String>,
    /// Decides whether tasks must change; never worked out again by a later release.
    #[n(8)]
    pub template_hash: u64,
    /// Who submitted it.
    #[n(9)]
    pub author: String,
    /// Why, in the user's words.
    #[n(10)]
    pub message: Option<String>,
    /// When.
    #[n(11)]
    pub at: Time,
    /// The version that it is a copy of, after a rollback.
    #[n(12)]
    pub from: Option<VersionNumber>,
}

/// What became of a version; its record never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Marks {
    /// When it was proven, or its equal was.
    #[n(0)]
    pub proven_at: Option<Time>,
    /// Why it failed, until it is started again.
    #[n(1)]
    pub failed: Option<String>,
    /// The user's words for it.
    #[n(2)]
    pub tags: BTreeSet<Tag>,
}

/// A version with what is worked out from its record.
#[derive(Clone, Debug)]
pub struct Version {
    /// What is stored.
    pub record: Arc<VersionRecord>,
    /// The spec with its defaults.
    pub effective: Arc<Effective>,
    /// What agents need to run a task of it.
    pub template: Arc<TaskTemplate>,
}

impl Version {
    /// Works out the rest of a record.
    #[must_use]
    pub fn new(record: VersionRecord) -> Self {
        let effective = Effective::new(&record.spec, record.defaults);
        let template = Arc::new(template(&effective, record.digest));
        Self { record: Arc::new(record), effective: Arc::new(effective), template }
    }
}

impl<C> Encode<C> for Version {
    fn encode<W: minicbor::encode::Write>(
        &self,
        e: &mut minicbor::Encoder<W>,
        ctx: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        self.record.as_ref().encode(e, ctx)
    }
}

impl<'b, C> Decode<'b, C> for Version {
    fn decode(d: &mut minicbor::Decoder<'b>, ctx: &mut C) -> Result<Self, minicbor::decode::Error> {
        VersionRecord::decode(d, ctx).map(Self::new)
    }
}

/// What decides whether tasks must change: the template part of the effective spec and the digest.
/// `forced` makes the hash differ for a version that was forced without a change.
pub(crate) fn template_hash(
    effective: &Effective,
    digest: Digest,
    forced: Option<VersionNumber>,
) -> u64 {
    let mut template = effective.template();
    if let Some(Engine::Wasm(wasm)) = &mut template.engine {
        wasm.component = None;
    }
    let mut bytes = serde_json::to_vec(&template)
        .expect("Invariant: a spec has string keys only and always encodes");
    bytes.extend_from_slice(digest.as_bytes());
    if let Some(version) = forced {
        bytes.extend_from_slice(&version.get().to_be_bytes());
    }
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

fn template(effective: &Effective, digest: Digest) -> TaskTemplate {
    let spec = effective.spec();
    let (engine, args, reuse) = match &spec.engine {
        Some(Engine::Wasm(wasm)) => {
            ("wasm", wasm.args.clone().unwrap_or_default(), wasm.reuse.clone())
        }
        Some(Engine::Container(container)) => {
            ("container", container.args.clone().unwrap_or_default(), None)
        }
        None => ("wasm", alloc::vec::Vec::new(), None),
    };
    let plain = |map: &Option<pliant_types::spec::WrittenMap>| {
        map.as_ref().map(pliant_types::spec::without_nulls).unwrap_or_default()
    };
    TaskTemplate {
        kind: effective.kind(),
        engine: engine.into(),
        digest,
        args,
        env: plain(&spec.env),
        config: plain(&spec.config),
        cpu: effective.cpu(),
        memory: effective.memory(),
        ports: spec.ports.clone().unwrap_or_default(),
        mounts: spec.mounts.clone().unwrap_or_default(),
        capabilities: effective.capabilities().clone(),
        reuse,
        restart: effective.restart(),
        execution_timeout: effective.execution_timeout(),
        kill_timeout: effective.kill_timeout(),
        exclusive: effective.exclusive(),
        probes: effective.probes(),
        drain: effective.drain(),
    }
}
