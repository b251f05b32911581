//! Rollouts end to end: real components behind the router under load, failures that go back, words and
//! exit codes of the command line.

use pliant_tests::{cluster::Cluster, eventually, http};
use serde_json::Value;
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

/// Clients that ask without a pause.
const CLIENTS: usize = 4;

fn hello(cluster: &Cluster, colour: &str, update: &str) -> String {
    let spec = format!(
        "kind: service\ncount: 2\nenv: {{COLOUR: {colour}}}\n\
         ports: [{{name: http, protocol: http}}]\nresources: {{memory: 16Mi}}\n\
         service: {{route: {{host: hello.test}}, drain: 2s}}\n\
         update: {{minHealthyTime: 1s, {update}}}"
    );
    cluster.job("hello", "hello-http", &spec)
}

/// Requests through the router, from many clients, until it is told to end.
struct LoadOf {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl LoadOf {
    fn on(cluster: &Cluster) -> Self {
        let address = fs::read_to_string(cluster.data().join("routes.address")).unwrap();
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let client = |_| {
            let (stop, answered, address) =
                (Arc::clone(&stop), Arc::clone(&answered), address.clone());
            std::thread::spawn(move || {
                let ask = "GET / HTTP/1.1\r\nhost: hello.test\r\nconnection: close\r\n\r\n";
                let mut failed = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    match http::request(&address, ask) {
                        Ok((200, body)) if body.starts_with("Hello") => {
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        other => failed.push(format!("{other:?}")),
                    }
                }
                failed
            })
        };
        let clients = (0..CLIENTS).map(client).collect();
        Self { stop, answered, clients }
    }

