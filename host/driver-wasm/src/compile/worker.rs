//! The compile worker: a process that reads a component from stdin, writes code to stdout, and
//! does nothing else. It limits itself before it reads a byte of what it was given.

use std::io::{self, Read, Write};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::engine::compile_engine;
use crate::limits;

/// The whole of the worker's process; returns its exit code. 0: stdout holds the code; else stderr
/// says why.
#[must_use]
pub fn compile_worker() -> u8 {
    match run() {
        Ok(()) => 0,
        Err(reason) => {
            let end = reason.floor_char_boundary(limits::COMPILE_ERROR_BYTES);
            // Nobody is left to tell if stderr is gone as well.
            let _told = io::stderr().write_all(&reason.as_bytes()[..end]);
            1
        }
    }
}

fn run() -> Result<(), String> {
    limit(Resource::As, limits::COMPILE_ADDRESS_BYTES)?;
    limit(Resource::Cpu, limits::COMPILE_CPU_SECONDS)?;
    limit(Resource::Core, 0)?;
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(2 * pliant_inspect::limits::ARTIFACT_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read the component: {error}"))?;
    let engine = compile_engine().map_err(|error| format!("no compiler: {error:#}"))?;
    let code = engine.precompile_component(&bytes).map_err(|error| format!("{error:#}"))?;
    let mut out = io::stdout().lock();
    out.write_all(&code)
        .and_then(|()| out.flush())
        .map_err(|error| format!("cannot hand over the code: {error}"))
}

fn limit(resource: Resource, most: u64) -> Result<(), String> {
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(resource, limit).map_err(|error| format!("cannot limit myself: {error}"))
}
