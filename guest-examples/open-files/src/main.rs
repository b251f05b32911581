//! Opens files in `/output` without end and keeps them; says how far it got and why it ended.

use std::fs::File;

fn main() {
    let mut open = Vec::new();
    loop {
        match File::create(format!("/output/file-{}", open.len())) {
            Ok(file) => open.push(file),
            Err(error) => {
                println!("{} files are open, then: {error}", open.len());
                std::process::exit(7);
            }
        }
    }
}
