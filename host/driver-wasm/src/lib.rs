//! The Wasm driver on wasmtime.
