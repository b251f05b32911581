//! The stories of the README: an HTTP service, a batch job with results, stop and go on.

use pliant_tests::{cluster::Cluster, eventually, http};

const SERVICE: &str =
    "kind: service\nports: [{name: http, protocol: http}]\nresources: {memory: 16Mi}";

fn endpoint(cluster: &Cluster, job: &str) -> Option<String> {
    let view = cluster.json(&["job", "show", job]);
    view["status"]["endpoints"][0].as_str().map(str::to_owned)
}

#[test]
fn an_http_component_answers_and_survives_a_clean_restart() {
    let mut cluster = Cluster::up(&[]);
    let file = cluster.job("hello", "hello-http", SERVICE);
    let said = cluster.pliant(&["run", &file]);
    assert_eq!(said.code, 0, "{said:#?}\n{}", cluster.log());
    assert!(said.stdout.contains("job hello created: version 1"), "{said:#?}");
    let address = endpoint(&cluster, "hello").expect("an endpoint");
    let (status, body) = http::get(&address, "/").unwrap();
    assert_eq!(status, 200);
    assert!(body.to_lowercase().contains("hello"), "{body:?}");

    let again = cluster.pliant(&["run", &file]);
    assert!(again.stdout.contains("unchanged: version 1"), "{again:#?}");
    let shown = cluster.ok(&["job", "show", "hello", "-o", "yaml"]);
    let round = cluster.dir().join("round.yaml");
    std::fs::write(&round, shown).unwrap();
    let trip = cluster.pliant(&["run", round.to_str().unwrap()]);
    assert!(trip.stdout.contains("unchanged") && !trip.stderr.contains("warning"), "{trip:#?}");

    assert_eq!(cluster.interrupt(), 0, "Ctrl-C is a clean end: {}", cluster.log());
    cluster.start();
    let body = eventually("the service answers again", || {
        http::get(&endpoint(&cluster, "hello")?, "/").ok().filter(|(status, _)| *status == 200)
    });
    assert!(body.1.to_lowercase().contains("hello"));
    let executions = cluster.json(&["execution", "list"]);
    assert_eq!(executions.as_array().unwrap().len(), 1, "the same execution, another attempt");

    cluster.ok(&["stop", "hello"]);
    assert!(cluster.ok(&["ps"]).contains("stopped"));
    cluster.ok(&["start", "hello"]);
    cluster.ok(&["delete", "hello"]);
    assert!(!cluster.ok(&["ps", "-o", "name"]).contains("hello"));
}

#[test]
fn a_batch_component_reads_a_mounted_text_and_its_results_are_kept() {
    let cluster = Cluster::up(&["--allow-mount", "/usr/share/common-licenses"]);
    let spec = "args: [/text/GPL-3]\nkind: batch\nmounts: [{source: /usr/share/common-licenses, target: /text}]";
    let file = cluster.job("words", "word-count", spec);
    let said = cluster.pliant(&["run", &file]);
    assert_eq!(said.code, 0, "{said:#?}\n{}", cluster.log());
    assert!(said.stderr.contains("1 of 1 tasks completed"), "{said:#?}");
    let table = cluster.ok(&["job", "results", "words", "--cat", "words.txt"]);
    assert!(table.lines().next().is_some_and(|line| line.trim().ends_with("the")), "{table}");
    let logs = cluster.ok(&["logs", "words"]);
    assert!(logs.contains("different, in /text/GPL-3"), "{logs}");
    let out = cluster.dir().join("out");
    cluster.ok(&["job", "results", "words", "--extract", out.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(out.join("words.txt")).unwrap(), table);
    assert!(cluster.ok(&["why", "words"]).contains("completed"));
    assert!(cluster.ok(&["job", "events", "words"]).contains("job-ended"));
}

#[test]
fn a_mount_that_the_host_does_not_allow_is_refused_with_words() {
    let cluster = Cluster::up(&[]);
    let spec = "args: [/text/GPL-3]\nkind: batch\nrestart: {policy: never}\nmounts: [{source: /usr/share/common-licenses, target: /text}]";
    let said = cluster.pliant(&["run", &cluster.job("words", "word-count", spec)]);
    assert_eq!(said.code, 10, "{said:#?}");
    assert!(said.stderr.contains("not-granted"), "{said:#?}");
}

#[test]
fn logs_follow_a_service_and_env_reaches_it() {
    let cluster = Cluster::up(&[]);
    let spec = "kind: service\nenv: {INTERVAL_MS: \"50\"}";
    let said = cluster.pliant(&["run", &cluster.job("ticker", "ticker", spec)]);
    assert_eq!(said.code, 0, "{said:#?}");
    let lines = eventually("some lines", || {
        let logs = cluster.ok(&["logs", "ticker"]);
        (logs.lines().count() >= 3).then_some(logs)
    });
    assert!(!lines.is_empty());
    let tail = cluster.ok(&["logs", "ticker", "--tail", "1"]);
    assert_eq!(tail.lines().count(), 1, "{tail}");
}

#[test]
fn a_trap_ends_the_wait_with_the_backtrace_and_the_last_lines() {
    let cluster = Cluster::up(&[]);
    let spec = "kind: batch\nrestart: {policy: never}";
    let said = cluster.pliant(&["run", &cluster.job("trap", "trap", spec)]);
    assert_eq!(said.code, 10, "{said:#?}");
    assert!(said.stderr.contains("trapped"), "{said:#?}");
    let why = cluster.ok(&["why", "trap"]);
    assert!(why.contains("trapped") && why.contains("pliant logs trap"), "{why}");
}

#[test]
fn a_daemon_and_an_ops_job_have_one_task_on_the_host() {
    let cluster = Cluster::up(&[]);
    cluster.ok(&["run", &cluster.job("log", "ticker", "kind: daemon")]);
    cluster.ok(&[
        "run",
        &cluster.job("fix", "word-count", "args: [/none]\nkind: ops\nrestart: {policy: never}"),
        "--detach",
    ]);
    let ended = eventually("the ops job has ended", || {
        let view = cluster.json(&["job", "show", "fix"]);
        (view["status"]["runState"] == "failed").then_some(view)
    });
    assert_eq!(ended["status"]["size"], 1);
    assert!(cluster.ok(&["ps"]).contains("daemon"));
}