    /// How many were answered, and every one that was not.
    fn end(self) -> (u64, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        let failed = self.clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        (self.answered.load(Ordering::Relaxed), failed)
    }
}

fn versions(cluster: &Cluster) -> Vec<u64> {
    let shown = cluster.json(&["execution", "list", "hello"]);
    let live = shown.as_array().cloned().unwrap_or_default();
    let live = live.iter().filter(|e| e["phase"] == "running");
    live.filter_map(|e| e["version"].as_u64()).collect()
}

fn newest(cluster: &Cluster) -> Value {
    cluster.json(&["rollout", "status", "hello"])
}

#[test]
fn a_rolling_update_under_load_fails_no_request() {
    let cluster = Cluster::up(&[]);
    let said = cluster.pliant(&["run", &hello(&cluster, "blue", "")]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(said.stderr.contains("✓ healthy: 2 of 2 tasks at version 1"), "{said:#?}");
    let load = LoadOf::on(&cluster);
    eventually("requests are answered", || {
        (load.answered.load(Ordering::Relaxed) > 50).then_some(())
    });
    let said = cluster.pliant(&["run", &hello(&cluster, "red", ""), "--wait", "done"]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(said.stderr.contains("at version 2"), "{said:#?}");
    let (answered, failed) = load.end();
    assert!(failed.is_empty(), "{} of {answered} failed: {:?}", failed.len(), &failed[..1]);
    assert_eq!(versions(&cluster), [2, 2]);
    let rollout = newest(&cluster);
    assert_eq!((&rollout["state"], &rollout["cause"]), (&"successful".into(), &"updated".into()));
}

#[test]
fn blue_green_under_load_switches_and_goes_back_without_a_failed_request() {
    let cluster = Cluster::up(&[]);
    cluster.ok(&["run", &hello(&cluster, "blue", "")]);
    eventually("version 1 is proven", || (newest(&cluster)["state"] == "successful").then_some(()));
    let load = LoadOf::on(&cluster);
    cluster.ok(&["run", &hello(&cluster, "green", "strategy: blue-green"), "--detach"]);
    eventually("the green set waits", || {
        (newest(&cluster)["state"] == "awaiting-promotion").then_some(())
    });
    let blue = cluster.json(&["status", "hello"])["status"]["endpoints"].clone();
    cluster.ok(&["rollout", "promote", "hello"]);
    let green = eventually("the green set serves", || {
        let now = cluster.json(&["status", "hello"])["status"]["endpoints"].clone();
        (now != blue).then_some(now)
    });
    assert_eq!((blue.as_array().map(Vec::len), green.as_array().map(Vec::len)), (Some(2), Some(2)));
    let said = cluster.ok(&["rollout", "abort", "hello"]);
    assert!(said.contains("is aborted"), "{said}");
    eventually("the blue set serves again", || {
        let now = cluster.json(&["status", "hello"])["status"]["endpoints"].clone();
        (now == blue).then_some(())
    });
    eventually("the way back is done", || {
        (newest(&cluster)["state"] == "successful").then_some(())
    });
    let (answered, failed) = load.end();
    assert!(failed.is_empty(), "{} of {answered} failed: {:?}", failed.len(), &failed[..1]);
    let rollout = newest(&cluster);
    assert_eq!(rollout["cause"], "auto-rollback");
}

#[test]
fn case_b10_b13_a_failed_update_goes_back_and_the_exit_code_says_so() {
    let cluster = Cluster::up(&[]);
    let spec = "kind: service\nresources: {memory: 8Mi}\nrestart: {policy: never}\n\
                update: {minHealthyTime: 500ms}";
    let good = cluster.job("clock", "ticker", spec);
    let said = cluster.pliant(&["run", &good, "--wait", "done"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let bad = cluster.job("clock", "trap", spec);
    let said = cluster.pliant(&["run", &bad]);
    assert_eq!(said.code, 9, "{said:#?}");
    for words in
        ["✗ rollout", "trapped", "last lines of", "rolled back to version 3, a copy of version 1"]
    {
        assert!(said.stderr.contains(words), "{words}: {said:#?}");
    }
    let rollout = eventually("the way back is done", || {
        let now = cluster.json(&["rollout", "status", "clock"]);
        (now["state"] == "successful").then_some(now)
    });
    assert_eq!(rollout["version"], 3);
    let listed = cluster.ok(&["rollout", "list", "clock"]);
    assert!(listed.contains("auto-rollback") && listed.contains("failed"), "{listed}");
    let said = cluster.pliant(&["run", &bad, "--detach"]);
    assert!(said.stderr.contains("it equals version 2, which failed"), "case B17: {said:#?}");
}

#[test]
fn a_first_version_that_traps_fails_fast_with_its_last_words() {
    let cluster = Cluster::up(&[]);
    let spec = "kind: service\nresources: {memory: 8Mi}\nrestart: {policy: never}";
    let said = cluster.pliant(&["run", &cluster.job("bad", "trap", spec)]);
    assert_eq!(said.code, 9, "{said:#?}");
    assert!(said.stderr.contains("nothing was rolled back"), "{said:#?}");
    let shown = cluster.json(&["status", "bad"]);
    let degraded = shown["status"]["conditions"].to_string();
    assert!(degraded.contains("Degraded"), "{degraded}");
}

#[test]
fn memory_grows_in_place_and_a_superseded_wait_is_no_success() {
    let cluster = Cluster::up(&[]);
    let spec = |mib: u32| {
        format!("kind: service\nresources: {{memory: {mib}Mi}}\nupdate: {{minHealthyTime: 500ms}}")
    };
    cluster.ok(&["run", &cluster.job("clock", "ticker", &spec(8)), "--wait", "done"]);
    let before = cluster.json(&["execution", "list", "clock"])[0]["id"].clone();
    cluster.ok(&["run", &cluster.job("clock", "ticker", &spec(32)), "--wait", "done"]);
    let after = cluster.json(&["execution", "list", "clock"]);
    let live: Vec<_> =
        after.as_array().unwrap().iter().filter(|e| e["phase"] == "running").collect();
    assert_eq!((live.len(), &live[0]["id"], &live[0]["attempt"]), (1, &before, &1.into()));

    let never = spec(8) + "\nplacement: {constraints: [\"host = nowhere\"]}";
    let file = cluster.job("clock", "ticker", &never);
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| cluster.pliant(&["run", &file]));
        eventually("the third version is submitted", || {
            (cluster.json(&["job", "show", "clock"])["metadata"]["currentVersion"] == 3)
                .then_some(())
        });
        // Another directory, so that the file of the first is left alone.
        cluster.ok(&["rollback", "clock", "--to", "2", "--detach"]);
        waiting.join().unwrap()
    });
    assert_eq!(waiting.code, 5, "case D35: {waiting:#?}");
    assert!(waiting.stderr.contains("version 4 took over"), "{waiting:#?}");
}
