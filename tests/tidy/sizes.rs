//! Files and functions stay small. Source: docs/decisions/0002-lints.md; a ratchet: the figures in
//! `sizes.txt` may only go down, and never stood above the limits below.

use std::fs;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::tree::{is_test_code, none, root, rust_files};

/// Limits of the project for the figures of `sizes.txt`, in lines without tests.
const LIMITS: [(&str, usize); 4] =
    [("file-max", 800), ("file-p95", 450), ("file-median", 150), ("function-max", 120)];

/// What is measured: (lines, where).
#[derive(Default)]
struct Sizes {
    files: Vec<(usize, String)>,
    functions: Vec<(usize, String)>,
}

/// Walks one file: counts functions, and the lines of items that exist for tests only.
struct Reader<'a> {
    path: &'a str,
    test_lines: usize,
    functions: Vec<(usize, String)>,
}

fn lines(span: Span) -> usize {
    span.end().line + 1 - span.start().line
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if !attribute.path().is_ident("cfg") {
            return false;
        }
        attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test")
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        _ => &[],
    }
}

impl Reader<'_> {
    fn function(&mut self, name: &syn::Ident, whole: Span) {
        let line = whole.start().line;
        self.functions.push((lines(whole), format!("{}:{line}: fn {name}", self.path)));
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_for_tests(attributes(item)) {
            self.test_lines += lines(item.span());
        } else {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(
            &item.sig.ident,
            item.sig.span().join(item.block.span()).unwrap_or(item.span()),
        );
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(
            &item.sig.ident,
            item.sig.span().join(item.block.span()).unwrap_or(item.span()),
        );
        syn::visit::visit_impl_item_fn(self, item);
    }
}

fn measure() -> Sizes {
    let mut sizes = Sizes::default();
    for file in rust_files().into_iter().filter(|file| !is_test_code(&file.path)) {
        let syntax =
            syn::parse_file(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
        let mut reader = Reader { path: &file.path, test_lines: 0, functions: Vec::new() };
        reader.visit_file(&syntax);
        let lines = file.text.lines().count() - reader.test_lines;
        sizes.files.push((lines, file.path.clone()));
        sizes.functions.append(&mut reader.functions);
    }
    sizes.files.sort();
    sizes.functions.sort();
    sizes
}

/// The entry that `percent` of all are not above.
fn percentile(sorted: &[(usize, String)], percent: usize) -> usize {
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).map_or(0, |entry| entry.0)
}

fn figures(sizes: &Sizes) -> [(&'static str, usize); 4] {
    [
        ("file-max", percentile(&sizes.files, 100)),
        ("file-p95", percentile(&sizes.files, 95)),
        ("file-median", percentile(&sizes.files, 50)),
        ("function-max", percentile(&sizes.functions, 100)),
    ]
}

fn worst(sorted: &[(usize, String)]) -> String {
    let last = sorted.iter().rev().take(5);
    last.map(|(lines, place)| format!("\n    {lines} {place}")).collect()
}

fn baseline() -> Vec<(String, usize)> {
    let text = fs::read_to_string(root().join("tests/tidy/sizes.txt")).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, figure) = line.split_once(' ').expect("a figure is `name number`");
            (name.to_owned(), figure.parse().expect("a figure is a number"))
        })
        .collect()
}

fn lower_baseline(measured: &[(&str, usize)]) {
    let path = root().join("tests/tidy/sizes.txt");
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> =
        text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect();
    for (name, figure) in baseline() {
        let now = measured.iter().find(|(of, _)| *of == name).map_or(figure, |(_, now)| *now);
        lines.push(format!("{name} {}", figure.min(now)));
    }
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn files_and_functions_only_get_smaller() {
    let sizes = measure();
    let measured = figures(&sizes);
    if std::env::var_os("UPDATE_SIZES").is_some() {
        lower_baseline(&measured);
    }
    let baseline = baseline();
    let mut complaints = Vec::new();
    for (name, limit) in LIMITS {
        let allowed = baseline.iter().find(|(of, _)| of == name).map_or(0, |(_, figure)| *figure);
        if allowed > limit {
            complaints.push(format!("sizes.txt: {name} {allowed} stands above the limit {limit}"));
        }
        let now = measured.iter().find(|(of, _)| *of == name).map_or(0, |(_, now)| *now);
        if now > allowed {
            let list = if name.starts_with("file") { &sizes.files } else { &sizes.functions };
            complaints.push(format!("{name} is {now}, was {allowed}; the largest:{}", worst(list)));
        }
    }
    none(&complaints, "sizes grew: split by what changes together");
}

#[test]
fn lines_of_tests_do_not_count() {
    let syntax: syn::File =
        syn::parse_str("fn a() {\n}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\n").unwrap();
    let mut reader = Reader { path: "x.rs", test_lines: 0, functions: Vec::new() };
    reader.visit_file(&syntax);
    assert_eq!(reader.test_lines, 4);
    assert_eq!(reader.functions, [(2, "x.rs:1: fn a".to_owned())]);
}
