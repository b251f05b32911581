//! Guests that go too far hit their own limit and nobody else's.

use pliant_tests::{cluster::Cluster, eventually, http};

#[test]
fn a_guest_that_spins_eats_or_floods_disturbs_no_neighbour() {
    let cluster = Cluster::up(&[]);
    let web =
        cluster.job("web", "hello-http", "kind: service\nports: [{name: http, protocol: http}]");
    cluster.ok(&["run", &web]);
    let address = cluster.json(&["job", "show", "web"])["status"]["endpoints"][0]
        .as_str()
        .unwrap()
        .to_owned();
    for (name, spec) in [
        ("spin", "kind: service\nresources: {cpu: 100m}"),
        ("eat-memory", "kind: batch\nrestart: {policy: never}\nresources: {memory: 32Mi}"),
        ("flood-log", "kind: service\nresources: {cpu: 200m}"),
        ("open-files", "kind: batch\nrestart: {policy: never}"),
    ] {
        cluster.ok(&["run", &cluster.job(name, name, spec), "--detach"]);
    }
    let eaten = eventually("the eater has ended", || {
        let view = cluster.json(&["job", "show", "eat-memory"]);
        (view["status"]["runState"] == "failed").then_some(view)
    });
    let reason = eaten["status"]["endReason"].as_str().unwrap();
    assert!(reason.contains("out-of-memory"), "{reason}");
    for _ in 0..50 {
        assert_eq!(http::get(&address, "/").unwrap().0, 200, "the neighbour answers");
    }
    let web = cluster.json(&["job", "show", "web"]);
    assert_eq!(web["status"]["tasks"]["running"], 1);
    assert_eq!(web["status"]["executions"][0]["attempt"], 1);
    for job in ["spin", "flood-log"] {
        cluster.ok(&["stop", job]);
    }
}
