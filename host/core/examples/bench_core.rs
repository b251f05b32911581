//! Time of one resubmission of an unchanged spec in the core alone. One JSON line. Not a test.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use pliant_core::{Command, Expect, Fact, Force, Request, State, Submit, apply, decide};
use pliant_types::{Digest, Namespace, Time};
use std::{error::Error, sync::Arc, time::Instant};

const SPEC: &str = r#"{"kind":"service","count":3,"engine":{"wasm":{"component":"oci://r/x:1","args":["a"]}},
    "env":{"A":"1","B":"2"},"resources":{"cpu":"500m","memory":"64Mi"},"ports":[{"name":"http","protocol":"http"}],
    "placement":{"constraints":["arch = x86_64"]},"update":{"maxSurge":"25%"}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: u32 = std::env::args().nth(1).map_or(Ok(10_000), |text| text.parse())?;
    let request = Request::internal(Command::Submit(Submit {
        namespace: Namespace::default_namespace(),
        name: "web".parse()?,
        labels: std::collections::BTreeMap::new(),
        annotations: std::collections::BTreeMap::new(),
        spec: Arc::new(serde_json::from_str(SPEC)?),
        text: Some(SPEC.to_owned()),
        source: None,
        digest: Digest::new([7; 32]),
        force: Force::No,
        expect: Expect::Anything,
        message: None,
    }));
    let now = Time::from_millis(1_000);
    let mut state = State::default();
    for kind in decide(&state, &request, now)?.facts {
        apply(&mut state, &Fact { at: now, kind });
    }
    let mut nanos = Vec::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        let decided = decide(&state, &request, now)?;
        nanos.push(begin.elapsed().as_nanos());
        assert!(decided.facts.is_empty(), "an unchanged submission makes no fact");
    }
    nanos.sort_unstable();
    let at =
        |permille: usize| nanos.get(nanos.len() * permille / 1_000).copied().unwrap_or(0) / 1_000;
    println!(
        r#"{{"figure":"unchanged resubmission in the core","rounds":{rounds},"p50_us":{},"p99_us":{}}}"#,
        at(500),
        at(990)
    );
    Ok(())
}
