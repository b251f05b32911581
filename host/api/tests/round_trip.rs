//! Properties: what is rendered parses to itself in every language, and the schema and the types agree.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "all of it is test code; clippy sees that only inside of test functions"
)]

use std::collections::BTreeMap;

use pliant_api::body::JobView;
use pliant_api::parse::{Format, explain, parse, render};
use pliant_types::spec::{
    API_VERSION, Affinity, Amount, Backoff, CallProbe, Capabilities, Container, Elastic, Engine,
    ExecProbe, Health, HostLoss, HttpProbe, Isolation, JobSpec, Kind, Manifest, Mount, MountMode,
    OnHostChange, OnResubmit, Order, Placement, Port, Probe, Protocol, ReportProbe, Resources,
    Restart, RestartPolicy, Reuse, RolloutStrategy, Route, Service, Source, Span, Spread, Strategy,
    Swap, TcpProbe, Timeouts, Update, Wasm, WrittenMetadata, without_nulls,
};
use pliant_types::spec::{Anchor, LossMode, LossPolicy};
use pliant_types::{Cpu, Memory, Millis};
use proptest::option::of;
use proptest::prelude::{Just, Strategy as Make, any, prop, prop_oneof};

/// Texts that a careless writer or reader of YAML, JSON or TOML would change.
fn text() -> impl Make<Value = String> {
    prop_oneof![
        "[a-z0-9./:-]{1,12}",
        any::<String>().prop_map(|text| text.chars().filter(|c| *c != '\0').collect::<String>()),
        prop::sample::select(vec![
            "",
            " ",
            "null",
            "~",
            "yes",
            "no",
            "on",
            "true",
            "1",
            "1.0",
            "0x1f",
            "1e3",
            ".inf",
            "1_000",
            "2026-01-01",
            "- a",
            "a: b",
            "a #b",
            "# a",
            "---",
            "...",
            "<<",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "'",
            "\"",
            "\\",
            "a\nb",
            "a\n",
            "\n",
            "\ta",
            "a\t",
            "a\r\nb",
            "\u{85}",
            "\u{feff}",
            "🦀",
            "{}",
            "[",
            "| ",
            ">",
            "?",
            "=",
            "012",
            "12:30:00",
            "\u{7f}",
            "\u{2028}",
        ])
        .prop_map(str::to_owned),
    ]
}

fn millis() -> impl Make<Value = Millis> {
    (0..1_000_000_000u64).prop_map(Millis::new)
}

fn one<T: Clone + std::fmt::Debug>(words: &'static [T]) -> impl Make<Value = T> {
    prop::sample::select(words)
}

fn amount() -> impl Make<Value = Amount> {
    prop_oneof![any::<u32>().prop_map(Amount::Tasks), (0..101u32).prop_map(Amount::Percent)]
}

fn probe() -> impl Make<Value = Probe> {
    let check = prop_oneof![
        text().prop_map(|path| Probe {
            http: Some(HttpProbe { port: "http".parse().ok(), path: Some(path) }),
            ..Probe::default()
        }),
        Just(Probe { tcp: Some(TcpProbe { port: "raw".parse().ok() }), ..Probe::default() }),
        prop::collection::vec(text(), 0..3).prop_map(|command| Probe {
            exec: Some(ExecProbe { command: Some(command) }),
            ..Probe::default()
        }),
        text().prop_map(|function| Probe {
            call: Some(CallProbe { function: Some(function) }),
            ..Probe::default()
        }),
        Just(Probe { report: Some(ReportProbe {}), ..Probe::default() }),
    ];
    (check, of(millis()), of(any::<u32>())).prop_map(|(check, period, success)| Probe {
        period,
        timeout: period,
        success,
        failure: success,
        ..check
    })
}

fn engine() -> impl Make<Value = Engine> {
    let source = prop_oneof![
        Just(Source::File("a b.wasm".to_owned())),
        Just(Source::Https("example.com/x.wasm".to_owned())),
        Just(Source::Oci("registry:5000/a/b:1.4".to_owned())),
    ];
    let args = prop::collection::vec(text(), 0..4);
    prop_oneof![
        (of(source), of(args), of(any::<u32>())).prop_map(|(component, args, requests)| {
            let reuse = Reuse { max_requests: requests, max_idle: Some(Millis::new(1)) };
            Engine::Wasm(Wasm {
                component,
                args,
                reuse: requests.map(|_| reuse),
                isolation: requests.map(|_| Isolation::Process),
            })
        }),
        text().prop_map(|image| Engine::Container(Container {
            image: Some(image.clone()),
            command: Some(vec![image.clone()]),
            args: Some(vec![]),
            user: Some(image),
        })),
    ]
}

