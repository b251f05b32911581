//! What is fuzzed, as functions of bytes: the fuzz targets call them with new inputs, a test of the
//! workspace with the kept corpus.

use pliant_api::parse::{Format, parse, render};
use pliant_core::{
    Answer, Command, Expect, Fact, Force, Request, State, Submit, SubmitOutcome, apply, check,
    decide, forecast, plan,
};
use pliant_types::{Digest, Namespace, Time};
use std::sync::Arc;

/// Any bytes as a job file: refused with places, or read; what is read can be written and read again.
///
/// # Panics
/// When that is not so.
pub fn parse_any(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let format = [Format::Yaml, Format::Json, Format::Toml][usize::from(*first) % 3];
    match parse(text, format) {
        Err(failure) => assert!(!failure.errors.is_empty(), "a refusal names a place"),
        Ok(jobs) => {
            for job in jobs {
                let _ = job.problems();
                let again = render(&job.manifest, format);
                let read = parse(&again, format).expect("what was read can be written and read");
                assert_eq!(read[0].manifest, job.manifest, "{again}");
            }
        }
    }
}

/// Submissions of any specs, one after the other, to one name: invariants hold, the same submission
/// again changes nothing, and the forecast agrees with the decision.
///
/// # Panics
/// When that is not so.
pub fn submit_any(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut state = State::default();
    let now = Time::from_millis(1_000_000);
    for part in text.split('\u{1}').take(4) {
        let Ok(jobs) = parse(part, Format::Yaml) else { continue };
        for job in jobs.into_iter().take(2) {
            let request = request(job.manifest, part);
            let foretold = forecast(&state, &request, now);
            let decided = decide(&state, &request, now);
            assert_eq!(foretold.is_ok(), decided.is_ok());
            let Ok(decided) = decided else { continue };
            for kind in decided.facts {
                apply(&mut state, &Fact { at: now, kind });
            }
            assert!(check(&state).is_empty());
            for kind in plan(&state, now).facts {
                apply(&mut state, &Fact { at: now, kind });
            }
            let again = decide(&state, &request, now).expect("accepted before");
            assert!(again.facts.is_empty(), "{:?}", again.facts);
            let Answer::Submitted(answer) = again.answer else { unreachable!("a submission") };
            assert_eq!(answer.outcome, SubmitOutcome::Unchanged);
        }
    }
}

fn request(manifest: pliant_types::spec::Manifest, text: &str) -> Request {
    Request::internal(Command::Submit(Submit {
        namespace: Namespace::default_namespace(),
        name: "fuzz".parse().expect("a name"),
        labels: manifest.metadata.labels,
        annotations: manifest.metadata.annotations,
        spec: Arc::new(manifest.spec),
        text: Some(text.to_owned()),
        source: None,
        digest: Digest::new([7; 32]),
        force: Force::No,
        expect: Expect::Anything,
        message: None,
    }))
}
