//! The one binary, `pliant`: parses the command line, dispatches, turns errors into exit codes.
//!
//! Logic lives in the crates that it joins; anyhow is used only here.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a CLI is for")]

mod args;
mod commands;
mod connect;
mod fail;
mod output;
#[cfg(test)]
mod tests;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Both providers could be compiled in by a dependency; one is chosen here, once.
    let _ = rustls::crypto::ring::default_provider().install_default();
    restore_sigpipe();
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    match commands::dispatch(args) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit())
        }
    }
}

/// Help and version are results; anything else is a wrong command line.
fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is nobody's fault.
    let _ = error.print();
    let wrong = error.use_stderr();
    ExitCode::from(if wrong { pliant_types::codes::exit_code::USAGE } else { 0 })
}

/// A reader that has seen enough (`pliant ps | head`) ends this program quietly.
#[allow(
    clippy::disallowed_methods,
    reason = "print macros cannot give an error back, so the process ends in their hook"
)]
fn restore_sigpipe() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.to_string().contains("Broken pipe") {
            std::process::exit(i32::from(pliant_types::codes::exit_code::DONE));
        }
        previous(info);
    }));
}
