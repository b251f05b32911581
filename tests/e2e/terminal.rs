//! What the command line makes of mistakes on this machine: streams that cannot be written, files
//! that are none, directories that do not belong together; and of the end of its terminal.

use pliant_tests::{
    binary,
    cluster::{Cluster, Said, alone},
};
use std::{
    fs,
    process::{Command, Stdio},
};

/// Runs the CLI with a stdout on which there is never space.
fn on_full(args: &[&str]) -> (Option<i32>, String) {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(binary());
    let output = command.args(args).stdin(Stdio::null()).stdout(full).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_result_that_cannot_be_written_is_one_line_and_no_crash() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("job.yaml");
    fs::write(&file, "apiVersion: pliant.dev/v1\nmetadata: {name: a}\nspec: {kind: batch, engine: {wasm: {component: \"file://a.wasm\"}}}\n").unwrap();
    let valid = ["validate", file.to_str().unwrap()];
    for args in [&["explain", "no-room"][..], &["completion", "bash"], &["--help"], &valid] {
        let (code, said) = on_full(args);
        assert_eq!(code, Some(1), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        assert!(said.contains("stdout"), "{args:?}: {said}");
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let nobody = ["ps", "--addr", "127.0.0.1:9", "--data-dir", "/nonexistent"];
    let status = Command::new(binary()).args(nobody).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(7), "stderr is for people; nobody reading it changes nothing");
}

#[test]
fn commands_that_need_no_controller_answer_programs_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("job.yaml");
    fs::write(
        &file,
        "apiVersion: pliant.dev/v1\nmetadata: {name: a}\nspec: {kind: batch, cuont: 1}\n",
    )
    .unwrap();
    let json = |said: &Said| -> serde_json::Value { serde_json::from_str(&said.stdout).unwrap() };
    let checked = alone(&["validate", file.to_str().unwrap(), "-o", "json"]);
    assert_eq!((checked.code, &json(&checked)[0]["valid"]), (3, &false.into()), "{checked:#?}");
    for what in ["trapped", "no-room", "port-in-use", "spec.count"] {
        let explained = alone(&["explain", what, "-o", "json"]);
        assert!(json(&explained).is_object(), "{explained:#?}");
    }
}

#[test]
fn a_flag_that_cannot_be_used_leaves_no_directory_behind() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data_dir = data.to_str().unwrap();
    let any = "127.0.0.1:0";
    for (flags, code, word) in [
        (["--listen", &taken, "--route-listen", any], 5, "port-in-use"),
        (["--listen", any, "--route-listen", &taken], 5, "port-in-use"),
        (["--listen", any, "--ready-file", "/nonexistent/x"], 3, "file-unusable"),
    ] {
        let said = alone(&[&["up", "--data-dir", data_dir][..], &flags].concat());
        assert_eq!(said.code, code, "{flags:?}: {said:#?}");
        assert!(said.stderr.contains(word), "{flags:?}: {said:#?}");
        assert!(!data.exists(), "{flags:?}");
    }
}

#[test]
fn mistakes_with_files_are_not_told_as_faults_of_pliant() {
    let cluster = Cluster::up(&[]);
    let lines = cluster.dir().join("lines");
    fs::write(&lines, "one\ntwo\n").unwrap();
    let digest = format!("sha256:{}", "0".repeat(64));
    for (args, code, word) in [
        (vec!["ps", "--token-file", lines.to_str().unwrap()], 6, "unauthorized"),
        (vec!["component", "inspect", "/"], 3, "file-unusable"),
        (vec!["artifact", "pull", &digest, "/nonexistent/x/y"], 3, "file-unusable"),
        (vec!["journal", "salvage", "--to", "1"], 5, "wrong-state"),
    ] {
        let said = cluster.pliant(&args);
        assert_eq!(said.code, code, "{args:?}: {said:#?}");
        assert!(said.stderr.contains(word), "{args:?}: {said:#?}");
    }
    let other = cluster.dir().join("other");
    let flags = ["--listen", "127.0.0.1:0", "--allow-mount", "/nonexistent"];
    let args = [&["up", "--data-dir", other.to_str().unwrap()][..], &flags].concat();
    let said = alone(&args);
    assert_eq!(said.code, 3, "{said:#?}");
    assert!(said.stderr.contains("/nonexistent"), "{said:#?}");
}

#[test]
fn a_closed_terminal_stops_it_in_order() {
    let mut cluster = Cluster::up(&[]);
    assert_eq!(cluster.signal("-HUP"), 0, "{}", cluster.log());
    assert!(!cluster.data().join("address").exists());
    let said = cluster.pliant(&["journal", "check"]);
    assert_eq!(said.code, 0, "{said:#?}");
}

#[test]
fn a_controller_that_does_not_know_the_ledgers_host_is_told_with_the_way_out() {
    let mut cluster = Cluster::up(&[]);
    cluster.interrupt();
    let data = cluster.data().to_str().unwrap().to_owned();
    let sound = cluster.pliant(&["journal", "salvage", "--to", "0"]);
    assert_eq!(sound.code, 5, "it is sound: {sound:#?}");
    cluster.ok(&["journal", "salvage", "--to", "0", "--give-up-sound"]);
    for lost in [false, true] {
        if lost {
            fs::remove_dir_all(cluster.data().join("controller")).unwrap();
        }
        let said = alone(&["up", "--listen", "127.0.0.1:0", "--data-dir", &data]);
        assert_eq!(said.code, 5, "{said:#?}");
        let ledger = cluster.data().join("agent/ledger");
        assert!(said.stderr.contains(ledger.to_str().unwrap()), "{said:#?}");
        assert!(said.stderr.contains("aside"), "{said:#?}");
    }
    fs::rename(cluster.data().join("agent/ledger"), cluster.dir().join("ledger")).unwrap();
    cluster.start();
    cluster.ok(&["ps"]);
}
