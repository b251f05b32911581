//! Bad input: each a clear error with a code and what to do; the service stays up.

use pliant_tests::{
    cluster::{Cluster, alone},
    guest,
};
use std::fs;

fn write(cluster: &Cluster, name: &str, text: &[u8]) -> String {
    let path = cluster.dir().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn every_mistake_of_a_file_is_told_at_once_with_its_place() {
    let cluster = Cluster::up(&[]);
    let text = b"apiVersion: pliant.dev/v1\nmetadata: {name: web, nmae: x}\nspec:\n  kind: servce\n  cuont: 3\n  resources: {cpu: fast}\n";
    let file = write(&cluster, "bad.yaml", text);
    let said = cluster.pliant(&["run", &file]);
    assert_eq!(said.code, 3, "{said:#?}");
    for part in ["bad.yaml:2:", "nmae", "bad.yaml:4:", "bad.yaml:5:", "count", "bad.yaml:6:", "do:"]
    {
        assert!(said.stderr.contains(part), "{part} is missing in {}", said.stderr);
    }
    let twice = write(&cluster, "twice.yaml", b"apiVersion: pliant.dev/v1\nmetadata: {name: a}\nspec:\n  kind: batch\n  env: {A: x, A: y}\n");
    let said = cluster.pliant(&["validate", &twice]);
    assert_eq!(said.code, 3, "case V16: {said:#?}");
    assert!(said.stderr.contains("twice.yaml:5:"), "{said:#?}");
    cluster.ok(&["ps"]);
}

#[test]
fn names_with_a_slash_a_nul_or_64_characters_are_refused() {
    let cluster = Cluster::up(&[]);
    let long = "a".repeat(64);
    for (case, name) in [("N8", "a/b"), ("N5", "a\\0b"), ("long", long.as_str()), ("N8", "///")] {
        let text = format!(
            "apiVersion: pliant.dev/v1\nmetadata: {{name: \"{name}\"}}\nspec: {{kind: batch}}\n"
        );
        let file = write(&cluster, "name.yaml", text.as_bytes());
        let said = cluster.pliant(&["run", &file]);
        assert_eq!(said.code, 3, "case {case}: {said:#?}");
        assert!(said.stderr.contains("job name"), "{said:#?}");
    }
    let said = cluster.pliant(&["stop", "no-such-job"]);
    assert_eq!(said.code, 4, "case N2: {said:#?}");
    assert!(said.stderr.contains("job-not-found") && said.stderr.contains("do:"), "{said:#?}");
}

#[test]
fn what_is_not_a_component_is_refused_by_name() {
    let cluster = Cluster::up(&[]);
    let whole = fs::read(guest("hello-http")).unwrap();
    let text = write(&cluster, "text.wasm", b"this is not wasm at all");
    let cut = write(&cluster, "cut.wasm", &whole[..whole.len() / 2]);
    let huge = cluster.dir().join("huge.wasm");
    fs::File::create(&huge).unwrap().set_len(300 << 20).unwrap();
    for (component, words) in
        [(text.as_str(), "not a wasm"), (cut.as_str(), ""), (huge.to_str().unwrap(), "at most")]
    {
        let job = format!(
            "apiVersion: pliant.dev/v1\nmetadata: {{name: bad}}\nspec:\n  kind: batch\n  engine: {{wasm: {{component: \"file://{component}\"}}}}\n"
        );
        let file = write(&cluster, "bad.yaml", job.as_bytes());
        let said = cluster.pliant(&["run", &file]);
        assert_eq!(said.code, 3, "{component}: {said:#?}");
        assert!(
            said.stderr.contains(words) && said.stderr.contains("do:"),
            "{component}: {said:#?}"
        );
    }
    let inspected = alone(&["component", "inspect", guest("hello-http").to_str().unwrap()]);
    assert!(inspected.stdout.contains("component http"), "{inspected:#?}");
    cluster.ok(&["ps"]);
}

#[test]
fn a_port_in_use_and_an_unwritable_directory_are_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let cluster = Cluster::up(&[]);
    let other = cluster.dir().join("other");
    let said = alone(&["up", "--listen", &address, "--data-dir", other.to_str().unwrap()]);
    assert_ne!(said.code, 0);
    assert!(said.stderr.contains("--listen") && said.stderr.contains(&address), "{said:#?}");
    let said = alone(&["up", "--listen", "127.0.0.1:0", "--data-dir", "/proc/pliant"]);
    assert_ne!(said.code, 0);
    assert!(
        said.stderr.contains("/proc/pliant") && said.stderr.contains("--data-dir"),
        "{said:#?}"
    );
    let said = alone(&["up", "--listen", "0.0.0.0:0", "--data-dir", other.to_str().unwrap()]);
    assert!(said.stderr.contains("loopback"), "{said:#?}");

    let port = taken.local_addr().unwrap().port();
    let spec = format!(
        "kind: batch\nrestart: {{policy: never}}\nports: [{{name: http, protocol: http, static: {port}}}]"
    );
    let said = cluster.pliant(&["run", &cluster.job("web", "hello-http", &spec)]);
    assert_eq!(said.code, 10, "{said:#?}");
    assert!(said.stderr.contains("port-in-use"), "{said:#?}");
}

