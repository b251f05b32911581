//! The one binary, `pliant`: parses the command line and dispatches. Not the place of any logic.

fn main() {}
