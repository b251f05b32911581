//! Names and versions end to end: plan, saved plans, history, rollback, tags, runs, namespaces, races.

use pliant_tests::{cluster::Cluster, eventually, guest, http};
use std::sync::atomic::{AtomicU32, Ordering};

fn ticker(cluster: &Cluster, env: &str) -> String {
    let spec = format!(
        "kind: service\ncount: 2\nenv: {{TICK_MS: \"{env}\"}}\nresources: {{memory: 8Mi}}\nupdate: {{minHealthyTime: 200ms}}"
    );
    cluster.job("ticker", "ticker", &spec)
}

#[test]
fn a_plan_says_what_run_does_and_a_saved_plan_is_refused_when_the_job_moved_on() {
    let cluster = Cluster::up(&[]);
    let file = ticker(&cluster, "100");
    let planned = cluster.pliant(&["plan", &file, "--detailed-exitcode"]);
    assert_eq!(planned.code, 20, "{planned:#?}");
    assert!(planned.stdout.contains("would be created"), "{planned:#?}");
    assert!(
        planned.stderr.contains(&format!("pliant run {file} --expect-revision 0")),
        "{planned:#?}"
    );
    cluster.ok(&["run", &file, "-m", "the first"]);
    assert_eq!(cluster.pliant(&["plan", &file, "--detailed-exitcode"]).code, 0);

    let file = ticker(&cluster, "200");
    let out = cluster.dir().join("plan.json").display().to_string();
    let planned = cluster.pliant(&["plan", &file, "--out", &out, "--detailed-exitcode"]);
    assert_eq!(planned.code, 21, "{planned:#?}");
    assert!(
        planned.stdout.contains("spec.env.TICK_MS \"100\" -> \"200\" [restart]"),
        "{planned:#?}"
    );
    assert!(planned.stdout.contains("tasks: 2 replace"), "{planned:#?}");
    cluster.ok(&["scale", "ticker", "3"]);
    let refused = cluster.pliant(&["run", "--plan", &out]);
    assert_eq!(refused.code, 5, "{refused:#?}");
    assert!(refused.stderr.contains("revision-mismatch"), "{refused:#?}");
    cluster.ok(&["plan", &file, "--out", &out]);
    let said = cluster.ok(&["run", "--plan", &out, "--detach"]);
    assert!(said.contains("job ticker updated: version 2"), "{said}");
    assert_eq!(
        cluster.json(&["job", "show", "ticker"])["status"]["size"],
        3,
        "the scaled size stays"
    );
}

#[test]
fn history_shows_tags_compares_and_goes_back() {
    let cluster = Cluster::up(&[]);
    cluster.ok(&["run", &ticker(&cluster, "100"), "--detach", "-m", "slow"]);
    cluster.ok(&["job", "tag", "ticker", "v1.0"]);
    let text = cluster.ok(&["job", "show", "ticker", "--version", "v1.0", "--text"]);
    assert!(text.starts_with("apiVersion") && text.contains("TICK_MS: \"100\""), "{text}");
    cluster.ok(&["run", &ticker(&cluster, "50"), "--detach"]);
    let fields = cluster.ok(&["job", "diff", "ticker", "v1.0"]);
    assert!(fields.contains("spec.env.TICK_MS \"100\" -> \"50\" [restart]"), "{fields}");
    let texts = cluster.ok(&["job", "diff", "ticker", "1", "2", "--text"]);
    assert!(
        texts.contains("--- version 1") && texts.contains("+  env: {TICK_MS: \"50\"}"),
        "{texts}"
    );
    let back =
        cluster.pliant(&["rollback", "ticker", "--to", "v1.0", "-m", "too fast", "--detach"]);
    assert!(back.stderr.contains("version 3 is a copy of version 1"), "{back:#?}");
    let versions = cluster.json(&["job", "versions", "ticker"]);
    assert_eq!(versions[2]["from"], 1, "{versions}");
    assert_eq!(
        (&versions[0]["tags"][0], &versions[2]["message"]),
        (&"v1.0".into(), &"too fast".into())
    );
    assert!(versions[0]["source"].as_str().is_some_and(|s| s.starts_with("file://")), "{versions}");
    let table = cluster.ok(&["job", "versions", "ticker"]);
    assert!(table.contains("3 * (copy of 1)"), "{table}");
    let gone = cluster.pliant(&["job", "show", "ticker", "--version", "9"]);
    assert_eq!(gone.code, 4, "{gone:#?}");
    let same = cluster.pliant(&["rollback", "ticker", "--to", "1"]);
    assert!(same.stderr.contains("already equals version 1"), "case V19: {same:#?}");
    let unknown = cluster.pliant(&["rollback", "ticker", "--to", "beta"]);
    assert!(unknown.stderr.contains("it has v1.0"), "{unknown:#?}");
}

