//! Data tests of the spec's rules: what is refused, where, and with which words.

use pliant_types::{spec::JobSpec, validate};

fn check(json: &str, expected: &expect_test::Expect) {
    let spec: JobSpec = serde_json::from_str(json).expect("the text is a spec");
    let lines: String = validate::spec(&spec)
        .iter()
        .map(|p| format!("{} {} -> {}\n", p.pointer, p.message, p.hint))
        .collect();
    expected.assert_eq(&lines);
}

const ENGINE: &str = r#""engine":{"wasm":{"component":"oci://r/x:1"}}"#;

#[test]
fn a_plain_spec_is_valid() {
    check(
        &format!(r#"{{"kind":"service",{ENGINE},"ports":[{{"name":"http","protocol":"http"}}]}}"#),
        &expect_test::expect![""],
    );
}

#[test]
fn every_problem_is_told_at_once() {
    check(
        r#"{"count":200000,"priority":101,"resources":{"cpu":"0","memory":"1"},
            "ports":[{"name":"a","static":0},{"name":"a"}],
            "mounts":[{"source":"x","target":"/a/../b"},{"source":"/x","target":"/output"}],
            "capabilities":{"http-out":["http://"],"tcp-out":["db"],"tcp-listen":["q"]}}"#,
        &expect_test::expect![[r#"
            /spec/kind a job needs a kind -> write kind: batch, service, daemon or ops
            /spec/count count is at most 100000 -> use several jobs
            /spec/priority priority is 0 to 100 -> choose a number in that range
            /spec/engine a job needs an engine -> write engine: {wasm: {component: …}}
            /spec/resources/cpu a task needs some CPU -> use 10m or more
            /spec/resources/memory memory is at least 64Ki -> use 1Mi or more
            /spec/ports/0/static a static port is 1 to 65535 -> leave static out for a dynamic port
            /spec/ports/1/name the name "a" is already port 0 -> rename one
            /spec/mounts/0/source "x" is not absolute -> use an absolute, plain path
            /spec/mounts/0/target "/a/../b" has a . or .. part -> use an absolute, plain path
            /spec/mounts/1/target /output is where results go -> choose another target
            /spec/capabilities/http-out/0 "http://" is not [SCHEME://]HOST[:PORT] -> write api.example.com
            /spec/capabilities/tcp-out/0 "db" is not HOST:PORT -> write db.example.com:5432
            /spec/capabilities/tcp-listen/0 there is no port "q" -> add it under spec.ports
        "#]],
    );
}

#[test]
fn daemon_and_ops_take_no_count_and_no_span() {
    check(
        &format!(r#"{{"kind":"daemon",{ENGINE},"count":2,"placement":{{"span":"any"}}}}"#),
        &expect_test::expect![[r#"
            /spec/count a job of kind daemon has one task on each eligible host and takes no count -> leave count out
            /spec/placement/span daemon and ops jobs are one-per-host already -> leave span out
        "#]],
    );
}

#[test]
fn shapes_of_a_rollout_that_do_not_go_together() {
    check(
        r#"{"kind":"service","engine":{"wasm":{"component":"oci://r/x:1"}},
            "onHostLoss":{"mode":"exclusive"},
            "update":{"canary":1,"strategy":"blue-green","order":"start-first","maxParallel":0,
                      "maxSurge":"150%","bake":"8d","progressDeadline":"5s"}}"#,
        &expect_test::expect![[r#"
            /spec/update/maxParallel with 0 tasks at once nothing would ever move -> use 1 or more
            /spec/update/maxSurge a percentage is 0% to 100% -> use 100% or less
            /spec/update/bake at most 7 days -> use a shorter time
            /spec/update/progressDeadline a task must be healthy for minHealthyTime within this time -> make it longer than minHealthyTime
            /spec/update/canary canaries belong to the strategy rolling, not blue-green -> leave canary or strategy out
            /spec/update/strategy an exclusive task may not run beside its successor -> use rolling or recreate
            /spec/update/order an exclusive task may not run beside its successor -> use auto or stop-first
        "#]],
    );
    check(
        r#"{"kind":"batch","engine":{"wasm":{"component":"oci://r/x:1"}},"update":{"canary":2}}"#,
        &expect_test::expect![[r#"
            /spec/update a batch or ops job starts a new run instead of moving its tasks -> use onResubmit, and leave strategy and canary out
        "#]],
    );
}

#[test]
fn what_is_not_carried_out_is_refused_by_name() {
    check(
        r#"{"kind":"service","engine":{"container":{"image":"x"}},"elastic":{"min":3,"max":2},
            "health":{"readiness":{"http":{"path":"/"}}},"service":{"route":{"host":"a:1","path":"x?"}},
            "update":{"swap":"require"},"capabilities":{"peers":true}}"#,
        &expect_test::expect![[r#"
            /spec/engine/container the container engine is not carried out by this release -> leave it out
            /spec/elastic/min min is larger than max -> exchange the two
            /spec/elastic elastic sizing is not carried out by this release -> leave it out
            /spec/health/readiness a probe is not carried out by this release -> leave it out
            /spec/update/swap a hot swap is not carried out by this release -> leave it out
            /spec/service/route/host "a:1" is no host name -> use letters, digits, hyphens and dots, without a port
            /spec/service/route/path "x?" is no path prefix -> begin it with / and leave out ? and #
            /spec/service/route 0 ports have protocol http, a route needs exactly one -> give one port protocol: http
            /spec/capabilities/peers connections between tasks is not carried out by this release -> leave it out
        "#]],
    );
}
