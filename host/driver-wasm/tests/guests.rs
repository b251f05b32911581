//! Guests run as their sources say: arguments, environment, directories, results, ends.

#![allow(clippy::unwrap_used, clippy::panic)] // a test helper is a test

mod common;

use common::{Host, read_only};
use pliant_driver::{Access, ExitCause, MountSpec};
use pliant_types::Memory;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_the_words_of_a_text_that_debian_ships() {
    let mut host = Host::new();
    let (cause, log) = host
        .run(1, "word-count", |spec| {
            spec.args = vec!["/texts/GPL-3".to_owned()];
            spec.mounts = vec![read_only("/usr/share/common-licenses", "/texts")];
        })
        .await;
    assert_eq!(cause, ExitCause::Code(0), "{log}");
    assert!(log.contains("different, in /texts/GPL-3"), "{log}");
    let table = host.dir.path().join("e_1/output/words.txt");
    let table = std::fs::read_to_string(table).unwrap();
    let first = table.lines().next().unwrap();
    assert!(first.ends_with("  the"), "the most frequent word of the GPL: {first}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sees_exactly_what_it_was_given() {
    let mut host = Host::new();
    let shared = host.dir.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(shared.join("known"), "text").unwrap();
    let (cause, log) = host
        .run(1, "echo-env", |spec| {
            spec.args = ["/ro", "/rw", "/none", "a b"].map(str::to_owned).to_vec();
            spec.env.insert("COLOUR".to_owned(), "blue".to_owned());
            spec.config.insert("level".to_owned(), "7".to_owned());
            spec.mounts = vec![
                read_only(&shared, "/ro"),
                MountSpec {
                    host_path: shared.clone(),
                    guest_path: "/rw".to_owned(),
                    access: Access::ReadWrite,
                },
            ];
        })
        .await;
    assert_eq!(cause, ExitCause::Code(0), "{log}");
    let lines: Vec<&str> = log.lines().collect();
    let environment: Vec<_> = lines.iter().filter(|l| l.starts_with("stdout: env:")).collect();
    assert_eq!(environment, [&"stdout: env: COLOUR=blue"], "nothing of the host's environment");
    for expected in [
        "stdout: arg 1: /ro",
        "stdout: arg 4: a b",
        "stdout: config: level=7",
        "stdout: missing: None",
        "stdout: dir /ro: known",
        "stdout: escape /ro: refused",
        "stdout: write /rw: ok",
        "stdout: escape /rw: refused",
    ] {
        assert!(lines.contains(&expected), "{expected:?} is not in\n{log}");
    }
    let refused = lines.iter().find(|line| line.starts_with("stdout: write /ro:")).unwrap();
    assert!(!refused.ends_with("ok"), "{refused}");
    assert!(log.contains("stdout: dir /none: "), "{log}");
    assert_eq!(std::fs::read_to_string(shared.join("written")).unwrap(), "by the guest");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trap_shows_the_guests_own_frames() {
    let mut host = Host::new();
    let (cause, log) = host.run(1, "trap", |_| {}).await;
    let ExitCause::Trap { message, backtrace } = &cause else { panic!("{cause:?}") };
    assert!(message.contains("unreachable"), "{message}");
    let at = |name: &str| backtrace.iter().position(|frame| frame.contains(name));
    assert!(at("inner") < at("middle") && at("middle") < at("outer"), "{backtrace:#?}");
    assert!(at("inner").is_some(), "{backtrace:#?}");
    assert!(log.contains("stdout: about to trap"), "{log}");
    assert!(log.contains("this guest traps on purpose"), "the panic message: {log}");
    let detail = cause.status().detail.unwrap();
    assert!(detail.contains("inner"), "{detail}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_logs_until_it_is_stopped() {
    let mut host = Host::new();
    host.start(1, "ticker", |spec| {
        spec.env.insert("INTERVAL_MS".to_owned(), "1".to_owned());
    })
    .await
    .unwrap();
    host.log_shows(1, "tick 3").await;
    let id = pliant_types::ExecutionId::new(1);
    let driver = host.driver.clone();
    let stopped = pliant_driver::Driver::stop(&*driver, id, common::PATIENCE).await.unwrap();
    assert_eq!(stopped.cause, ExitCause::Stopped);
    assert_eq!(host.ended(1).await, stopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_at_its_time_limit() {
    let mut host = Host::new();
    let (cause, _) = host
        .run(1, "ticker", |spec| {
            spec.timeouts.execution = Some(std::time::Duration::from_millis(50));
        })
        .await;
    assert_eq!(cause, ExitCause::TimedOut { after_ms: 50 });
}

/// resvg 0.31, a wasip1 core module that its authors publish: renders a mounted SVG into a PNG.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_wasip1_module_reads_a_directory_and_writes_results() {
    let mut host = Host::new();
    let pictures = host.dir.path().join("pictures");
    std::fs::create_dir(&pictures).unwrap();
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8">
        <rect width="8" height="8" fill="green"/></svg>"#;
    std::fs::write(pictures.join("square.svg"), svg).unwrap();
    let (cause, log) = host
        .run(1, "resvg", |spec| {
            spec.args = ["/pictures/square.svg", "/output/square.png"].map(str::to_owned).to_vec();
            spec.mounts = vec![read_only(&pictures, "/pictures")];
            spec.memory = Memory::from_mib(128);
        })
        .await;
    assert_eq!(cause, ExitCause::Code(0), "{log}");
    let png = std::fs::read(host.dir.path().join("e_1/output/square.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{} bytes", png.len());
}

/// The program of crate pulldown-cmark, as a component: renders a mounted Markdown file to HTML.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_component_runs_unchanged() {
    let mut host = Host::new();
    let texts = host.dir.path().join("texts");
    std::fs::create_dir(&texts).unwrap();
    std::fs::write(texts.join("a.md"), "# Title\n\nSome *text*.\n").unwrap();
    let (cause, log) = host
        .run(1, "commonmark", |spec| {
            spec.args = vec!["/texts/a.md".to_owned()];
            spec.mounts = vec![read_only(&texts, "/texts")];
        })
        .await;
    assert_eq!(cause, ExitCause::Code(0), "{log}");
    assert!(log.contains("stdout: <h1>Title</h1>"), "{log}");
    assert!(log.contains("<em>text</em>"), "{log}");
}
