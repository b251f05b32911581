//! Components from a real OCI registry: pulled, tags resolved to digests, a moved tag, a registry that
//! is away (03-jobs.md, section 3).

use pliant_tests::{cluster::Cluster, guest, registry::Registry};
use std::fs;

fn job(cluster: &Cluster, name: &str, component: &str) -> String {
    let text = format!(
        "apiVersion: pliant.dev/v1\nmetadata: {{name: {name}}}\nspec:\n  kind: service\n  count: 0\n  engine: {{wasm: {{component: \"{component}\"}}}}\n"
    );
    let path = cluster.dir().join(format!("{name}.yaml"));
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(guest(name)).unwrap()
}

#[test]
fn case_v6_v5_a_tag_is_resolved_to_a_digest_and_only_other_bytes_are_a_change() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::up(dir.path());
    registry.push("shop/tick", "1.0", &bytes("ticker"));
    registry.push("shop/tick", "stable", &bytes("ticker"));
    let cluster = Cluster::up(&["--plain-registry", registry.address()]);
    let at = |tag: &str| format!("oci://{}/shop/tick:{tag}", registry.address());
    cluster.ok(&["run", &job(&cluster, "tick", &at("1.0")), "--detach"]);
    let again = cluster.ok(&["run", &job(&cluster, "tick", &at("1.0")), "--detach"]);
    assert!(again.contains("unchanged"), "{again}");
    let retagged = cluster.ok(&["run", &job(&cluster, "tick", &at("stable")), "--detach"]);
    assert!(
        retagged.contains("spec.engine.wasm.component") && retagged.contains("[metadata]"),
        "{retagged}"
    );
    assert!(!retagged.contains("digest"), "case V5: the same bytes: {retagged}");
    registry.push("shop/tick", "stable", &bytes("hello-http"));
    let moved = cluster.ok(&["run", &job(&cluster, "tick", &at("stable")), "--detach"]);
    assert!(moved.contains("updated: version 3") && moved.contains("digest"), "case V6: {moved}");
    let shown = cluster.ok(&["job", "show", "tick", "-o", "yaml"]);
    let round = cluster.dir().join("round.yaml");
    fs::write(&round, shown).unwrap();
    assert!(cluster.ok(&["run", round.to_str().unwrap(), "--detach"]).contains("unchanged"));
}

#[test]
fn a_registry_that_is_away_keeps_the_digest_of_the_same_text_and_refuses_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::up(dir.path());
    let address = registry.address().to_owned();
    registry.push("shop/tick", "1.0", &bytes("ticker"));
    let cluster = Cluster::up(&["--plain-registry", &address]);
    let at = |tag: &str| format!("oci://{address}/shop/tick:{tag}");
    let file = job(&cluster, "tick", &at("1.0"));
    cluster.ok(&["run", &file, "--detach"]);
    let missing = cluster.pliant(&["run", &job(&cluster, "other", &at("9.9")), "--detach"]);
    assert_eq!(missing.code, 3, "{missing:#?}");
    assert!(missing.stderr.contains("artifact-unreachable"), "{missing:#?}");
    drop(registry);
    let kept = cluster.pliant(&["run", &file, "--detach"]);
    assert_eq!(kept.code, 0, "{kept:#?}");
    assert!(
        kept.stdout.contains("unchanged") && kept.stderr.contains("its digest is kept"),
        "{kept:#?}"
    );
    let refused = cluster.pliant(&["run", &job(&cluster, "tick", &at("2.0")), "--detach"]);
    assert_eq!(refused.code, 3, "another tag cannot be guessed: {refused:#?}");
}

#[test]
fn a_registry_on_this_machine_is_asked_only_when_it_was_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::up(dir.path());
    registry.push("shop/tick", "1.0", &bytes("ticker"));
    let cluster = Cluster::up(&[]);
    let source = format!("oci://{}/shop/tick:1.0", registry.address());
    let refused = cluster.pliant(&["run", &job(&cluster, "tick", &source), "--detach"]);
    assert_eq!(refused.code, 3, "{refused:#?}");
    assert!(refused.stderr.contains("127.0.0.1"), "it names the address: {refused:#?}");
    assert!(refused.stderr.contains("--plain-registry"), "and the way out: {refused:#?}");
}

#[test]
fn a_component_of_a_registry_runs_and_answers() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::up(dir.path());
    registry.push("shop/hello", "1.0", &bytes("hello-http"));
    let cluster = Cluster::up(&["--plain-registry", registry.address()]);
    let source = format!("oci://{}/shop/hello:1.0", registry.address());
    let text = format!(
        "apiVersion: pliant.dev/v1\nmetadata: {{name: web}}\nspec:\n  kind: service\n  engine: {{wasm: {{component: \"{source}\"}}}}\n  ports: [{{name: http, protocol: http}}]\n"
    );
    let path = cluster.dir().join("web.yaml");
    fs::write(&path, text).unwrap();
    cluster.ok(&["run", path.to_str().unwrap()]);
    let view = cluster.json(&["job", "show", "web"]);
    let address = view["status"]["endpoints"][0].as_str().unwrap();
    let (status, body) = pliant_tests::http::get(address, "/").unwrap();
    assert!(status == 200 && body.to_lowercase().contains("hello"), "{status} {body:?}");
}

#[test]
fn what_a_registry_holds_under_a_tag_must_be_a_component() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::up(dir.path());
    registry.push("shop/text", "1.0", b"this is no component");
    let cluster = Cluster::up(&["--plain-registry", registry.address()]);
    let source = format!("oci://{}/shop/text:1.0", registry.address());
    let refused = cluster.pliant(&["run", &job(&cluster, "text", &source), "--detach"]);
    assert_eq!(refused.code, 3, "{refused:#?}");
    for part in ["artifact-invalid", "not a wasm file", "do:"] {
        assert!(refused.stderr.contains(part), "{part:?} is missing: {refused:#?}");
    }
}
