//! Takes memory, a mebibyte at a time, until it is refused. Says how far it got.

fn main() {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        // Written to, so that it is really used.
        taken.push(vec![1; 1 << 20]);
        if taken.len().is_multiple_of(16) {
            println!("{} MiB taken", taken.len());
        }
    }
}
