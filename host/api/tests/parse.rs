//! Data tests of job files: what is accepted, and the words, places and hints of every refusal.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "all of it is test code; clippy sees that only inside of test functions"
)]

use expect_test::{Expect, expect};
use pliant_api::parse::{Format, ParsedJob, parse, render};

fn accepted(text: &str, format: Format) -> Vec<ParsedJob> {
    parse(text, format).unwrap_or_else(|failure| panic!("{failure:#?}"))
}

fn refused(text: &str, format: Format, expected: Expect) {
    let failure = parse(text, format).expect_err("the text is wrong");
    let mut said = format!("{}\n", failure.code);
    for error in &failure.errors {
        said += &format!("{error}\n");
    }
    expected.assert_eq(&said);
}

const WEB: &str = "
apiVersion: pliant.dev/v1
metadata:
  name: web
spec:
  kind: service
  count: 3
  engine:
    wasm:
      component: file://web.wasm
  resources: {cpu: 0.5, memory: 67108864}
  timeouts: {queue: 0, execution: 0, kill: 10s}
  update: {maxSurge: 25%, maxUnavailable: 1}
  placement: {span: {per-host: 2}}
  ports: [{name: http, protocol: http}]
";

#[test]
fn the_three_languages_say_the_same() {
    let yaml = &accepted(WEB, Format::Yaml)[0].manifest;
    let json = "{\"apiVersion\":\"pliant.dev/v1\",\"metadata\":{\"name\":\"web\"},\"spec\":{\"kind\":\"service\",
        \"count\":3,\"engine\":{\"wasm\":{\"component\":\"file://web.wasm\"}},
        \"resources\":{\"cpu\":0.5,\"memory\":\"64Mi\"},\"timeouts\":{\"queue\":0,\"execution\":\"0s\",\"kill\":\"10s\"},
        \"update\":{\"maxSurge\":\"25%\",\"maxUnavailable\":1},\"placement\":{\"span\":{\"per-host\":2}},
        \"ports\":[{\"name\":\"http\",\"protocol\":\"http\"}]}}";
    assert_eq!(yaml, &accepted(json, Format::Json)[0].manifest);
    let toml = "
apiVersion = 'pliant.dev/v1'
metadata.name = 'web'
[spec]
kind = 'service'
count = 3
engine.wasm.component = 'file://web.wasm'
resources = { cpu = '500m', memory = '64Mi' }
timeouts = { queue = 0, execution = 0, kill = '10000ms' }
update = { maxSurge = '25%', maxUnavailable = 1 }
placement.span.per-host = 2
[[spec.ports]]
name = 'http'
protocol = 'http'
";
    assert_eq!(yaml, &accepted(toml, Format::Toml)[0].manifest);
}

#[test]
fn several_jobs_stand_in_one_yaml_text_each_with_its_own_part() {
    let text = "apiVersion: pliant.dev/v1\nmetadata: {name: a}\nspec: {}\n---\n# the second\napiVersion: pliant.dev/v1\nmetadata: {name: b}\nspec: {}\n";
    let jobs = accepted(text, Format::Yaml);
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[1].manifest.metadata.name.to_string(), "b");
    assert_eq!(jobs[1].text, &text[text.find("---").unwrap()..]);
    assert_eq!(jobs[1].position("/metadata/name").line, 7);
}

