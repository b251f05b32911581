//! Laws of the HTTP interface that need no engine: the same key, the same answer; streams go on
//! where they were left, say when they cannot, and end with the controller.

use crate::{
    frames::Frames,
    rig::{Rig, answer, job},
};
use pliant_api::sse::Frame;
use pliant_journal::faulty::Fault;
use reqwest::Method;

const EVENTS: &str = "/v1/events?follow=true";

fn is(word: &'static str) -> impl Fn(&Frame) -> bool {
    move |frame| frame.event.as_deref() == Some(word)
}

fn ids(frames: &[Frame]) -> Vec<u64> {
    frames.iter().filter_map(|frame| frame.id.as_ref()?.parse().ok()).collect()
}

async fn revision(rig: &Rig) -> u64 {
    rig.get("/v1/jobs").await.body["revision"].as_u64().unwrap()
}

#[tokio::test]
async fn the_same_key_gets_the_same_answer_and_changes_nothing_more() {
    let rig = Rig::start().await;
    let keyed = |mib| rig.submission("web", mib).header("idempotency-key", "one");
    let first = answer(keyed(16)).await;
    assert_eq!(first.status, 201, "{first:?}");
    let other = answer(rig.submission("web", 32)).await;
    assert_eq!(other.body["version"], 2);
    let before = revision(&rig).await;
    assert_eq!(answer(keyed(16)).await, first, "although the job has moved on");
    assert_eq!(revision(&rig).await, before);

    let reused = answer(keyed(64)).await;
    assert_eq!((reused.status, reused.code()), (422, "key-reused"), "{reused:?}");
    let elsewhere = rig.request(Method::POST, &format!("{}/stop", job("web")));
    let reused = answer(elsewhere.header("idempotency-key", "one")).await;
    assert_eq!((reused.status, reused.code()), (422, "key-reused"), "{reused:?}");
    assert_eq!(revision(&rig).await, before, "a refusal changes nothing");
    rig.stop().await;
}

#[tokio::test]
async fn the_same_key_of_a_verb_gets_the_same_answer() {
    let rig = Rig::start().await;
    assert_eq!(rig.submit("web").await.status, 201);
    for (verb, method, path) in [
        ("stop", Method::POST, format!("{}/stop", job("web"))),
        ("start", Method::POST, format!("{}/start", job("web"))),
        ("delete", Method::DELETE, job("web")),
    ] {
        let keyed = || rig.request(method.clone(), &path).header("idempotency-key", verb);
        let first = answer(keyed()).await;
        assert_eq!(first.status, 200, "{verb}: {first:?}");
        assert_eq!(first.body["changed"], true, "{verb}: {first:?}");
        assert_eq!(answer(keyed()).await, first, "{verb}");
    }
    rig.stop().await;
}

#[tokio::test]
async fn a_key_is_known_after_the_journal_was_opened_again() {
    let rig = Rig::start().await;
    let keyed = || rig.submission("web", 16).header("idempotency-key", "one");
    let first = answer(keyed()).await;
    rig.fail_next(&[Fault::UnknownAbsent]);
    assert_eq!(rig.submit("other").await.status, 201);
    assert_eq!(answer(keyed()).await, first);
    rig.stop().await;
}

#[tokio::test]
async fn a_key_that_is_too_long_or_empty_is_refused() {
    let rig = Rig::start().await;
    for key in [String::new(), "k".repeat(256)] {
        let refused = answer(rig.submission("web", 16).header("idempotency-key", &key)).await;
        assert_eq!((refused.status, refused.code()), (400, "body-invalid"), "{refused:?}");
    }
    assert_eq!(rig.get(&job("web")).await.status, 404);
    rig.stop().await;
}

#[tokio::test]
async fn a_stream_goes_on_after_the_last_event_that_was_seen() {
    let rig = Rig::start().await;
    let start = revision(&rig).await;
    let mut whole = rig.watch(EVENTS, Some(start)).await;
    for name in ["a", "b", "c"] {
        assert_eq!(rig.submit(name).await.status, 201);
    }
    let end = revision(&rig).await;
    let seen = whole.until(|frame| frame.id == Some(end.to_string())).await;
    let expected: Vec<_> = (start + 1..=end).collect();
    assert_eq!(ids(&seen), expected, "each revision once, in order");
    for cut in [start, start + 1, end - 1] {
        let mut rest = rig.watch(EVENTS, Some(cut)).await;
        let frames = rest.until(|frame| frame.id == Some(end.to_string())).await;
        let after: Vec<_> = seen.iter().filter(|f| ids(&[(*f).clone()])[0] > cut).collect();
        assert_eq!(frames.iter().collect::<Vec<_>>(), after, "what came after {cut}");
    }
    let mut job_only = rig.watch(&format!("{}/events?follow=true", job("b")), Some(start)).await;
    let frames = job_only.until(is("event")).await;
    assert!(frames[0].data.contains("\"job\":\"b\""), "{frames:?}");
    rig.stop().await;
}

