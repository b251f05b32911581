//! Logs at the agent's own listener.

use pliant_api::body::{LogLine, LogQuery, LogStream};
use pliant_client::{Client, ClientError, Config, EventStream, Received, Token};
use pliant_driver::{ExitCause, fake::FakeScript};
use pliant_types::{Kind, codes::Code, phase::AttemptState};

use crate::{
    controller::TOKEN,
    rig::{Rig, id},
};

fn client(rig: &Rig, token: &str) -> Client {
    let address = rig.agent.address().to_string();
    Client::new(Config::new(&address).with_token(Some(Token::new(token)))).unwrap()
}

async fn all(mut stream: EventStream<LogLine>) -> Result<Vec<LogLine>, ClientError> {
    let mut lines = Vec::new();
    while let Some(received) = stream.next().await? {
        match received {
            Received::Body(line) => lines.push(line),
            Received::Lost(error) => return Err(error),
        }
    }
    Ok(lines)
}

async fn printing() -> Rig {
    let rig = Rig::start().await;
    let prints = (1..=5).map(|number| format!("line {number}")).collect();
    rig.driver.set_script(rig.digest, FakeScript { prints, ..FakeScript::default() });
    rig.controller.assign(vec![rig.job(1, Kind::Batch)]);
    rig.controller.sees(id(1), |one| one.attempt_state == AttemptState::Up).await;
    rig
}

fn texts(lines: &[LogLine]) -> Vec<&str> {
    lines.iter().map(|line| line.line.as_str()).collect()
}

#[tokio::test]
async fn lines_come_whole_or_as_a_tail_or_of_one_stream() {
    let rig = printing().await;
    let client = client(&rig, TOKEN);
    let lines = all(client.logs(id(1), &LogQuery::default())).await.unwrap();
    assert_eq!(texts(&lines), ["line 1", "line 2", "line 3", "line 4", "line 5"]);
    let tail = LogQuery { tail: Some(2), ..LogQuery::default() };
    assert_eq!(texts(&all(client.logs(id(1), &tail)).await.unwrap()), ["line 4", "line 5"]);
    let stderr = LogQuery { stream: Some(LogStream::Stderr), ..LogQuery::default() };
    assert!(all(client.logs(id(1), &stderr)).await.unwrap().is_empty());
    rig.stop().await;
}

#[tokio::test]
async fn who_follows_reads_until_the_execution_is_over() {
    let rig = printing().await;
    let query = LogQuery { follow: true, ..LogQuery::default() };
    let following = tokio::spawn(all(client(&rig, TOKEN).logs(id(1), &query)));
    assert!(rig.driver.end(id(1), ExitCause::Code(0)).await);
    assert_eq!(following.await.unwrap().unwrap().len(), 5);
    rig.stop().await;
}

#[tokio::test]
async fn a_stream_that_is_followed_ends_with_the_agent() {
    let rig = printing().await;
    let query = LogQuery { follow: true, ..LogQuery::default() };
    let mut stream = client(&rig, TOKEN).logs(id(1), &query);
    assert!(matches!(stream.next().await, Ok(Some(Received::Body(_)))));
    rig.stop().await;
}

#[tokio::test]
async fn without_the_token_nothing_is_shown_and_what_is_unknown_is_not_found() {
    let rig = printing().await;
    let query = LogQuery::default();
    let error = all(client(&rig, "guess").logs(id(1), &query)).await.unwrap_err();
    assert_eq!(error.code(), Code::Unauthorized);
    let error = all(client(&rig, TOKEN).logs(id(9), &query)).await.unwrap_err();
    assert_eq!(error.code(), Code::ExecutionNotFound);
    rig.stop().await;
}
