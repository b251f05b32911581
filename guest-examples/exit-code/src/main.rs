//! Prints its second argument (`done` if there is none) and ends with the code in its first.
//!
//! `std::process::exit` knows only 0 and 1 under WASI 0.2; the call used here knows all codes.

fn main() {
    let mut args = std::env::args().skip(1);
    let code = args.next().and_then(|text| text.parse().ok()).unwrap_or(0);
    println!("{}", args.next().unwrap_or_else(|| "done".to_owned()));
    wasip2::cli::exit::exit_with_code(code);
}
