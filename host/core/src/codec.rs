//! Facts, commands and snapshots as CBOR with integer keys (14-decisions.md, 22).
//!
//! Encoding is canonical: what was decoded must encode to the same bytes. A field that this release
//! does not know breaks that and is refused as a newer format instead of being dropped in silence.

mod snapshot;

pub use snapshot::{decode_snapshot, encode_snapshot};

use crate::{Command, Request, fact::FactKind};
use alloc::{string::String, sync::Arc, vec::Vec};
use core::{convert::Infallible, fmt};
use minicbor::{Decode, Encode, Encoder};
use pliant_types::{JobSpec, Time};

/// The format that this release writes.
const FORMAT: u32 = 1;

/// Why bytes are not a batch or a snapshot of this release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// Written by a newer release, or with fields that this one does not know.
    NewerFormat,
    /// Not CBOR of the expected shape.
    Malformed(String),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerFormat => f.write_str("written in a newer format than this release knows"),
            Self::Malformed(what) => write!(f, "not readable: {what}"),
        }
    }
}

impl core::error::Error for CodecError {}

/// One command that yielded facts, with its time: the unit that is never split over batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When it was decided.
    pub now: Time,
    /// What was asked.
    pub request: Request,
    /// What was decided, all at `now`.
    pub facts: Vec<FactKind>,
}

/// A decoded batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its decisions, in order.
    pub decisions: Vec<Decision>,
    /// The state's hash after the last fact.
    pub hash: u128,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct WireBatch {
    #[n(0)]
    format: u32,
    #[n(1)]
    decisions: Vec<WireDecision>,
    #[n(2)]
    hash: (u64, u64),
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct WireDecision {
    #[n(0)]
    now: Time,
    #[n(1)]
    request: Request,
    #[n(2)]
    facts: Vec<FactKind>,
    /// The command's spec and text are those of the version that the facts add; they are written
    /// once, in the fact (M7).
    #[n(3)]
    spec_in_facts: Option<bool>,
}

/// Encodes a batch; `hash` is the state's after its last fact.
#[must_use]
pub fn encode_batch(decisions: &[Decision], hash: u128) -> Vec<u8> {
    let wire = WireBatch {
        format: FORMAT,
        decisions: decisions.iter().map(to_wire).collect(),
        hash: split(hash),
    };
    let mut bytes = Vec::new();
    encode_into(&wire, &mut bytes);
    bytes
}

/// Decodes a batch, refusing what this release would not write again the same way.
///
/// # Errors
/// [`CodecError`], naming what is wrong.
pub fn decode_batch(bytes: &[u8]) -> Result<Batch, CodecError> {
    let wire: WireBatch = decode_exact(bytes)?;
    if wire.format != FORMAT {
        return Err(CodecError::NewerFormat);
    }
    let decisions = wire.decisions.into_iter().map(from_wire).collect::<Result<_, _>>()?;
    Ok(Batch { decisions, hash: join(wire.hash) })
}

fn to_wire(decision: &Decision) -> WireDecision {
    let mut request = decision.request.clone();
    let mut spec_in_facts = None;
    if let Command::Submit(submit) = &mut request.command
        && added_version(&decision.facts)
            .is_some_and(|record| record.spec == submit.spec && record.text == submit.text)
    {
        submit.spec = Arc::default();
        submit.text = None;
        spec_in_facts = Some(true);
    }
    WireDecision { now: decision.now, request, facts: decision.facts.clone(), spec_in_facts }
}

fn from_wire(wire: WireDecision) -> Result<Decision, CodecError> {
    let WireDecision { now, mut request, facts, spec_in_facts } = wire;
    if spec_in_facts == Some(true) {
        let record = added_version(&facts)
            .ok_or_else(|| CodecError::Malformed("a submission without its version".into()))?;
        if let Command::Submit(submit) = &mut request.command {
            submit.spec = record.spec.clone();
            submit.text.clone_from(&record.text);
        }
    }
    Ok(Decision { now, request, facts })
}

fn added_version(facts: &[FactKind]) -> Option<&crate::state::VersionRecord> {
    facts.iter().find_map(|fact| match fact {
        FactKind::VersionAdded { record, .. } => Some(record.as_ref()),
        _ => None,
    })
}

const fn split(hash: u128) -> (u64, u64) {
    ((hash >> 64) as u64, hash as u64)
}

const fn join((high, low): (u64, u64)) -> u128 {
    (high as u128) << 64 | low as u128
}

/// A byte sink that cannot fail.
struct Sink<'a>(&'a mut Vec<u8>);

impl minicbor::encode::Write for Sink<'_> {
    type Error = Infallible;
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Encodes a value after what `bytes` holds.
pub(crate) fn encode_into(value: &impl Encode<()>, bytes: &mut Vec<u8>) {
    Encoder::new(Sink(bytes))
        .encode(value)
        .expect("Invariant: the sink cannot fail and no custom encoder does");
}

/// Decodes a value that fills all of `bytes` and encodes to the same bytes again.
pub(crate) fn decode_exact<T>(bytes: &[u8]) -> Result<T, CodecError>
where
    T: for<'b> Decode<'b, ()> + Encode<()>,
{
    let value: T =
        minicbor::decode(bytes).map_err(|e| CodecError::Malformed(alloc::format!("{e}")))?;
    let mut again = Vec::with_capacity(bytes.len());
    encode_into(&value, &mut again);
    if again == bytes { Ok(value) } else { Err(CodecError::NewerFormat) }
}

/// A spec inside CBOR: its JSON text, whose names are its format.
pub(crate) mod spec_json {
    use super::{Arc, JobSpec, String};
    use minicbor::{Decoder, Encoder};

    pub(crate) fn encode<C, W: minicbor::encode::Write>(
        spec: &Arc<JobSpec>,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        let text: String = serde_json::to_string(spec.as_ref())
            .map_err(|_| minicbor::encode::Error::message("a spec encodes as JSON"))?;
        e.str(&text)?.ok()
    }

    pub(crate) fn decode<'b, C>(
        d: &mut Decoder<'b>,
        _: &mut C,
    ) -> Result<Arc<JobSpec>, minicbor::decode::Error> {
        serde_json::from_str(d.str()?)
            .map(Arc::new)
            .map_err(|_| minicbor::decode::Error::message("a spec of this release"))
    }
}