#[test]
fn case_v41_results_and_logs_of_each_run_are_kept_apart_and_asked_for_by_version() {
    let cluster = Cluster::up(&["--allow-mount", "/usr/share/common-licenses"]);
    let words = |text: &str| {
        let spec = format!(
            "args: [/text/{text}]\nkind: batch\nmounts: [{{source: /usr/share/common-licenses, target: /text}}]"
        );
        cluster.job("words", "word-count", &spec)
    };
    cluster.ok(&["run", &words("GPL-3")]);
    cluster.ok(&["run", &words("GPL-2")]);
    cluster.ok(&["job", "rerun", "words"]);
    let results = cluster.json(&["job", "results", "words"]);
    let runs: Vec<_> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["incarnation"].clone(), r["version"].clone()))
        .collect();
    assert_eq!(runs, [(1.into(), 1.into()), (2.into(), 2.into()), (3.into(), 2.into())]);
    assert_eq!(
        results[1]["result"]["digest"], results[2]["result"]["digest"],
        "the same input, the same table"
    );
    let first = cluster.ok(&["job", "results", "words", "--version", "1", "--cat", "words.txt"]);
    let second = cluster.ok(&["job", "results", "words", "--version", "2", "--cat", "words.txt"]);
    assert_ne!(first, second);
    assert!(cluster.ok(&["logs", "words", "--version", "1"]).contains("GPL-3"));
    assert!(cluster.ok(&["logs", "words"]).contains("GPL-2"));
    let view = cluster.json(&["job", "show", "words"]);
    assert_eq!(view["status"]["runs"].as_array().unwrap().len(), 3);
    let again = cluster.pliant(&["run", &words("GPL-2")]);
    assert!(again.stderr.contains("`pliant job rerun words`"), "{again:#?}");
}

