//! What cannot run is refused with a reason, and the driver stays usable.

#![allow(clippy::unwrap_used, clippy::panic)] // a test helper is a test

mod common;

use std::fs::File;

use common::{Host, artifact_at, guest, http_port, port};
use pliant_driver::{
    Artifact, Driver, DriverError, ExitCause, Phase, PortNumber, PortProtocol, Progress,
    SilentProgress,
};
use pliant_types::Digest;

async fn problems(host: &Host, bytes: &[u8]) -> String {
    let path = host.dir.path().join("artifact");
    std::fs::write(&path, bytes).unwrap();
    match host.driver.prepare(&artifact_at(path), &SilentProgress).await {
        Err(DriverError::ArtifactInvalid { problems, .. }) => problems.join("; "),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_what_is_wrong_with_an_artifact() {
    let host = Host::new();
    let hello = std::fs::read(common::guest_path("hello-http")).unwrap();
    assert!(problems(&host, b"#!/bin/sh\n").await.contains("not a Wasm file"));
    assert!(problems(&host, b"").await.contains("empty"));
    assert!(problems(&host, b"(module)").await.contains("text format"));
    for cut in [2, 100, hello.len() / 2, hello.len() - 1] {
        let text = problems(&host, &hello[..cut]).await;
        assert!(text.contains("cut off"), "cut at {cut}: {text}");
    }
    let text = problems(&host, b"\0asm\x01\0\0\0").await;
    assert!(text.contains("nothing can be started"), "{text}");
    // And one that is in order still runs.
    host.prepare(&guest("exit-code")).await;
}

struct Phases(std::sync::Mutex<Vec<Phase>>);

impl Progress for Phases {
    fn phase(&self, phase: Phase) {
        self.0.lock().unwrap().push(phase);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_file_is_refused_by_its_size_before_it_is_read() {
    let host = Host::new();
    let path = host.dir.path().join("huge");
    // Sparse: reading it would still take its whole size in memory.
    File::create(&path).unwrap().set_len(300 << 20).unwrap();
    let artifact = Artifact { digest: Digest::new([0; 32]), path };
    let error = host.driver.prepare(&artifact, &SilentProgress).await.unwrap_err();
    assert_eq!(error.code(), "artifact-too-large");
    assert!(error.is_permanent());
    let text = error.to_string();
    assert!(text.contains("314572800") && text.contains("33554432"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_do_not_match_their_digest_are_refused() {
    let host = Host::new();
    let mut artifact = guest("exit-code");
    artifact.digest = Digest::new([7; 32]);
    let error = host.driver.prepare(&artifact, &SilentProgress).await.unwrap_err();
    assert_eq!(error.code(), "digest-mismatch");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_digest_is_remembered() {
    let host = Host::new();
    let path = host.dir.path().join("artifact");
    std::fs::write(&path, "not wasm").unwrap();
    let artifact = artifact_at(path.clone());
    let first = host.driver.prepare(&artifact, &SilentProgress).await.unwrap_err();
    // Without the memory the second try would fail for want of the file.
    std::fs::remove_file(path).unwrap();
    let phases = Phases(std::sync::Mutex::default());
    let second = host.driver.prepare(&artifact, &phases).await.unwrap_err();
    assert_eq!(first.to_string(), second.to_string());
    assert_eq!(*phases.0.lock().unwrap(), [Phase::Verifying]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compile_worker_that_dies_is_an_error_and_not_a_crash() {
    let host = Host::with(|settings| {
        settings.cache_dir = tempfile::tempdir().unwrap().keep();
        settings.compiler.program = "/bin/false".into();
    });
    let error = host.driver.prepare(&guest("exit-code"), &SilentProgress).await.unwrap_err();
    assert_eq!(error.code(), "compile-failed");

    let host = Host::with(|settings| {
        settings.cache_dir = tempfile::tempdir().unwrap().keep();
        settings.compiler.program = "/no/such/program".into();
    });
    let error = host.driver.prepare(&guest("exit-code"), &SilentProgress).await.unwrap_err();
    assert_eq!(error.code(), "engine");
    assert!(!error.is_permanent(), "the host's doing, not the artifact's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_with_a_flipped_byte_is_compiled_again() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let artifact = guest("exit-code");
    let prepare = async || {
        let host = Host::with(|settings| settings.cache_dir = cache.clone());
        host.driver.prepare(&artifact, &SilentProgress).await.unwrap().compiled
    };
    assert!(prepare().await);
    assert!(!prepare().await, "the next process finds it");
    let code = std::fs::read_dir(&cache)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "code"))
        .unwrap();
    let mut bytes = std::fs::read(&code).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&code, bytes).unwrap();
    assert!(prepare().await, "what was changed is not believed");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&cache).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ports_in_use_and_of_the_wrong_kind_are_named() {
    let host = Host::new();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let number = other.local_addr().unwrap().port();
    let wanted = port("web", PortProtocol::Http, PortNumber::Static(number));
    let error = host.start(1, "hello-http", |spec| spec.ports = vec![wanted]).await.unwrap_err();
    assert_eq!(error.to_string(), format!("port web ({number}) is in use on this host"));
    assert_eq!(error.code(), "port-in-use");

    let error = host.start(2, "ticker", |spec| spec.ports = vec![http_port()]).await.unwrap_err();
    assert_eq!(error.code(), "port-invalid");
    assert!(error.to_string().contains("is a command"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_mount_and_a_bad_grant_fail_the_start() {
    let mut host = Host::new();
    let missing = common::read_only("/no/such/directory", "/data");
    let error = host.start(1, "exit-code", |spec| spec.mounts = vec![missing]).await.unwrap_err();
    assert_eq!(error.code(), "mount-unavailable");
    let error = host
        .start(1, "exit-code", |spec| spec.grants.http_out = vec!["ftp://host".to_owned()])
        .await
        .unwrap_err();
    assert_eq!(error.code(), "grant-invalid");
    // Nothing is left behind: the same execution starts when the spec is right.
    let (cause, _) = host.run(1, "exit-code", |spec| spec.args = vec!["4".to_owned()]).await;
    assert_eq!(cause, ExitCause::Code(4));
}
