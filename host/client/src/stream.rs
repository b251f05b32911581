//! Server-sent events as a stream of bodies that connects again by itself and goes on where it was.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::time::Duration;

use pliant_api::headers::LAST_EVENT_ID;
use pliant_api::sse::{Decoder, EVENT_STREAM, Frame};
use reqwest::Response;
use serde::de::DeserializeOwned;

use crate::call::{Call, jittered};
use crate::config::MAX_PAUSE;
use crate::{Client, ClientError};

/// What the end of a response means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The stream is over.
    Final,
    /// The connection was lost or the server stopped: connect again.
    Lost,
}

/// What a stream gives.
#[derive(Debug)]
pub enum Received<T> {
    /// A body.
    Body(T),
    /// The connection was lost, for this reason; the next call connects again after a pause.
    Lost(ClientError),
}

/// A stream of bodies.
#[derive(Debug)]
pub struct EventStream<T> {
    client: Client,
    call: Call,
    end: End,
    last_id: Option<String>,
    connection: Option<(Response, Decoder)>,
    ready: VecDeque<Frame>,
    /// Before the next connection; zero after a body came.
    pause: Duration,
    /// Whether the stream has ended for good.
    over: bool,
    body: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> EventStream<T> {
    pub(crate) fn new(client: &Client, call: Call, end: End) -> Self {
        Self {
            client: client.clone(),
            call: call.header("accept", EVENT_STREAM),
            end,
            last_id: None,
            connection: None,
            ready: VecDeque::new(),
            pause: Duration::ZERO,
            over: false,
            body: PhantomData,
        }
    }

    /// Goes on after an event that was seen before.
    #[must_use]
    pub fn after(mut self, id: Option<String>) -> Self {
        self.last_id = id;
        self
    }

    /// The last event that was given.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The next body; `None` when the stream has ended. May be dropped while it waits: nothing is lost.
    ///
    /// # Errors
    /// Whatever will not be better after another connection: a refusal that is not retryable, a body
    /// that cannot be read.
    pub async fn next(&mut self) -> Result<Option<Received<T>>, ClientError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return self.body(&frame).map(|body| Some(Received::Body(body)));
            }
            if self.over {
                return Ok(None);
            }
            match self.advance().await {
                Ok(()) => {}
                Err(error) if error.is_transient() => {
                    self.connection = None;
                    self.pause = (self.pause * 2).clamp(self.client.config.first_pause, MAX_PAUSE);
                    return Ok(Some(Received::Lost(error)));
                }
                Err(error) => {
                    self.over = true;
                    return Err(error);
                }
            }
        }
    }

    fn body(&mut self, frame: &Frame) -> Result<T, ClientError> {
        let body = serde_json::from_str(&frame.data).map_err(|source| {
            self.over = true;
            ClientError::Unreadable { path: self.call.path().to_owned(), source }
        })?;
        self.pause = Duration::ZERO;
        if frame.id.is_some() {
            self.last_id.clone_from(&frame.id);
        }
        Ok(body)
    }

    /// Connects, or reads one more piece.
    async fn advance(&mut self) -> Result<(), ClientError> {
        let silence = self.client.config.silence_timeout;
        let Some((response, decoder)) = &mut self.connection else {
            return self.connect().await;
        };
        let piece = match tokio::time::timeout(silence, response.chunk()).await {
            Ok(piece) => piece.map_err(|source| self.client.failed(source))?,
            Err(_) => return Err(self.silent()),
        };
        if let Some(piece) = piece {
            let frames = decoder.push(&piece).map_err(|source| ClientError::BadStream {
                path: self.call.path().to_owned(),
                source,
            })?;
            self.ready.extend(frames);
            return Ok(());
        }
        self.connection = None;
        match self.end {
            End::Final => self.over = true,
            // An orderly end is no failure; the pause only keeps a server that ends every stream
            // at once from being asked without a break.
            End::Lost => {
                self.pause = (self.pause * 2).clamp(self.client.config.first_pause, MAX_PAUSE);
            }
        }
        Ok(())
    }

    async fn connect(&mut self) -> Result<(), ClientError> {
        if !self.pause.is_zero() {
            tokio::time::sleep(jittered(self.pause)).await;
        }
        let mut call = self.call.clone();
        if let Some(id) = &self.last_id {
            call = call.header(LAST_EVENT_ID, id);
        }
        let sending = self.client.request(&call).send();
        let Ok(sent) = tokio::time::timeout(self.client.config.silence_timeout, sending).await
        else {
            return Err(self.silent());
        };
        let response = self.client.judged(sent).await?;
        self.connection = Some((response, Decoder::default()));
        Ok(())
    }

    fn silent(&self) -> ClientError {
        let silent_secs = self.client.config.silence_timeout.as_secs();
        ClientError::Silent { path: self.call.path().to_owned(), silent_secs }
    }
}