#[test]
fn case_bc15_every_verb_takes_the_namespace_and_the_same_name_lives_in_two() {
    let cluster = Cluster::up(&[]);
    let file = ticker(&cluster, "100");
    let refused = cluster.pliant(&["run", &file, "--namespace", "shop", "--detach"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("pliant namespace create shop"), "{refused:#?}");
    cluster.ok(&["namespace", "create", "shop"]);
    cluster.ok(&["run", &file, "--detach"]);
    cluster.ok(&["run", &file, "--namespace", "shop", "--detach"]);
    cluster.ok(&["scale", "ticker", "+1", "--namespace", "shop"]);
    let size = |flags: &[&str]| {
        cluster.json(&[&["job", "show", "ticker"], flags].concat())["status"]["size"].clone()
    };
    assert_eq!((size(&[]), size(&["--namespace", "shop"])), (2.into(), 3.into()));
    let full = cluster.pliant(&["namespace", "delete", "shop"]);
    assert_eq!(full.code, 5, "{full:#?}");
    cluster.ok(&["delete", "ticker", "--namespace", "shop"]);
    cluster.ok(&["namespace", "delete", "shop"]);
    assert_eq!(cluster.ok(&["namespace", "list", "-o", "name"]).trim(), "default");
    assert_eq!(size(&[]), 2, "the other one is untouched");
}

/// Eight writers, each with the precondition of what it has just read: every accepted update is one
/// version, every loser is told what the winner wrote, nothing is lost or half done.
#[test]
fn eight_clients_race_for_a_thousand_updates_and_none_is_lost() {
    let cluster = Cluster::up(&[]);
    let pushed = cluster.json(&["artifact", "push", guest("ticker").to_str().unwrap()]);
    let digest = pushed["digest"].as_str().unwrap().to_owned();
    let (address, token) = (cluster.address(), cluster.token());
    let text = |value: &str| {
        format!(
            r#"{{"apiVersion":"pliant.dev/v1","metadata":{{"name":"race"}},"spec":{{"kind":"service","count":0,"engine":{{"wasm":{{"component":"{digest}"}}}},"env":{{"WINNER":"{value}"}}}}}}"#
        )
    };
    let put = |value: &str, revision: u64| {
        let body = text(value);
        let request = format!(
            "PUT /v1/namespaces/default/jobs/race HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\nif-match: \"{revision}\"\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let (status, body) = http::request(&address, &request).unwrap();
        (status, serde_json::from_str::<serde_json::Value>(&body).unwrap_or_default())
    };
    let (status, created) = put("nobody", 0);
    assert_eq!(status, 201, "{created}");
    let won = AtomicU32::new(0);
    let lost = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for client in 0..8 {
            let (put, won, lost) = (&put, &won, &lost);
            let mut revision = created["revision"].as_u64().unwrap();
            scope.spawn(move || {
                for attempt in 0..125 {
                    let (status, answer) = put(&format!("{client}-{attempt}"), revision);
                    match status {
                        200 => {
                            won.fetch_add(1, Ordering::Relaxed);
                            revision = answer["revision"].as_u64().unwrap();
                        }
                        412 => {
                            lost.fetch_add(1, Ordering::Relaxed);
                            let difference = &answer["difference"][0];
                            assert_eq!(difference["field"], "spec.env.WINNER", "{answer}");
                            revision = answer["currentRevision"].as_u64().unwrap();
                        }
                        other => panic!("{other}: {answer}"),
                    }
                }
            });
        }
    });
    let (won, lost) = (won.into_inner(), lost.into_inner());
    assert_eq!(won + lost, 1_000);
    assert!(lost > 0, "they never met");
    let view = cluster.json(&["job", "show", "race"]);
    assert_eq!(view["metadata"]["currentVersion"], 1 + won, "one version for each update that won");
    let kept = cluster.json(&["job", "versions", "race"]);
    assert_eq!(kept.as_array().unwrap().len(), 11, "ten and the current one");
    cluster.ok(&["delete", "race"]);
    eventually("the name is free", || cluster.ok(&["ps", "-o", "name"]).is_empty().then_some(()));
}

#[test]
fn case_v13_v16_v37_n9_what_is_shown_refused_and_invalid_is_told_apart() {
    let cluster = Cluster::up(&[]);
    let file = ticker(&cluster, "100");
    cluster.ok(&["run", &file, "--detach"]);
    let view = cluster.json(&["job", "show", "ticker"]);
    let written = &view["spec"]["update"];
    assert!(written.get("maxSurge").is_none(), "case V13: defaults are not the user's: {view}");
    assert_eq!(view["effective"]["update"]["maxSurge"], 1);
    let twice =
        std::fs::read_to_string(&file).unwrap().replace("TICK_MS: \"100\"", "A: \"1\", A: \"2\"");
    let invalid = cluster.dir().join("twice.yaml").display().to_string();
    std::fs::write(&invalid, twice).unwrap();
    for command in ["plan", "run", "validate"] {
        let said = cluster.pliant(&[command, &invalid]);
        assert_eq!(said.code, 3, "cases V16 and V37, {command}: {said:#?}");
        assert!(said.stderr.contains("already written"), "{said:#?}");
    }
    let taken = cluster.pliant(&["run", &file, "--expect-revision", "0", "--detach"]);
    assert_eq!(taken.code, 5, "case N9: a conflict, no failure of the server: {taken:#?}");
    assert!(taken.stderr.contains("must not exist"), "{taken:#?}");
}
