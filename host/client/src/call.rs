//! One call: build, send, judge, and repeat when that is safe.

use std::time::Duration;

use pliant_api::headers;
use pliant_api::problem::{PROBLEM_JSON, Problem};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::MAX_PAUSE;
use crate::{Client, ClientError};

/// Largest answer that is no stream and no artifact.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a foreign answer that an error repeats.
const EXCERPT_BYTES: usize = 200;

/// Makes a write that is sent twice happen once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// A key that nobody else has: 128 random bits.
    #[must_use]
    pub fn random() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    /// A key of the caller's own.
    ///
    /// # Errors
    /// One sentence that says what a key looks like.
    pub fn new(key: &str) -> Result<Self, String> {
        headers::check_key(key).map(|()| Self(key.to_owned()))
    }
}

/// Whether a call may be repeated when its outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It changes nothing, or carries a key, or says the same each time.
    Safe,
    /// The caller repeats it, or nobody does.
    Never,
}

/// What is sent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Vec<u8>,
    repeat: Repeat,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, Repeat::Safe)
    }

    pub(crate) fn new(method: Method, path: impl Into<String>, repeat: Repeat) -> Self {
        let (headers, body) = (HeaderMap::new(), Vec::new());
        Self { method, path: path.into(), query: String::new(), headers, body, repeat }
    }

    /// Adds fields of an object to the query; absent ones are left out.
    pub(crate) fn query(mut self, query: &impl Serialize) -> Self {
        let fields = serde_json::to_value(query).expect("a query is a flat object");
        for (name, value) in fields.as_object().into_iter().flatten() {
            let text = match value {
                serde_json::Value::Null => continue,
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.query.push(if self.query.is_empty() { '?' } else { '&' });
            self.query.push_str(&format!("{name}={}", escaped(&text)));
        }
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// A write that the server carries out once however often it comes.
    pub(crate) fn keyed(mut self, key: &IdempotencyKey) -> Self {
        self.repeat = Repeat::Safe;
        self.header(headers::IDEMPOTENCY_KEY, &key.0)
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(body).expect("bodies of the API are JSON");
        self.body("application/json", bytes)
    }

    pub(crate) fn body(mut self, content_type: &str, body: Vec<u8>) -> Self {
        self.body = body;
        self.header("content-type", content_type)
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

/// Percent-encodes a value of a query.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    escaped
}

impl Client {
    /// Calls and reads the answer as JSON.
    pub(crate) async fn answer<T: DeserializeOwned>(&self, call: &Call) -> Result<T, ClientError> {
        let body = self.bytes(call).await?;
        serde_json::from_slice(&body)
            .map_err(|source| ClientError::Unreadable { path: call.path.clone(), source })
    }

    /// Calls and reads the answer whole.
    pub(crate) async fn bytes(&self, call: &Call) -> Result<Vec<u8>, ClientError> {
        let mut pause = self.config.first_pause;
        let mut attempt = 1;
        loop {
            let outcome = self.bytes_once(call).await;
            let Err(error) = &outcome else { return outcome };
            let again = call.repeat == Repeat::Safe && error.is_transient();
            if !again || attempt >= self.config.attempts {
                return outcome;
            }
            tracing::debug!(path = call.path, attempt, %error, "repeating a call");
            tokio::time::sleep(jittered(pause)).await;
            pause = (pause * 2).min(MAX_PAUSE);
            attempt += 1;
        }
    }

    async fn bytes_once(&self, call: &Call) -> Result<Vec<u8>, ClientError> {
        let request = self.request(call).timeout(self.config.call_timeout);
        let response = self.judged(request.send().await).await?;
        self.whole(response, &call.path).await
    }

    /// The request of a call, with token and headers, not yet sent.
    pub(crate) fn request(&self, call: &Call) -> RequestBuilder {
        let url = format!("{}{}{}", self.config.address, call.path, call.query);
        let mut request = self.http.request(call.method.clone(), url).headers(call.headers.clone());
        if !call.body.is_empty() {
            request = request.body(call.body.clone());
        }
        match &self.config.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        }
    }

    /// A good answer, or the error that the other one is.
    pub(crate) async fn judged(
        &self,
        sent: Result<Response, reqwest::Error>,
    ) -> Result<Response, ClientError> {
        let response = sent.map_err(|source| self.failed(source))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let is_problem = content_type
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.starts_with(PROBLEM_JSON));
        let body = self.whole(response, "").await?;
        if is_problem && let Ok(problem) = serde_json::from_slice::<Problem>(&body) {
            return Err(ClientError::Refused(Box::new(problem)));
        }
        let excerpt = String::from_utf8_lossy(&body[..body.len().min(EXCERPT_BYTES)]).into_owned();
        let address = self.config.address.clone();
        Err(ClientError::Unexpected { address, status: status.as_u16(), excerpt })
    }

    async fn whole(&self, mut response: Response, path: &str) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|source| self.failed(source))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                let path = path.to_owned();
                return Err(ClientError::AnswerTooLarge { path, limit_bytes: MAX_ANSWER_BYTES });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    pub(crate) fn failed(&self, source: reqwest::Error) -> ClientError {
        let address = self.config.address.clone();
        if source.is_connect() {
            ClientError::Unreachable { address, source }
        } else {
            ClientError::Broken { address, source }
        }
    }
}

/// Between half of a pause and all of it, so that many callers do not come back together.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let half = pause / 2;
    let span_micros = u64::try_from(half.as_micros()).unwrap_or(u64::MAX);
    half + Duration::from_micros(rand::random_range(0..=span_micros))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pliant_api::body::{LogQuery, SubmitQuery};

    #[test]
    fn a_query_holds_what_was_set_and_escapes_it() {
        let message = Some("a b&c=ü%".to_owned());
        let query = SubmitQuery { dry_run: true, message, ..SubmitQuery::default() };
        let call = Call::get("/x").query(&query);
        let expected = ["dryRun=true", "force=false", "message=a%20b%26c%3D%C3%BC%25"];
        let mut parts: Vec<&str> = call.query[1..].split('&').collect();
        parts.sort_unstable();
        assert_eq!(parts, expected);
        assert_eq!(Call::get("/x").query(&LogQuery::default()).query, "?follow=false");
    }

    #[test]
    fn keys_differ_and_pauses_stay_within_bounds() {
        assert_ne!(IdempotencyKey::random(), IdempotencyKey::random());
        let pause = Duration::from_millis(100);
        for _ in 0..100 {
            assert!((pause / 2..=pause).contains(&jittered(pause)));
        }
    }
}
