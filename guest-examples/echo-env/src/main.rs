//! Prints what it was given: arguments, environment, configuration, and the directories named by
//! its arguments with their entries. One `kind: value` a line, in order.

wit_bindgen::generate!({ path: "wit", world: "reads-config", generate_all });

use wasi::config::store;

fn main() {
    for (index, argument) in std::env::args().enumerate() {
        println!("arg {index}: {argument}");
    }
    for (name, value) in std::env::vars() {
        println!("env: {name}={value}");
    }
    let mut config = store::get_all().expect("configuration is offered");
    config.sort();
    for (key, value) in config {
        println!("config: {key}={value}");
    }
    println!("missing: {:?}", store::get("no-such-key").expect("configuration is offered"));
    for dir in std::env::args().skip(1).filter(|argument| argument.starts_with('/')) {
        list(&dir);
    }
}

fn list(dir: &str) {
    match std::fs::read_dir(dir) {
        Ok(entries) => {
            let mut names: Vec<String> = entries
                .filter_map(Result::ok)
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            println!("dir {dir}: {}", names.join(" "));
        }
        Err(error) => println!("dir {dir}: {error}"),
    }
    let written = std::fs::write(format!("{dir}/written"), "by the guest");
    println!("write {dir}: {}", written.map_or_else(|error| error.to_string(), |()| "ok".into()));
    let escaped = std::fs::read(format!("{dir}/../../../../etc/passwd"));
    println!("escape {dir}: {}", if escaped.is_ok() { "escaped" } else { "refused" });
}