fn placement() -> impl Make<Value = Placement> {
    let span = prop_oneof![
        one(&[Span::Any, Span::OneHost, Span::OnePerHost]),
        any::<u32>().prop_map(Span::PerHost),
        any::<u32>().prop_map(Span::MaxHosts),
    ];
    let constraint = one(&["arch = x86_64", "label.zone in a, b", "cores >= 4", "gpu absent"])
        .prop_map(|line: &str| line.parse().unwrap());
    (of(span), prop::collection::vec(constraint, 0..3), -100..101i32).prop_map(
        |(span, constraints, weight)| Placement {
            affinities: Some(
                constraints
                    .iter()
                    .map(|prefer: &pliant_types::spec::Constraint| Affinity {
                        prefer: prefer.clone(),
                        weight: Some(weight),
                    })
                    .collect(),
            ),
            constraints: Some(constraints),
            spread: Some(vec![Spread { over: "label.zone".to_owned() }]),
            span,
            strategy: Some(Strategy::Binpack),
        },
    )
}

fn update() -> impl Make<Value = Update> {
    (amount(), amount(), millis(), any::<bool>(), any::<u32>()).prop_map(
        |(surge, unavailable, time, flag, number)| Update {
            strategy: Some(RolloutStrategy::BlueGreen),
            order: Some(Order::StopFirst),
            max_parallel: Some(number),
            max_unavailable: Some(unavailable),
            max_surge: Some(surge),
            canary: Some(number),
            auto_promote: Some(flag),
            min_healthy_time: Some(time),
            healthy_deadline: Some(time),
            progress_deadline: Some(time),
            max_failures: Some(number),
            bake: Some(time),
            retire_after: Some(time),
            auto_rollback: Some(flag),
            swap: Some(Swap::Require),
            swap_timeout: Some(time),
            max_state: Some(Memory::from_bytes(number.into())),
        },
    )
}

fn policies(spec: JobSpec, time: Millis, number: u32) -> JobSpec {
    JobSpec {
        elastic: Some(Elastic {
            min: Some(number),
            max: Some(number),
            anchor: Some(Anchor::TaskZero),
            max_extend: Some(time),
        }),
        restart: Some(Restart {
            policy: Some(RestartPolicy::OnFailure),
            backoff: Some(Backoff { first: time, longest: Millis::new(time.get() + 1) }),
            attempts: Some(number),
            within: Some(time),
        }),
        on_host_loss: Some(HostLoss {
            policy: Some(LossPolicy::Keep),
            mode: Some(LossMode::Exclusive),
            wait: Some(time),
            attempts: Some(number),
        }),
        on_host_change: Some(OnHostChange::Move),
        timeouts: Some(Timeouts { queue: Some(time), execution: Some(time), kill: Some(time) }),
        on_resubmit: Some(OnResubmit::FinishFirst),
        ..spec
    }
}

fn grants(spec: JobSpec, texts: Vec<String>, flag: bool) -> JobSpec {
    JobSpec {
        ports: Some(vec![Port {
            name: "http".parse().unwrap(),
            protocol: Some(Protocol::Http),
            static_port: flag.then_some(8080),
        }]),
        mounts: Some(vec![Mount {
            source: texts.join("/"),
            target: "/data".to_owned(),
            mode: Some(MountMode::ReadWrite),
            exclusive: Some(flag),
        }]),
        capabilities: Some(Capabilities {
            http_out: Some(texts.clone()),
            tcp_out: Some(texts.clone()),
            udp_out: Some(texts.clone()),
            tcp_listen: Some(vec!["http".parse().unwrap()]),
            peers: Some(flag),
            jobs: Some(vec!["other".parse().unwrap()]),
        }),
        service: Some(Service {
            route: Some(Route { host: texts.first().cloned(), path: Some("/".to_owned()) }),
            drain: Some(Millis::new(5_000)),
        }),
        ..spec
    }
}

type Texts = BTreeMap<String, String>;

fn texts() -> impl Make<Value = Texts> {
    prop::collection::btree_map(text(), text(), 0..4)
}

fn written(texts: Texts) -> BTreeMap<String, Option<String>> {
    texts.into_iter().map(|(key, value)| (key, Some(value))).collect()
}

