//! Everything that this host offers, linked once.
//!
//! All of it is linked for every guest, granted or not: JavaScript and Python components import
//! the whole world that they were built for. What was not granted fails when it is called, with
//! the error of its interface, and the guest's log names the grant.

use wasmtime::Engine;
use wasmtime::component::Linker;
use wasmtime_wasi_http::{p2 as http2, p3 as http3};

use super::state::GuestState;

pub(crate) fn linker(engine: &Engine) -> Result<Linker<GuestState>, wasmtime::Error> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    http2::add_only_http_to_linker_async(&mut linker)?;
    wasmtime_wasi::p3::add_to_linker(&mut linker)?;
    http3::add_to_linker(&mut linker)?;
    wasmtime_wasi_config::add_to_linker(&mut linker, GuestState::config)?;
    Ok(linker)
}