#[test]
fn no_token_no_answer_and_the_errors_explain_themselves() {
    let cluster = Cluster::up(&[]);
    let (status, body) = pliant_tests::http::get(&cluster.address(), "/v1/jobs").unwrap();
    assert_eq!(status, 401);
    assert!(body.contains("\"code\":\"unauthorized\""), "{body}");
    let address = cluster.address();
    let foreign = "GET /v1/jobs HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    let (status, _) = pliant_tests::http::request(&address, foreign).unwrap();
    assert_eq!(status, 403, "another host name has no business on loopback");
    let (status, body) = pliant_tests::http::get(&address, "/healthz").unwrap();
    assert_eq!((status, body.trim()), (200, "ok"));
    let explained = alone(&["explain", "no-room"]);
    assert!(explained.stdout.contains("no-room"), "{explained:#?}");
    let nobody = alone(&["ps", "--addr", "127.0.0.1:9", "--data-dir", "/nonexistent"]);
    assert_eq!(nobody.code, 7, "{nobody:#?}");
    assert_eq!(alone(&["no-such-command"]).code, 2);
}

/// A small filesystem of its own, where the machine allows to mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(mib: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let size = format!("size={mib}m");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(dir.path())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_refuses_new_work_and_still_takes_stops() {
    let Some(disk) = SmallDisk::mount(96) else {
        eprintln!("skipped: this machine does not allow to mount a tmpfs");
        return;
    };
    let data = disk.0.path().join("data");
    let cluster = Cluster::up_in(tempfile::tempdir().unwrap(), data, &[]);
    let file =
        cluster.job("web", "hello-http", "kind: service\nports: [{name: http, protocol: http}]");
    cluster.ok(&["run", &file]);
    let filler = disk.0.path().join("filler");
    let mut size = 90_u64 << 20;
    while size > 1 << 16 {
        let wrote =
            fs::OpenOptions::new().append(true).create(true).open(&filler).and_then(|mut file| {
                std::io::Write::write_all(&mut file, &vec![0; usize::try_from(size).unwrap()])
            });
        if wrote.is_err() {
            size /= 2;
        }
    }
    let second = cluster.job("web-2", "hello-http", "kind: service");
    let said = cluster.pliant(&["run", &second, "--detach"]);
    assert_ne!(said.code, 0, "{said:#?}");
    // A write that was under way when the disk filled makes the journal open again, which says why.
    let told = said.stderr.contains("no-space") || said.stderr.contains("No space left");
    assert!(told, "{said:#?}");
    cluster.ok(&["ps"]);
    fs::remove_file(&filler).unwrap();
    pliant_tests::eventually("new work is taken again", || {
        (cluster.pliant(&["run", &second, "--detach"]).code == 0).then_some(())
    });
    cluster.ok(&["stop", "web"]);
}

