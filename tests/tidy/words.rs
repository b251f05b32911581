//! Words that are not names here, in code, docs and output alike. Source: docs/GLOSSARY.md.
//! Phrases that are not ours to choose are in `allowed-phrases.txt`.

use crate::tree::{files, none};

const BANNED: [&str; 9] =
    ["app", "workload", "replica", "slot", "rank", "pod", "alloc", "kubelet", "heal"];

/// What cannot do without the words: the page that lists them, and these tests.
const EXEMPT: [&str; 3] = ["docs/GLOSSARY.md", "tests/tidy/", "target/"];

fn allowed_phrases() -> Vec<&'static str> {
    include_str!("allowed-phrases.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// Splits a line into the parts of its identifiers and words, in lower case:
/// `HostState_two` gives host, state, two.
fn parts(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for c in line.chars() {
        let camel = c.is_uppercase() && before.is_lowercase();
        if camel || !c.is_alphanumeric() {
            parts.push(String::new());
        }
        if c.is_alphanumeric() {
            parts.last_mut().expect("never empty").extend(c.to_lowercase());
        }
        before = c;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn banned(part: &str) -> bool {
    let one = part.strip_suffix('s').unwrap_or(part);
    BANNED.contains(&part) || BANNED.contains(&one)
}

fn complaints_of(line: &str, allowed: &[&str]) -> Vec<String> {
    let mut rest = line.to_owned();
    for phrase in allowed {
        rest = rest.replace(phrase, " ");
    }
    parts(&rest).into_iter().filter(|part| banned(part)).collect()
}

#[test]
fn names_are_those_of_the_glossary() {
    let allowed = allowed_phrases();
    let endings =
        [".rs", ".md", ".toml", ".sh", ".wit", ".yaml", ".json", ".html", ".py", "Makefile"];
    let mut complaints = Vec::new();
    for file in files(&endings) {
        if EXEMPT.iter().any(|exempt| file.path.starts_with(exempt)) {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            for word in complaints_of(line, &allowed) {
                complaints.push(format!("{}:{}: {word}", file.path, index + 1));
            }
        }
    }
    none(&complaints, "words that are not names here (docs/GLOSSARY.md has the right ones)");
}

#[test]
fn finds_words_inside_identifiers_and_not_inside_words() {
    let allowed = allowed_phrases();
    assert_eq!(complaints_of("struct AppState { free_slots: u8 }", &allowed), ["app", "slots"]);
    assert!(complaints_of("an application, allocation of healthy tasks", &allowed).is_empty());
    assert!(complaints_of("use alloc::vec::Vec;", &allowed).is_empty());
}