#[tokio::test]
async fn events_of_a_job_are_found_behind_many_of_others() {
    let rig = Rig::start().await;
    assert_eq!(rig.submit("web").await.status, 201);
    let start = revision(&rig).await;
    let mut number = 0;
    while revision(&rig).await < start + 1_200 {
        number += 1;
        assert_eq!(rig.submit(&format!("other-{number}")).await.status, 201);
    }
    assert_eq!(rig.stop_job("web").await.status, 200);
    let mut past = rig.watch(&format!("{}/events", job("web")), Some(start)).await;
    let frame = past.next().await.expect("its stop is found");
    assert_eq!(frame.event.as_deref(), Some("event"), "{frame:?}");
    rig.stop().await;
}

#[tokio::test]
async fn a_stream_of_a_job_begins_with_what_it_is() {
    let rig = Rig::start().await;
    assert_eq!(rig.submit("web").await.status, 201);
    let mut frames = rig.watch(&format!("{}/events?follow=true", job("web")), None).await;
    let first = frames.next().await.unwrap();
    assert_eq!(first.event.as_deref(), Some("snapshot"), "{first:?}");
    assert_eq!(ids(&[first]), [revision(&rig).await]);
    assert_eq!(rig.stop_job("web").await.status, 200);
    let then = frames.next().await.unwrap();
    assert_eq!(then.event.as_deref(), Some("event"), "{then:?}");
    rig.stop().await;
}

#[tokio::test]
async fn a_stream_that_cannot_go_on_says_reset_and_starts_from_what_is() {
    let rig = Rig::start().await;
    assert_eq!(rig.submit("web").await.status, 201);
    // The facts that watches can go back to are of one term: opening again forgets them.
    rig.fail_next(&[Fault::UnknownAbsent]);
    assert_eq!(rig.submit("other").await.status, 201);
    rig.eventually_ready().await;
    let present = revision(&rig).await;
    let mut frames = rig.watch(&format!("{}/events?follow=true", job("web")), Some(1)).await;
    let reset = frames.next().await.unwrap();
    assert_eq!(reset.event.as_deref(), Some("reset"), "{reset:?}");
    let snapshot = frames.next().await.unwrap();
    assert_eq!(snapshot.event.as_deref(), Some("snapshot"), "{snapshot:?}");
    assert!(ids(&[reset, snapshot]).iter().all(|id| *id >= present));

    let mut ahead = rig.watch(EVENTS, Some(present + 1_000)).await;
    let reset = ahead.next().await.unwrap();
    assert_eq!(reset.event.as_deref(), Some("reset"), "a revision of the future: {reset:?}");
    rig.stop().await;
}

#[tokio::test]
async fn an_event_id_that_is_no_revision_is_refused() {
    let rig = Rig::start().await;
    for bad in ["x", "-1", "1.5"] {
        let asked = rig.request(Method::GET, EVENTS).header("last-event-id", bad);
        let refused = answer(asked.header("accept", "text/event-stream")).await;
        assert_eq!((refused.status, refused.code()), (400, "body-invalid"), "{bad}: {refused:?}");
    }
    rig.stop().await;
}

#[tokio::test]
async fn every_stream_ends_when_the_controller_stops() {
    let rig = Rig::start().await;
    assert_eq!(rig.submit("web").await.status, 201);
    let mut cluster = rig.watch(EVENTS, None).await;
    let mut job = rig.watch(&format!("{}/events?follow=true", job("web")), None).await;
    let lines = rig.request(Method::GET, EVENTS).header("accept", "application/x-ndjson");
    let lines = lines.send().await.unwrap();
    let begun = tokio::time::Instant::now();
    rig.stop().await;
    for frames in [&mut cluster, &mut job] {
        assert_eq!(last(frames).await.event.as_deref(), Some("shutdown"));
    }
    let text = lines.text().await.unwrap();
    assert!(text.lines().last().unwrap().contains("\"shutdown\""), "{text}");
    assert!(begun.elapsed().as_secs() < 5, "they were not cut off, they ended");
}

/// The last frame before the stream's end.
async fn last(frames: &mut Frames) -> Frame {
    let mut last = None;
    while let Some(frame) = frames.next().await {
        last = Some(frame);
    }
    last.expect("there was a frame")
}
