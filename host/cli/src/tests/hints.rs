//! Commands that messages and pages name: each of them exists, with its flags.
//!
//! Found in the text of the sources, so that a message which no test provokes is checked too.

use crate::args::Args;
use clap::{Parser, error::ErrorKind};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where a command begins in a source or a page, and what ends it.
const BEGINS: [&str; 5] = ["`pliant ", "\"pliant ", "try: pliant ", "· pliant ", "$ pliant "];
const ENDS: [char; 9] = ['`', '"', '·', '(', '\n', '|', '&', ';', '#'];
/// Sentences about the program that begin like a command.
const SENTENCES: [&str; 3] = ["is up at", "{} at revision", "%s"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_str().is_some_and(|path| path.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// Sources without tests and comments, and pages for users.
fn texts() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("host")).unwrap() {
        files(&entry.unwrap().path().join("src"), ".rs", &mut found);
    }
    files(&root().join("docs/how-to"), ".md", &mut found);
    files(&root().join("docs/reference"), ".md", &mut found);
    found.extend(["README.md", "CONTRIBUTING.md", "tests/demo.sh"].map(|name| root().join(name)));
    found.retain(|path| {
        !path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("demo.sh")
    });
    found
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let text = lines.collect::<Vec<_>>().join("\n");
            // A literal that goes on in the next line is one sentence.
            (path, text.replace("\\n", "\n").replace("\\\n", " "))
        })
        .collect()
}

fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for begin in BEGINS {
        for (at, _) in text.match_indices(begin) {
            let rest = &text[at + begin.len()..];
            let line = rest.lines().next().unwrap_or_default();
            let unquoted = without_quotes(line);
            // Only a shell's line has quotes of its own.
            let rest = if begin.starts_with('$') { &unquoted } else { rest };
            let command = rest.split(ENDS).next().unwrap_or_default().trim();
            let sentence = SENTENCES.iter().any(|sentence| command.starts_with(sentence));
            if !sentence {
                commands.push(command.to_owned());
            }
        }
    }
    commands
}

/// A word for each quoted text.
fn without_quotes(line: &str) -> String {
    let parts = line.split('"').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { part } else { "x" }).collect()
}

/// A value for each placeholder: `{…}` of a format, a word in capitals of a sentence. What may be
/// left out (`[--to V]`) is given.
fn with_values(command: &str) -> Vec<String> {
    let value = |word: &str| match word {
        "EXECUTION" => "e_1".to_owned(),
        "DIGEST" => format!("sha256:{}", "0".repeat(64)),
        "N" | "R" | "V" => "1".to_owned(),
        _ if word.starts_with('{') => "1".to_owned(),
        _ if word.chars().all(|c| c.is_ascii_uppercase() || c == '.' || c == '_') => "x".to_owned(),
        _ => word.to_owned(),
    };
    let words =
        command.split_whitespace().map(|word| value(word.trim_matches([',', ':', '[', ']'])));
    ["pliant".to_owned()].into_iter().chain(words).collect()
}

/// Right, or right but for an argument that a sentence leaves out: "submit with `pliant run`".
fn exists(command: &str) -> Result<(), String> {
    match Args::try_parse_from(with_values(command)) {
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => Ok(()),
        Err(error) => Err(error.to_string()),
        Ok(_) => Ok(()),
    }
}

#[test]
fn every_command_that_a_message_or_a_page_names_exists() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, text) in texts() {
        for command in commands(&text) {
            seen += 1;
            if let Err(why) = exists(&command) {
                wrong.push(format!("{}: pliant {command}: {why}", path.display()));
            }
        }
    }
    assert!(seen > 30, "only {seen} commands were found: the search is broken");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_search_sees_what_is_wrong() {
    let found = commands("see `pliant job shwo {name}` or \"pliant stop {}\"");
    assert_eq!(found, ["job shwo {name}", "stop {}"]);
    assert_eq!(commands("$ pliant run f -m \"a b\" | head"), ["run f -m x"]);
    assert!(exists("job shwo {name}").is_err());
    assert!(exists("stop {}").is_ok());
    assert!(exists("run FILE --forse").is_err());
    assert!(exists("run FILE --force").is_ok());
    assert!(exists("run").is_ok());
}
