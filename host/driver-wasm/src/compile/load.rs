//! Maps compiled code and links it with what this host offers.

#![allow(unsafe_code)] // one block, see `map_code`

use std::path::Path;

use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi::{p2, p3};
use wasmtime_wasi_http::handler::ProxyPre;

use crate::guest::GuestState;

/// Code that is ready to be instantiated, linked once for all executions of its artifact.
pub(crate) enum Program {
    Command2(p2::bindings::CommandPre<GuestState>),
    Command3(p3::bindings::CommandPre<GuestState>),
    Http(HttpProgram),
}

/// An HTTP handler.
pub(crate) struct HttpProgram {
    pub(crate) pre: ProxyPre<GuestState>,
    /// What an instance takes at least, bytes.
    pub(crate) memory_bytes: u64,
}

impl Program {
    pub(super) fn load(
        engine: &Engine,
        linker: &Linker<GuestState>,
        code: &Path,
        memory_bytes: u64,
    ) -> Result<Self, wasmtime::Error> {
        let component = map_code(engine, code)?;
        let pre = linker.instantiate_pre(&component)?;
        // An HTTP handler wins over a command, as pliant_inspect says. The newer world wins over
        // the older; the error of the oldest is the one that helps.
        if let Ok(pre) = wasmtime_wasi_http::p3::bindings::ServicePre::new(pre.clone()) {
            return Ok(Self::Http(HttpProgram { pre: ProxyPre::P3(pre), memory_bytes }));
        }
        if let Ok(pre) = wasmtime_wasi_http::p2::bindings::ProxyPre::new(pre.clone()) {
            return Ok(Self::Http(HttpProgram { pre: ProxyPre::P2(pre), memory_bytes }));
        }
        if let Ok(pre) = p3::bindings::CommandPre::new(pre.clone()) {
            return Ok(Self::Command3(pre));
        }
        p2::bindings::CommandPre::new(pre).map(Self::Command2)
    }
}

fn map_code(engine: &Engine, code: &Path) -> Result<Component, wasmtime::Error> {
    // SAFETY: `deserialize_file` trusts what it maps. The path comes from `CodeCache`, which has
    // just checked that this host made the file for this artifact with this engine; the directory
    // belongs to this user alone (mode 0700), who could replace this program as well.
    unsafe { Component::deserialize_file(engine, code) }
}
