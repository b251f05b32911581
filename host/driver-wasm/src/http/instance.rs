//! One instance of an HTTP handler and a request in it.

use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::oneshot;
use http::{Request, Response};
use pliant_driver::ExitCause;
use wasmtime::{AsContextMut, Store};
use wasmtime_wasi_http::handler::{Prepared, Proxy, ProxyPre};
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::{WasiBody, WasiHttpView};

use crate::guest::{GuestSetup, GuestState};
use crate::run::cause_of;

pub(super) type Answer = Result<Response<WasiBody>, AnswerError>;

/// What a guest said instead of a response.
#[derive(Debug)]
pub(super) enum AnswerError {
    /// It returned an error code of `wasi:http`.
    Refused(String),
    /// It returned without a word.
    Silent,
}

pub(super) struct Instance {
    store: Store<GuestState>,
    proxy: Proxy,
}

impl Instance {
    pub(super) async fn open(
        setup: &GuestSetup,
        pre: &ProxyPre<GuestState>,
    ) -> Result<Self, ExitCause> {
        let mut store =
            setup.store().map_err(|error| ExitCause::Failed { message: error.to_string() })?;
        match pre.instantiate_async(&mut store).await {
            Ok(proxy) => Ok(Self { store, proxy }),
            Err(error) => Err(cause_of(&error, store.data())),
        }
    }

    /// Runs the handler to its end. `reply` gets the response as soon as there is its head; the
    /// body follows while the handler runs. After an error the instance must not be used again.
    pub(super) async fn handle(
        &mut self,
        request: Request<WasiBody>,
        reply: oneshot::Sender<Answer>,
    ) -> Result<(), ExitCause> {
        let handled = match &self.proxy {
            Proxy::P2(proxy) => {
                let reply = Reply::new(reply);
                let handled = handle2(&mut self.store, proxy, request, &reply).await;
                if handled.is_ok() {
                    reply.send(Err(AnswerError::Silent));
                }
                handled
            }
            Proxy::P3(_) => handle3(&mut self.store, &self.proxy, request, reply).await,
        };
        handled.map_err(|error| cause_of(&error, self.store.data()))
    }
}

/// A reply that is sent once, by whoever comes first.
#[derive(Clone)]
struct Reply(Arc<Mutex<Option<oneshot::Sender<Answer>>>>);

impl Reply {
    fn new(sender: oneshot::Sender<Answer>) -> Self {
        Self(Arc::new(Mutex::new(Some(sender))))
    }

    fn send(&self, answer: Answer) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // A client that is gone needs no answer.
            let _gone = sender.send(answer);
        }
    }
}

async fn handle2(
    store: &mut Store<GuestState>,
    proxy: &wasmtime_wasi_http::p2::bindings::Proxy,
    request: Request<WasiBody>,
    reply: &Reply,
) -> Result<(), wasmtime::Error> {
    let mut http = store.data_mut().http();
    let request = http.new_incoming_request(Scheme::Http, request)?;
    let reply = reply.clone();
    let out = http.new_response_outparam_from_callback(move |answer| {
        reply.send(answer.map_err(|code| AnswerError::Refused(code.to_string())));
    })?;
    proxy.wasi_http_incoming_handler().call_handle(store, request, out).await
}

async fn handle3(
    store: &mut Store<GuestState>,
    proxy: &Proxy,
    request: Request<WasiBody>,
    reply: oneshot::Sender<Answer>,
) -> Result<(), wasmtime::Error> {
    let (sender, answered) = oneshot::channel();
    store
        .run_concurrent(async |accessor| {
            let prepared = accessor.with(|mut store| {
                Prepared::new(store.as_context_mut(), proxy, request, GuestState::http, sender)
            })?;
            let pass_on = async {
                let answer = match answered.await {
                    Ok(Ok(response)) => Ok(response),
                    Ok(Err(error)) => Err(AnswerError::Refused(error.root_cause().to_string())),
                    Err(_dropped) => Err(AnswerError::Silent),
                };
                // A client that is gone needs no answer.
                let _gone = reply.send(answer);
            };
            let (handled, ()) =
                futures::join!(prepared.run(accessor, std::future::pending()), pass_on);
            handled?;
            std::future::poll_fn(|cx| accessor.poll_no_interesting_tasks(cx)).await;
            Ok(())
        })
        .await?
}

pub(super) fn clone_pre(pre: &ProxyPre<GuestState>) -> ProxyPre<GuestState> {
    match pre {
        ProxyPre::P2(pre) => ProxyPre::P2(pre.clone()),
        ProxyPre::P3(pre) => ProxyPre::P3(pre.clone()),
    }
}
