//! Writes log lines as fast as it can; `LINES`, if set, ends it after so many.

fn main() {
    let lines = std::env::var("LINES").ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
    for number in 0..lines {
        println!("flood {number} {}", "x".repeat(80));
    }
}
