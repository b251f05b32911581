//! Links between pages lead somewhere, and so do their anchors. Source: design rule for docs.
//! Not a check of the web: addresses with a scheme are left alone.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::tree::{TextFile, files, none, root};

/// Targets of `[text](target)` outside code, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let mut rest = line;
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            let Some(end) = rest.find(')') else { break };
            found.push((index + 1, &rest[..end]));
            rest = &rest[end..];
        }
    }
    found
}

/// The anchor that a page viewer makes of a heading.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

fn broken(page: &TextFile, target: &str, pages: &[TextFile]) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, wanted) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
    let path = if file.is_empty() { PathBuf::from(&page.path) } else { normal(&folder.join(file)) };
    if !root().join(&path).exists() {
        return Some("there is no such file".to_owned());
    }
    let path = path.to_string_lossy();
    let there = pages.iter().find(|other| other.path == path)?;
    (!wanted.is_empty() && !anchors(&there.text).contains(wanted))
        .then(|| "there is no such heading".to_owned())
}

#[test]
fn links_in_pages_lead_somewhere() {
    let pages = files(&[".md"]);
    let mut complaints = Vec::new();
    for page in &pages {
        for (line, target) in links(&page.text) {
            if let Some(why) = broken(page, target, &pages) {
                complaints.push(format!("{}:{line}: {target}: {why}", page.path));
            }
        }
    }
    none(&complaints, "broken links");
}

#[test]
fn finds_links_and_leaves_code_alone() {
    let text = "see [a](b.md) and [c](d.md#e)\n```\n[x](y)\n```\n[f](#g)";
    assert_eq!(links(text), [(1, "b.md"), (1, "d.md#e"), (5, "#g")]);
    assert_eq!(anchor(" What is deliberately absent? "), "what-is-deliberately-absent");
}
