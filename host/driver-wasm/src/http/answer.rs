//! One request from its head to the head of its response: admission, body limit, time limit.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime_wasi_http::{Error, WasiBody};

use super::server::HttpServer;
use super::work::{NoAnswer, answer};

impl HttpServer {
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<WasiBody> {
        if request.uri().authority().is_none() && !request.headers().contains_key(header::HOST) {
            return plain(StatusCode::BAD_REQUEST, "a host header is required");
        }
        let limit = self.setup.spec.http.body_bytes;
        if request.body().size_hint().lower() > limit {
            let text = format!("a request body has at most {limit} bytes (http-body-bytes)");
            return plain(StatusCode::PAYLOAD_TOO_LARGE, &text);
        }
        let time = self.setup.spec.timeouts.request;
        // When the client goes away this future is dropped, and the guest with it.
        let in_time = tokio::time::timeout(time, async {
            let place = self.admit().await?;
            let request = limited(request, limit);
            Some(answer(self.instances.clone(), request, place, self.afterwards()).await)
        });
        match in_time.await {
            Err(_elapsed) => {
                let text = format!("no answer within {} ms (timeouts.request)", time.as_millis());
                plain(StatusCode::GATEWAY_TIMEOUT, &text)
            }
            Ok(None) => busy(),
            Ok(Some(Ok(response))) => {
                self.counters.add_answered();
                response.map(BodyExt::boxed_unsync)
            }
            Ok(Some(Err(NoAnswer::Trapped))) => {
                plain(StatusCode::INTERNAL_SERVER_ERROR, "the guest trapped; its log says why")
            }
            Ok(Some(Err(NoAnswer::Silent))) => {
                plain(StatusCode::INTERNAL_SERVER_ERROR, "the guest ended without an answer")
            }
            Ok(Some(Err(NoAnswer::Refused(error)))) => plain(
                StatusCode::BAD_GATEWAY,
                &format!("the guest answered with an error: {error}"),
            ),
            Ok(Some(Err(NoAnswer::NoInstance(why)))) => {
                plain(StatusCode::SERVICE_UNAVAILABLE, &format!("no instance: {why}"))
            }
        }
    }

    /// A place in the guest, after waiting in the queue if there is one free; `None`: all full.
    async fn admit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Some(place);
        }
        let _waiting = self.queue.try_acquire().ok()?;
        self.places.clone().acquire_owned().await.ok()
    }
}

type Bounded = Request<WasiBody>;

fn limited(request: Request<Incoming>, limit: u64) -> Bounded {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    request.map(|body| {
        let too_long = move |error: Box<dyn std::error::Error + Send + Sync>| match error
            .downcast::<hyper::Error>(
        ) {
            Ok(error) => Error::Hyper(*error),
            Err(_too_long) => Error::HttpRequestBodySize(Some(limit as u64)),
        };
        Limited::new(body, limit).map_err(too_long).boxed_unsync()
    })
}

fn busy() -> Response<WasiBody> {
    let text = "too many requests are waiting (http-queue)";
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, text);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn plain(status: StatusCode, text: &str) -> Response<WasiBody> {
    let body = Full::new(Bytes::from(format!("{text}\n")));
    let mut response = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
