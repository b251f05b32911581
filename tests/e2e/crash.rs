//! `kill -9` in the middle of everything: what was acknowledged is there, nothing runs twice.

use pliant_client::{Client, Config, Submission, Token};
use pliant_tests::{cluster::Cluster, eventually, guest};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

const SUBMISSIONS: usize = 1_000;
/// The kill comes when so many are acknowledged.
const KILL_AFTER: usize = 400;
/// Clients that submit at once.
const CLIENTS: usize = 16;

fn client(cluster: &Cluster) -> Client {
    let mut config = Config::new(&cluster.address()).with_token(Some(Token::new(&cluster.token())));
    config.attempts = 1;
    Client::new(config).unwrap()
}

fn submission(number: usize, digest: &str) -> Submission {
    let name = format!("job-{number}");
    let text = format!(
        "apiVersion: pliant.dev/v1\nmetadata: {{name: {name}}}\nspec:\n  kind: service\n  engine: {{wasm: {{component: \"{digest}\"}}}}\n  resources: {{cpu: 1m, memory: 1Mi}}\n  ports: [{{name: http, protocol: http}}]\n"
    );
    Submission {
        namespace: "default".parse().unwrap(),
        name: name.parse().unwrap(),
        text,
        format: pliant_api::parse::Format::Yaml,
        query: pliant_api::body::SubmitQuery::default(),
        expect: None,
        key: pliant_client::IdempotencyKey::random(),
    }
}

#[test]
fn kill_9_in_the_middle_of_1000_submissions_loses_nothing_acknowledged() {
    let mut cluster = Cluster::up(&["--cpu", "2"]);
    let digest = cluster.ok(&["artifact", "push", guest("hello-http").to_str().unwrap()]);
    let digest = digest.trim().to_owned();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let submitting = {
        let client = Arc::new(client(&cluster));
        let acknowledged = Arc::clone(&acknowledged);
        runtime.spawn(async move {
            let mut clients = tokio::task::JoinSet::new();
            for lane in 0..CLIENTS {
                let (client, acknowledged, digest) =
                    (Arc::clone(&client), Arc::clone(&acknowledged), digest.clone());
                clients.spawn(async move {
                    let mut known = Vec::new();
                    for number in (lane..SUBMISSIONS).step_by(CLIENTS) {
                        match client.submit(&submission(number, &digest)).await {
                            Ok(answer) => known.push((answer.name.to_string(), answer.uid)),
                            Err(_) => return known,
                        }
                        acknowledged.fetch_add(1, Ordering::SeqCst);
                    }
                    known
                });
            }
            clients.join_all().await.concat()
        })
    };
    eventually("enough is acknowledged", || {
        (acknowledged.load(Ordering::SeqCst) >= KILL_AFTER).then_some(())
    });
    cluster.kill();
    let known: BTreeMap<_, _> = runtime.block_on(submitting).unwrap().into_iter().collect();
    assert!(known.len() >= KILL_AFTER && known.len() < SUBMISSIONS, "killed in the middle");

    cluster.start();
    let jobs = cluster.json(&["job", "list"]);
    let there: BTreeMap<_, _> = jobs
        .as_array()
        .unwrap()
        .iter()
        .map(|job| {
            (job["name"].as_str().unwrap().to_owned(), job["uid"].as_str().unwrap().to_owned())
        })
        .collect();
    for (name, uid) in &known {
        let uid = uid.expect("a job has an id").to_string();
        assert_eq!(there.get(name), Some(&uid), "{name} was acknowledged");
    }
    let executions = eventually("every job runs again", || {
        let jobs = cluster.json(&["job", "list"]);
        let up = jobs.as_array()?.iter().all(|job| job["tasks"]["running"] == 1);
        up.then(|| cluster.json(&["execution", "list"]))
    });
    let mut live: BTreeMap<String, u32> = BTreeMap::new();
    for execution in executions.as_array().unwrap() {
        if execution["phase"] == "running" {
            *live.entry(execution["job"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert_eq!(live.len(), there.len());
    assert!(live.values().all(|count| *count == 1), "nothing runs twice");
    assert_eq!(cluster.interrupt(), 0);
    let check = cluster.pliant(&["journal", "check"]);
    assert_eq!(check.code, 0, "{check:#?}");
    assert!(check.stdout.contains("sound"), "{check:#?}");
    cluster.ok(&["journal", "trim"]);
    let dumped = cluster.pliant(&["journal", "dump"]);
    assert_eq!(dumped.code, 0, "{dumped:#?}");
}

#[test]
fn a_batch_task_whose_end_was_told_is_not_run_again_after_kill_9() {
    let mut cluster = Cluster::up(&["--allow-mount", "/usr/share/common-licenses"]);
    let spec = "args: [/text/GPL-3]\nkind: batch\nmounts: [{source: /usr/share/common-licenses, target: /text}]";
    cluster.ok(&["run", &cluster.job("words", "word-count", spec)]);
    let before = cluster.json(&["execution", "list"]);
    cluster.kill();
    cluster.start();
    assert_eq!(cluster.json(&["job", "show", "words"])["status"]["runState"], "completed");
    let after = cluster.json(&["execution", "list"]);
    assert_eq!(before[0]["attempt"], after[0]["attempt"]);
    assert_eq!(after.as_array().unwrap().len(), 1);
    cluster.ok(&["job", "results", "words", "--cat", "words.txt"]);
}

#[test]
fn two_ups_on_one_directory_the_second_is_refused_and_the_first_goes_on() {
    let cluster = Cluster::up(&[]);
    let second = cluster.pliant(&["up", "--listen", "127.0.0.1:0"]);
    assert_ne!(second.code, 0);
    assert!(second.stderr.contains("in use by"), "{second:#?}");
    cluster.ok(&["ps"]);
}