#[test]
fn every_error_is_told_at_once_with_place_and_hint() {
    let text = "apiVersion: pliant.dev/v2
metadata:
  name: Web/1
  label: {a: b}
spec:
  kind: servce
  cuont: 3
  count: -1
  engine: {wasm: {component: web.wasm, ports: []}, container: {image: x}}
  env: {PORT: 8080, DEBUG: true}
  env: {A: b}
  resources: {cpu: lots, memory: 1Zi}
  ports: [{protocol: udp}, 7]
  timeouts: {kill: 10}
  update: [rolling]
  placement: {span: everywhere}
";
    refused(
        text,
        Format::Yaml,
        expect![[r#"
        spec-invalid
        1:13: apiVersion: expected one of pliant.dev/v1, saw "pliant.dev/v2"; did you mean `pliant.dev/v1`?
        3:9: metadata.name: a job name has only a-z, 0-9 and -, this has 'W'; try "web-1"
        4:3: metadata.label: there is no field `label` here; did you mean `labels`?
        6:9: spec.kind: expected one of batch, service, daemon, ops, saw "servce"; did you mean `service`?
        7:3: spec.cuont: there is no field `cuont` here; did you mean `count`?
        8:10: spec.count: expected a whole number from 0 to 4294967295, saw the number -1
        9:11: spec.engine: expected exactly one of wasm, container, saw 2
        9:30: spec.engine.wasm.component: expected oci://, https://, file:// or sha256:, saw "web.wasm"
        9:40: spec.engine.wasm.ports: there is no field `ports` here; it belongs at spec.ports
        10:15: spec.env.PORT: expected a text, saw the number 8080; put it in quotes: "8080"
        10:28: spec.env.DEBUG: expected a text, saw true; put it in quotes: "true"
        11:3: spec.env: the key `env` was already written in line 10; keep one of them
        12:20: spec.resources.cpu: expected CPU such as 500m, 0.5 or 2, saw "lots"
        12:34: spec.resources.memory: expected memory such as 64Mi, 1.5Gi, 100M or bytes, saw "1Zi"
        13:11: spec.ports[0]: the field `name` is missing
        13:22: spec.ports[0].protocol: expected one of http, tcp, saw "udp"
        13:28: spec.ports[1]: expected an object, saw the number 7
        14:20: spec.timeouts.kill: expected a duration such as 500ms, 10s or 1m30s, saw "10"
        15:11: spec.update: expected an object, saw a list
        16:21: spec.placement.span: expected one of any, one-host, one-per-host, or an object with one of per-host, max-hosts, saw "everywhere"
    "#]],
    );
}

#[test]
fn errors_of_several_jobs_come_together() {
    let text = "a: 1\n---\napiVersion: pliant.dev/v1\nmetadata: {name: b}\nspec: {kind: [}\n---\nspec: 3\n";
    refused(
        text,
        Format::Yaml,
        expect![[r#"
            body-invalid
            1:1: a: there is no field `a` here
            1:1: the field `apiVersion` is missing
            1:1: the field `metadata` is missing
            1:1: the field `spec` is missing
            5:14: mismatched bracket '[' closed by '}'
            7:1: the field `apiVersion` is missing
            7:1: the field `metadata` is missing
            7:7: spec: expected an object, saw the number 3
        "#]],
    );
}

#[test]
fn broken_json_is_told_in_words_of_json() {
    refused(
        "{\"a\": 1,}",
        Format::Json,
        expect![[r#"
        body-invalid
        1:9: key must be a string
    "#]],
    );
    refused(
        "a: 1",
        Format::Json,
        expect![[r#"
        body-invalid
        1:1: expected value
    "#]],
    );
    refused(
        "{\n\t\"spec\": {\"kind\": \"batch\",\n\t\"kind\": \"ops\"}}",
        Format::Json,
        expect![[r#"
        spec-invalid
        1:1: the field `apiVersion` is missing
        1:1: the field `metadata` is missing
        3:2: spec.kind: the key `kind` was already written in line 2; keep one of them
    "#]],
    );
}

#[test]
fn broken_toml_is_told_with_its_place() {
    refused(
        "a = 1\na = 2\n[spec\n",
        Format::Toml,
        expect![[r#"
            body-invalid
            2:1: duplicate key
            3:6: unclosed table, expected `]`
        "#]],
    );
    refused(
        "apiVersion = 2020-01-01\nmetadata = 1.5\n",
        Format::Toml,
        expect![[r#"
        spec-invalid
        1:1: the field `spec` is missing
        1:14: apiVersion: expected one of pliant.dev/v1, saw "2020-01-01"
        2:12: metadata: expected an object, saw the number 1.5
    "#]],
    );
}

#[test]
fn texts_that_hold_nothing_or_too_much() {
    refused(
        "# nothing\n---\n",
        Format::Yaml,
        expect![[r#"
        spec-invalid
        1:1: the text holds no job
    "#]],
    );
    refused(
        "",
        Format::Json,
        expect![[r#"
            body-invalid
            1:1: EOF while parsing a value
        "#]],
    );
    refused(
        "[1, 2]",
        Format::Json,
        expect![[r#"
        spec-invalid
        1:1: expected an object, saw a list
    "#]],
    );
    refused(
        &"#".repeat(256 * 1024 + 1),
        Format::Yaml,
        expect![[r#"
        too-large
        1:1: the text has 262145 bytes, the limit is 262144
    "#]],
    );
    refused(
        &"- ".repeat(100),
        Format::Yaml,
        expect![[r#"
            body-invalid
            1:65: the text nests too deep, repeats too much by aliases or has too many values
        "#]],
    );
    refused(
        "a: \"\\u0000",
        Format::Yaml,
        expect![[r#"
            body-invalid
            1:4: unclosed quote
        "#]],
    );
    refused(
        "a: *b",
        Format::Yaml,
        expect![[r#"
            body-invalid
            1:4: alias references unknown anchor
        "#]],
    );
}

#[test]
fn what_the_server_fills_in_is_ignored() {
    let text = "
apiVersion: pliant.dev/v1
metadata:
  name: web
  uid: j_17
  revision: 93
  specRevision: 90
  currentVersion: 4
  createdAt: 2026-01-01T00:00:00Z
  updatedAt: 2026-01-01T00:00:00Z
  labels: {team: shop, pliant.dev/kind: service}
spec: {}
effective: {kind: service, countt: 3}
status: {runState: running, tasks: [1, 2]}
";
    let jobs = accepted(text, Format::Yaml);
    let labels: Vec<&String> = jobs[0].manifest.metadata.labels.keys().collect();
    assert_eq!(labels, ["team"]);
}

#[test]
fn null_is_absent() {
    let text = "
apiVersion: pliant.dev/v1
metadata: {name: web, namespace: ~}
spec: {kind: null, count:, env: {A: ~}}
";
    let manifest = &accepted(text, Format::Yaml)[0].manifest;
    assert_eq!(manifest.spec.kind, None);
    assert_eq!(manifest.spec.env.as_ref().map(|env| env["A"].clone()), Some(None));
}

#[test]
fn json_keeps_its_texts_exactly() {
    let text = "{\"apiVersion\":\"pliant.dev/v1\",\"metadata\":{\"name\":\"web\"},\"spec\":{\"env\":{
        \"A\":\"tab\\t quote\\\" slash\\/ face\\ud83d\\ude00 \\u00fc\",\"B\":\"yes\",\"C\":\"# no comment\",\"D\":\"<<\"}}}";
    let env = accepted(text, Format::Json).remove(0).manifest.spec.env.unwrap();
    assert_eq!(env["A"].as_deref(), Some("tab\t quote\" slash/ face\u{1f600} ü"));
    assert_eq!(env["B"].as_deref(), Some("yes"));
    assert_eq!(env["C"].as_deref(), Some("# no comment"));
    assert_eq!(env["D"].as_deref(), Some("<<"));
}

#[test]
fn a_long_json_key_and_tabs_between_are_json() {
    let key = "k".repeat(3000);
    let text = format!(
        "{{\t\"apiVersion\":\t\"pliant.dev/v1\",\r\n\t\"metadata\": {{\"name\": \"web\",\n\t\t\"annotations\": {{\"{key}\"\n:\t\"v\", \"<<\": \"m\", \"\": \"e\"}}}},\n\t\"spec\": {{}}}}"
    );
    let annotations = accepted(&text, Format::Json).remove(0).manifest.metadata.annotations;
    assert_eq!(annotations[&key].as_deref(), Some("v"));
    assert_eq!(annotations["<<"].as_deref(), Some("m"));
    assert_eq!(annotations[""].as_deref(), Some("e"));
}

#[test]
fn yaml_of_people_is_understood() {
    let text = "
x: &common {A: '1'}
";
    refused(
        text,
        Format::Yaml,
        expect![[r#"
        spec-invalid
        2:1: x: there is no field `x` here
        2:1: the field `apiVersion` is missing
        2:1: the field `metadata` is missing
        2:1: the field `spec` is missing
    "#]],
    );
    let text = "
apiVersion: pliant.dev/v1
metadata: {name: web}
spec:
  env: &env
    A: 'no'
    B: |
      two
      lines
  config:
    <<: *env
    C: off
    D: 1.10.2
";
    let spec = accepted(text, Format::Yaml).remove(0).manifest.spec;
    let config = spec.config.unwrap();
    assert_eq!(config["B"].as_deref(), Some("two\nlines\n"));
    assert_eq!(config["C"].as_deref(), Some("off"));
    assert_eq!(config["D"].as_deref(), Some("1.10.2"));
}

#[test]
fn rules_over_several_fields_know_their_places() {
    let text = "apiVersion: pliant.dev/v1\nmetadata: {name: web}\nspec:\n  kind: daemon\n  count: 3\n  engine: {wasm: {}}\n";
    let problems = accepted(text, Format::Yaml)[0].problems();
    let said: Vec<String> = problems.iter().map(|problem| problem.error.to_string()).collect();
    expect![[r#"
        5:10: spec.count: a job of kind daemon has one task on each eligible host and takes no count; leave count out
        6:18: spec.engine.wasm.component: a Wasm engine needs a component; name one as oci://, https://, file:// or sha256:"#]].assert_eq(&said.join("\n"));
}

#[test]
fn a_rendered_job_parses_to_itself() {
    let manifest = accepted(WEB, Format::Yaml).remove(0).manifest;
    for format in [Format::Yaml, Format::Json, Format::Toml] {
        let text = render(&manifest, format);
        assert_eq!(accepted(&text, format)[0].manifest, manifest, "{text}");
    }
    expect![[r#"
        apiVersion: pliant.dev/v1
        metadata:
          name: web
        spec:
          kind: service
          count: 3
          engine:
            wasm:
              component: file://web.wasm
          resources:
            cpu: 500m
            memory: 64Mi
          ports:
          - name: http
            protocol: http
          placement:
            span:
              per-host: 2
          update:
            maxUnavailable: 1
            maxSurge: 25%
          timeouts:
            queue: 0s
            execution: 0s
            kill: 10s
    "#]]
    .assert_eq(&render(&manifest, Format::Yaml));
}

#[test]
fn a_job_that_is_twice_in_a_text_is_refused_with_both_places() {
    let job = |name: &str| {
        format!("apiVersion: pliant.dev/v1\nmetadata: {{name: {name}}}\nspec: {{kind: batch}}\n")
    };
    let twice = [job("web"), job("other"), job("web")].join("---\n");
    let failure = parse(&twice, Format::Yaml).unwrap_err();
    let [error] = failure.errors.as_slice() else { panic!("{failure:?}") };
    assert_eq!(error.line, Some(10), "{error:?}");
    assert!(error.message.contains("in line 2"), "{error:?}");
    assert_eq!(parse(&[job("a"), job("b")].join("---\n"), Format::Yaml).unwrap().len(), 2);
}
