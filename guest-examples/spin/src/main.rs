//! Never gives the processor back and never calls the host.

fn main() {
    println!("spinning");
    let mut number = 0u64;
    loop {
        number =
            std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
