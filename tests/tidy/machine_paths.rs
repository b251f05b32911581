//! Nothing in the tree names a path of the machine that it was written on: the home, the checkout,
//! the folder round it.

use std::path::PathBuf;

use crate::tree::{files, none, root};

/// Paths that are of this machine, as they would appear in a text.
fn private_paths() -> Vec<String> {
    let checkout = root();
    let around = checkout.parent().map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    [Some(checkout), around, home]
        .into_iter()
        .flatten()
        .filter(|path| path.components().count() > 1 && *path != std::env::temp_dir())
        .map(|path| format!("{}/", path.display()))
        .collect()
}

#[test]
fn no_text_names_a_path_of_this_machine() {
    let private = private_paths();
    let texts =
        files(&[".rs", ".md", ".toml", ".sh", ".wit", ".yaml", ".json", ".txt", "Makefile", "run"]);
    let mut complaints = Vec::new();
    for file in texts {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(path) = private.iter().find(|path| line.contains(path.as_str())) {
                complaints.push(format!("{}:{}: {path}", file.path, index + 1));
            }
        }
    }
    none(&complaints, "paths that exist on one machine only");
}
