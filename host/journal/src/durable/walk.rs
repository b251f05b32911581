//! One pass over everything in a store, verifying each batch: at open, in `check`, `inspect`,
//! `dump` and `salvage`.

use super::{
    engine::Engine,
    layout::{Assembly, CHUNK_KEYS, META_KEY, parse_key},
    parts::unfinished,
};
use crate::{
    Batch, Damage, EngineError, OpenError, Place, Sequence,
    format::{
        chain::Chain,
        frame::{FORMAT, FrameError},
        meta::Meta,
    },
};

/// Why a walk ended early.
#[derive(Debug)]
pub(crate) enum Break {
    /// Something is broken there.
    Damaged(Damage),
    /// Something has a newer format there.
    Newer(Place, u16),
    /// The machinery failed.
    Engine(EngineError),
    /// The visitor has seen enough.
    Enough,
}

impl From<EngineError> for Break {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<Break> for OpenError {
    fn from(end: Break) -> Self {
        match end {
            Break::Damaged(damage) => Self::Damaged(damage),
            Break::Newer(at, found) => Self::NewerFormat { at, found, known: FORMAT },
            Break::Engine(error) => Self::Engine(error),
            Break::Enough => Self::Damaged(Damage::new(Place::Store, "reading it was stopped")),
        }
    }
}

impl Break {
    pub(crate) fn at(place: Place, error: FrameError) -> Self {
        match error {
            FrameError::Newer(found) => Self::Newer(place, found),
            broken @ FrameError::Broken(_) => Self::Damaged(broken.damage(place)),
        }
    }
}

/// Reads the meta record; `None` if the store holds nothing at all.
pub(crate) fn read_meta(engine: &Engine) -> Result<Option<Meta>, Break> {
    if let Some(bytes) = engine.get(&META_KEY)? {
        return Meta::decode(&bytes).map(Some).map_err(|error| Break::at(Place::Meta, error));
    }
    match first_sequence(engine)? {
        None => Ok(None),
        Some(_) => Err(Break::Damaged(Damage::new(Place::Meta, "it is missing"))),
    }
}

/// The number of the first batch in the store.
pub(crate) fn first_sequence(engine: &Engine) -> Result<Option<Sequence>, Break> {
    let mut first = None;
    let [from, to] = CHUNK_KEYS;
    let outcome = engine.scan(&from, &to, |key, _| {
        first = parse_key(key).map(|(sequence, _)| sequence);
        Err(Break::Enough)
    });
    match outcome {
        Ok(()) | Err(Break::Enough) => Ok(first),
        Err(other) => Err(other),
    }
}

/// Hands every batch behind `chain` to `visit`, in order. Whatever happens, `chain` ends behind the
/// last batch that was handed out. What an interrupted writing or trim left is passed over.
pub(crate) fn walk(
    engine: &Engine,
    chain: &mut Chain,
    mut visit: impl FnMut(&Batch) -> Result<(), Break>,
) -> Result<(), Break> {
    let (floor, unfinished) = (chain.head(), unfinished(engine)?);
    let mut current: Option<Assembly> = None;
    let [from, to] = CHUNK_KEYS;
    engine.scan(&from, &to, |key, value| {
        let Some((sequence, chunk)) = parse_key(key) else {
            let why = format!("it holds a key of {} bytes", key.len());
            return Err(Break::Damaged(Damage::new(Place::Store, why)));
        };
        if sequence <= floor || Some(sequence) == unfinished {
            return Ok(());
        }
        if chunk == 0
            && let Some(complete) = current.take()
        {
            accept(complete, chain, &mut visit)?;
        }
        let next = chain.head().next();
        if sequence != next {
            let found = format!("batch {sequence} follows batch {}", chain.head());
            return Err(Break::Damaged(Damage::new(Place::Batch(next), found)));
        }
        let assembly = current.get_or_insert_with(Assembly::default);
        let damaged = |why| Break::Damaged(Damage { at: Place::Batch(sequence), why });
        assembly.push(chunk, value).map_err(damaged)
    })?;
    match current {
        Some(last) => accept(last, chain, &mut visit),
        None => Ok(()),
    }
}

fn accept(
    complete: Assembly,
    chain: &mut Chain,
    visit: &mut impl FnMut(&Batch) -> Result<(), Break>,
) -> Result<(), Break> {
    let at = || Place::Batch(chain.head().next());
    let damaged = |why| Break::Damaged(Damage { at: at(), why });
    let bytes = complete.finish().map_err(damaged)?;
    let place = at();
    let batch = chain.accept(&bytes).map_err(|error| Break::at(place, error))?;
    visit(&batch)
}