#[test]
fn a_reader_that_closes_the_pipe_ends_no_command_with_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let fields: String = (0..5_000).map(|n| format!("  K{n}: v\n")).collect();
    let file = dir.path().join("errors.yaml");
    let text =
        format!("apiVersion: pliant.dev/v1\nmetadata: {{name: a}}\nspec:\n  kind: batch\n{fields}");
    std::fs::write(&file, text).unwrap();
    let pliant = pliant_tests::binary().display().to_string();
    let shell = |script: &str| {
        let said = std::process::Command::new("bash").args(["-c", script]).output().unwrap();
        String::from_utf8_lossy(&said.stdout).into_owned()
    };
    let file = file.display();
    let wrong = shell(&format!(
        "'{pliant}' validate '{file}' 2>&1 | head -n 3 >/dev/null; echo ${{PIPESTATUS[0]}}"
    ));
    assert_eq!(wrong.trim(), "3", "the code is the answer's, whoever reads the words");
    let all = shell(&format!("'{pliant}' validate '{file}' 2>&1"));
    assert!(all.lines().count() < 200 && all.contains("more\n"), "{all}");
    let help = shell(&format!(
        "'{pliant}' completion bash | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    ));
    assert_eq!(help.trim(), "0");
}

#[test]
fn pipes_devices_and_files_that_exist_are_left_alone() {
    let cluster = Cluster::up(&[]);
    for device in ["/dev/zero", "/dev/full"] {
        let text = format!(
            "apiVersion: pliant.dev/v1\nmetadata: {{name: a}}\nspec: {{kind: batch, engine: {{wasm: {{component: \"file://{device}\"}}}}}}\n"
        );
        let file = cluster.dir().join("device.yaml");
        std::fs::write(&file, text).unwrap();
        let said = cluster.pliant(&["run", file.to_str().unwrap()]);
        assert_eq!(said.code, 3, "{said:#?}");
        assert!(said.stderr.contains("no regular file"), "{said:#?}");
    }
    let endless = cluster.pliant(&["validate", "/dev/zero"]);
    assert!(endless.code == 3 && endless.stderr.contains("more than"), "{endless:#?}");
    let pushed = cluster.json(&["artifact", "push", guest("ticker").to_str().unwrap()]);
    let kept = cluster.dir().join("kept");
    std::fs::write(&kept, "mine").unwrap();
    let digest = pushed["digest"].as_str().unwrap();
    let pulled = cluster.pliant(&["artifact", "pull", digest, kept.to_str().unwrap()]);
    assert_eq!(pulled.code, 5, "{pulled:#?}");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "mine");
}

#[test]
fn words_of_users_reach_no_terminal_as_control_characters() {
    let cluster = Cluster::up(&[]);
    let file = cluster.job("ticker", "ticker", "kind: service\ncount: 0");
    cluster.ok(&["run", &file, "--detach", "-m", "\u{1b}]0;title\u{7}\u{1b}[31mred"]);
    for command in
        [&["job", "versions", "ticker"][..], &["job", "show", "ticker", "--version", "1"]]
    {
        let said = cluster.ok(command);
        assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said:?}");
    }
}

/// Of several first starts on one directory one wins, and its token is the one that clients find.
#[test]
fn first_starts_at_the_same_time_agree_on_one_token() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let start = || {
        std::process::Command::new(pliant_tests::binary())
            .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut started: Vec<_> = (0..3).map(|_| start()).collect();
    let listed =
        pliant_tests::eventually("the winner answers with the token that is found", || {
            let said = std::process::Command::new(pliant_tests::binary())
                .args(["ps", "--data-dir"])
                .arg(&data)
                .output()
                .unwrap();
            said.status.success().then_some(said)
        });
    assert!(listed.status.success());
    for process in &mut started {
        let _ = process.kill();
        let _ = process.wait();
    }
}
