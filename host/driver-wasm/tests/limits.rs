//! A guest that takes too much hits its own limit, and the neighbour on the same host goes on.

#![allow(clippy::unwrap_used, clippy::panic)] // a test helper is a test

mod common;

use std::time::Duration;

use common::{Host, PATIENCE, until};
use pliant_driver::logs::LogReader;
use pliant_driver::{Driver, ExitCause, Resources};
use pliant_types::{Cpu, ExecutionId, Memory};

const NEIGHBOUR: u64 = 100;

/// A host on which a neighbour already ticks.
async fn host_with_neighbour() -> Host {
    let host = Host::new();
    host.start(NEIGHBOUR, "ticker", |spec| {
        spec.env.insert("INTERVAL_MS".to_owned(), "1".to_owned());
    })
    .await
    .unwrap();
    host.log_shows(NEIGHBOUR, "tick 1").await;
    host
}

/// The neighbour logs at least this many lines from now on.
async fn neighbour_goes_on(host: &Host) {
    let mut reader = LogReader::finished(host.log_dir(NEIGHBOUR), 0);
    reader.seek_tail(0).unwrap();
    let mut lines = 0;
    until("the neighbour has logged ten more lines", || {
        lines += reader.read().unwrap().len();
        lines >= 10
    })
    .await;
}

async fn end(mut host: Host) {
    host.driver.shutdown().await;
    assert_eq!(host.ended(NEIGHBOUR).await.cause, ExitCause::Stopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_ends_in_out_of_memory_with_figures() {
    let mut host = host_with_neighbour().await;
    let (cause, log) = host.run(1, "eat-memory", |spec| spec.memory = Memory::from_mib(24)).await;
    let ExitCause::OutOfMemory { limit_bytes, asked_bytes, backtrace } = cause else {
        panic!("{cause:?}\n{log}")
    };
    assert_eq!(limit_bytes, 24 << 20);
    assert!(asked_bytes > limit_bytes, "{asked_bytes}");
    assert!(!backtrace.is_empty());
    assert!(log.contains("stdout: 16 MiB taken"), "{log}");
    let usage = host.driver.usage(ExecutionId::new(1)).await.unwrap();
    assert!(usage.memory_peak_bytes > 16 << 20 && usage.memory_peak_bytes <= 24 << 20, "{usage:?}");
    assert_eq!(usage.memory_bytes, 0, "it was given back");
    neighbour_goes_on(&host).await;
    end(host).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spinning_guests_leave_time_for_others_and_can_be_stopped() {
    let mut host = host_with_neighbour().await;
    // More spinning guests than threads.
    for number in 1..=4 {
        host.start(number, "spin", |_| {}).await.unwrap();
        host.log_shows(number, "spinning").await;
    }
    neighbour_goes_on(&host).await;
    for number in 1..=4 {
        let stopped = host.driver.stop(ExecutionId::new(number), Duration::ZERO).await.unwrap();
        assert_eq!(stopped.cause, ExitCause::Stopped);
        assert_eq!(host.ended(number).await, stopped);
    }
    end(host).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_processor_share_is_kept_and_can_be_changed() {
    let mut host = Host::new();
    let id = ExecutionId::new(1);
    let began = std::time::Instant::now();
    host.start(1, "spin", |spec| spec.cpu = Cpu::from_millis(100)).await.unwrap();
    let driver = host.driver.clone();
    let used_ms = async |at_least: u64| {
        tokio::time::timeout(PATIENCE, async {
            loop {
                let used = driver.usage(id).await.unwrap().cpu_ms;
                if used >= at_least {
                    return used;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap()
    };
    let used = used_ms(250).await;
    // A tenth of the time that it ran, what may be saved up, and one poll that overdraws it, which
    // is long when this machine is too busy to tick. A slow machine makes the right side larger
    // only; without the share it would be 250 ms here.
    let most = u64::try_from(began.elapsed().as_millis()).unwrap() / 10 + 10 + 100;
    assert!(used <= most, "{used} ms used, {most} ms granted");
    let to = Resources { memory: Memory::from_mib(64), cpu: Cpu::from_millis(1_000) };
    host.driver.resize(id, to).await.unwrap();
    used_ms(used + 100).await;
    host.driver.shutdown().await;
    assert_eq!(host.ended(1).await.cause, ExitCause::Stopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flooded_log_is_bounded_and_says_so() {
    let mut host = host_with_neighbour().await;
    let (cause, log) = host
        .run(1, "flood-log", |spec| {
            spec.env.insert("LINES".to_owned(), "200000".to_owned());
            spec.logs.bytes_per_second = 20_000;
            spec.logs.segment_bytes = 100_000;
            spec.logs.segments = 2;
        })
        .await;
    assert_eq!(cause, ExitCause::Code(0));
    assert!(log.contains("pliant: dropped "), "{log}");
    assert!(log.contains("(log-bytes-per-second)"), "{log}");
    let on_disk: u64 = std::fs::read_dir(host.log_dir(1))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(on_disk <= 2 * 100_000 + 2 * 65_536, "{on_disk} bytes are kept");
    neighbour_goes_on(&host).await;
    end(host).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_files_are_bounded_for_each_guest() {
    let mut host = host_with_neighbour().await;
    let (cause, log) = host.run(1, "open-files", |_| {}).await;
    let ExitCause::Trap { message, .. } = &cause else { panic!("{cause:?}\n{log}") };
    assert!(message.contains("(handles)"), "{message}");
    neighbour_goes_on(&host).await;
    // The host itself can still open files.
    std::fs::File::open(common::guest_path("spin")).unwrap();
    end(host).await;
}
