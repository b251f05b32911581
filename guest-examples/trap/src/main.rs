//! Logs a line, then traps three calls deep, so that the backtrace has something to show.

#[inline(never)]
fn outer(depth: u32) -> u32 {
    middle(std::hint::black_box(depth)) + 1
}

#[inline(never)]
fn middle(depth: u32) -> u32 {
    inner(std::hint::black_box(depth)) + 1
}

#[inline(never)]
fn inner(depth: u32) -> u32 {
    let nothing: Option<u32> = std::hint::black_box(None);
    nothing.expect("this guest traps on purpose") + depth
}

fn main() {
    println!("about to trap");
    println!("{}", outer(0));
}
