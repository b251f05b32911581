//! Answers every request with a greeting. The smallest `wasi:http/proxy` guest there is.

use std::io::Write;

use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{
    Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam,
};

struct Hello;

wasip2::http::proxy::export!(Hello);

impl Guest for Hello {
    fn handle(_request: IncomingRequest, out: ResponseOutparam) {
        let response = OutgoingResponse::new(Fields::new());
        let body = response.body().expect("the body is taken once");
        ResponseOutparam::set(out, Ok(response));
        let mut stream = body.write().expect("the stream is taken once");
        // A client that went away is no reason to trap.
        let _gone =
            stream.write_all(b"Hello from Pliant\n").and_then(|()| Write::flush(&mut stream));
        drop(stream);
        let _gone = OutgoingBody::finish(body, None);
    }
}
