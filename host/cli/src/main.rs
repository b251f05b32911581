//! The one binary, `pliant`: parses the command line, dispatches, turns errors into exit codes.
//!
//! Logic lives in the crates that it joins; anyhow is used only here.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a CLI is for")]

/// A line of a result. Shadows the standard macro, which panics when stdout cannot be written.
macro_rules! println {
    ($($part:tt)*) => { $crate::output::print(&format!("{}\n", format_args!($($part)*))) };
}
/// The same without a line's end.
macro_rules! print {
    ($($part:tt)*) => { $crate::output::print(&format!($($part)*)) };
}
/// A line for people beside the result. Whether anybody can read it changes nothing.
macro_rules! eprintln {
    ($($part:tt)*) => { $crate::output::tell(&format!($($part)*)) };
}

mod args;
mod commands;
mod connect;
mod fail;
mod output;
#[cfg(test)]
mod tests;

use clap::Parser;
use std::{io::IsTerminal, process::ExitCode};

fn main() -> ExitCode {
    // Both providers could be compiled in by a dependency; one is chosen here, once.
    let _ = rustls::crypto::ring::default_provider().install_default();
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
    let text = error.render();
    if error.use_stderr() {
        let shown = if std::io::stderr().is_terminal() {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        eprintln!("{}", shown.trim_end());
        return ExitCode::from(pliant_types::codes::exit_code::USAGE);
    }
    let shown =
        if std::io::stdout().is_terminal() { text.ansi().to_string() } else { text.to_string() };
    print!("{shown}");
    ExitCode::SUCCESS
}
