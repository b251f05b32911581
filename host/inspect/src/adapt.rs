//! Turns what was inspected into a component: wasip1 core modules by the adapter that belongs to
//! the engine's version, components as they are.

use std::borrow::Cow;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::ComponentEncoder;

use crate::ArtifactKind;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this wasip1 module cannot be made a component: {message}")]
pub struct AdaptError {
    pub message: String,
}

/// The bytes to compile for an artifact of this kind.
pub fn as_component(kind: ArtifactKind, bytes: &[u8]) -> Result<Cow<'_, [u8]>, AdaptError> {
    match kind {
        ArtifactKind::ComponentCommand | ArtifactKind::ComponentHttp => Ok(Cow::Borrowed(bytes)),
        ArtifactKind::CoreCommand => adapt(bytes).map(Cow::Owned),
    }
}

fn adapt(bytes: &[u8]) -> Result<Vec<u8>, AdaptError> {
    ComponentEncoder::default()
        .module(bytes)
        .and_then(|encoder| {
            encoder.adapter(
                WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME,
                WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
            )
        })
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| AdaptError { message: format!("{error:#}") })
}