fn manifest() -> impl Make<Value = Manifest> {
    let parts = (engine(), placement(), update(), probe(), texts(), texts());
    let values = (millis(), any::<u32>(), any::<bool>(), prop::collection::vec(text(), 1..4));
    (parts, values).prop_map(|(parts, (time, number, flag, list))| {
        let (engine, placement, update, probe, env, labels) = parts;
        let spec = JobSpec {
            kind: Some(Kind::Batch),
            count: flag.then_some(number),
            priority: Some(50),
            engine: Some(engine),
            config: Some(written(env.clone())),
            env: Some(written(env)),
            resources: Some(Resources {
                cpu: Some(Cpu::from_millis(number)),
                memory: Some(Memory::from_bytes(time.get())),
            }),
            placement: Some(placement),
            update: Some(update),
            health: Some(Health {
                startup: Some(probe.clone()),
                readiness: flag.then(|| probe.clone()),
                liveness: Some(probe),
            }),
            ..JobSpec::default()
        };
        Manifest {
            api_version: API_VERSION.to_owned(),
            metadata: WrittenMetadata {
                name: "web".parse().unwrap(),
                namespace: flag.then(|| "shop".parse().unwrap()),
                labels: written(labels.clone()),
                annotations: written(labels),
            },
            spec: grants(policies(spec, time, number), list, flag),
        }
    })
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_rendered_manifest_parses_to_itself(manifest in manifest()) {
        for format in [Format::Yaml, Format::Json, Format::Toml] {
            let text = render(&manifest, format);
            let jobs = parse(&text, format).unwrap_or_else(|failure| panic!("{format:?} {failure:?}\n{text:?}"));
            assert_eq!(jobs[0].manifest, manifest, "{format:?}\n{text}");
        }
    }

    /// `pliant job show X -o yaml | pliant run -`: the whole view, server's members included, is the
    /// same job again, in YAML as in JSON.
    #[test]
    fn a_shown_job_is_submitted_as_itself(manifest in manifest()) {
        let golden = include_str!("golden/job-view.json");
        let mut view: JobView = serde_json::from_str(golden).unwrap();
        view.metadata.name = manifest.metadata.name.clone();
        if let Some(namespace) = &manifest.metadata.namespace {
            view.metadata.namespace = namespace.clone();
        }
        view.metadata.labels = without_nulls(&manifest.metadata.labels);
        view.metadata.annotations = without_nulls(&manifest.metadata.annotations);
        view.effective = Some(manifest.spec.clone());
        view.spec = manifest.spec;
        let yaml = serde_saphyr::to_string(&view).unwrap();
        let json = serde_json::to_string_pretty(&view).unwrap();
        for (text, format) in [(yaml, Format::Yaml), (json, Format::Json)] {
            let jobs = parse(&text, format).unwrap_or_else(|failure| panic!("{format:?} {failure:?}\n{text}"));
            let read = &jobs[0].manifest;
            assert_eq!(read.spec, view.spec, "{format:?}\n{text}");
            assert_eq!(without_nulls(&read.metadata.labels), view.metadata.labels);
            assert_eq!(without_nulls(&read.metadata.annotations), view.metadata.annotations);
            assert_eq!(read.metadata.name, view.metadata.name);
        }
    }

    #[test]
    fn no_text_makes_the_parser_fail_otherwise_than_by_saying_so(text in ".{0,200}", tail in "[\\[\\]{}:,&*!|>'\"#%@`\n -]{0,60}") {
        for format in [Format::Yaml, Format::Json, Format::Toml] {
            if let Err(failure) = parse(&format!("{text}{tail}"), format) {
                assert!(!failure.errors.is_empty());
            }
        }
    }
}

/// Walks what the schema says and what the types write, and compares the names of fields.
fn compare(path: &str, json: &serde_json::Value, missing: &mut Vec<String>) {
    let fields = explain(path).unwrap_or_else(|error| panic!("the types write it: {error}")).fields;
    let Some(object) = json.as_object() else { return };
    for (name, _) in &fields {
        let Some(child) = object.get(*name) else {
            missing.push(format!("{path}.{name}"));
            continue;
        };
        let child = child.as_array().and_then(|items| items.first()).unwrap_or(child);
        compare(&format!("{path}.{name}"), child, missing);
    }
}

#[test]
fn every_field_of_the_schema_is_a_field_of_the_types() {
    let probe = Probe {
        http: Some(HttpProbe { port: "http".parse().ok(), path: Some("/".to_owned()) }),
        tcp: Some(TcpProbe { port: "raw".parse().ok() }),
        exec: Some(ExecProbe { command: Some(vec!["true".to_owned()]) }),
        call: Some(CallProbe { function: Some("f".to_owned()) }),
        report: Some(ReportProbe {}),
        period: Some(Millis::new(1)),
        timeout: Some(Millis::new(1)),
        success: Some(1),
        failure: Some(1),
    };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut missing_always: Option<Vec<String>> = None;
    for _ in 0..40 {
        use proptest::strategy::ValueTree;
        let mut manifest = manifest().new_tree(&mut runner).unwrap().current();
        let health = Some(probe.clone());
        manifest.spec.health =
            Some(Health { startup: health.clone(), readiness: health.clone(), liveness: health });
        let mut missing = Vec::new();
        compare("spec", &serde_json::to_value(&manifest.spec).unwrap(), &mut missing);
        missing_always = Some(match missing_always {
            None => missing,
            Some(before) => before.into_iter().filter(|path| missing.contains(path)).collect(),
        });
    }
    assert_eq!(missing_always, Some(Vec::new()));
}
