//! Figure P1: from a submission to its task running, one cached Wasm task, on a running cluster.
//!
//! Usage: `bench_submit ADDRESS TOKEN_FILE COMPONENT [ROUNDS]`. One JSON line. Not a test.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use pliant_api::{
    body::{SubmitQuery, WatchEvent},
    parse::Format,
    routes::JobRef,
};
use pliant_client::{
    Client, Config, EventStream, IdempotencyKey, Received, Submission, Token, Verb,
};
use pliant_types::Namespace;
use std::{error::Error, path::Path, time::Instant};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: bench_submit ADDRESS TOKEN_FILE COMPONENT [ROUNDS]";
    let address = arguments.next().ok_or(usage)?;
    let token = std::fs::read_to_string(arguments.next().ok_or(usage)?)?;
    let component = arguments.next().ok_or(usage)?;
    let rounds: usize = arguments.next().map_or(Ok(300), |text| text.parse())?;
    let client = Client::new(Config::new(&address).with_token(Some(Token::new(&token))))?;
    let digest = client.upload(Path::new(&component)).await?.digest.to_string();
    let mut events = client.watch_all(None);
    let mut micros = Vec::new();
    for round in 0..=rounds {
        let begin = Instant::now();
        client.submit(&submission(round, &digest)?).await?;
        until_running(&mut events, &format!("p1-{round}")).await?;
        // The first one compiles; it is no cached task.
        if round > 0 {
            micros.push(u64::try_from(begin.elapsed().as_micros())?);
        }
        let job = JobRef::Name(format!("p1-{round}").parse()?);
        client.act(&Namespace::default_namespace(), &job, Verb::Delete, None).await?;
    }
    micros.sort_unstable();
    let at =
        |permille: usize| micros.get((micros.len() - 1) * permille / 1_000).copied().unwrap_or(0);
    println!(
        r#"{{"figure":"P1","rounds":{rounds},"p50_us":{},"p90_us":{},"p99_us":{},"max_us":{}}}"#,
        at(500),
        at(900),
        at(990),
        at(1_000)
    );
    Ok(())
}

fn submission(round: usize, digest: &str) -> Result<Submission, Box<dyn Error>> {
    let name = format!("p1-{round}");
    let text = format!(
        r#"{{"apiVersion":"pliant.dev/v1","metadata":{{"name":"{name}"}},"spec":{{"kind":"service","engine":{{"wasm":{{"component":"{digest}"}}}},"env":{{"INTERVAL_MS":"60000"}},"resources":{{"cpu":"10m","memory":"8Mi"}},"timeouts":{{"kill":"1s"}}}}}}"#
    );
    Ok(Submission {
        namespace: Namespace::default_namespace(),
        name: name.parse()?,
        text,
        format: Format::Json,
        query: SubmitQuery::default(),
        expect: None,
        key: IdempotencyKey::random(),
    })
}

async fn until_running(
    events: &mut EventStream<WatchEvent>,
    name: &str,
) -> Result<(), Box<dyn Error>> {
    while let Some(received) = events.next().await? {
        let Received::Body(WatchEvent::Event { event }) = received else { continue };
        let mine = event.job.as_ref().is_some_and(|job| job.as_str() == name);
        if mine && event.message.contains("is running") {
            return Ok(());
        }
    }
    Err("the watch ended".into())
}
