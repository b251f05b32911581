//! An HTTP handler with a path for each thing that a test wants to see happen.
//!
//! `/count` the requests of this instance; `/echo` the request body, streamed, with a trailer;
//! `/trap`; `/spin`; `/silent` no answer; `/env` the environment; `/log` a line on stdout.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{
    Fields, IncomingBody, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam,
};

static REQUESTS: AtomicU64 = AtomicU64::new(0);

struct Probe;

wasip2::http::proxy::export!(Probe);

impl Guest for Probe {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let count = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
        let path = request.path_with_query().unwrap_or_default();
        match path.as_str() {
            "/count" => respond(out, 200, count.to_string().as_bytes()),
            "/echo" => echo(request, out),
            "/trap" => unreachable!("the request asked for it"),
            "/spin" => loop {
                std::hint::black_box(count);
            },
            "/silent" => {}
            "/env" => {
                let lines: Vec<String> =
                    std::env::vars().map(|(k, v)| format!("{k}={v}")).collect();
                respond(out, 200, lines.join("\n").as_bytes());
            }
            "/log" => {
                println!("probe request {count}");
                respond(out, 204, b"");
            }
            _ => respond(out, 404, b"no such path\n"),
        }
    }
}

fn respond(out: ResponseOutparam, status: u16, text: &[u8]) {
    let response = OutgoingResponse::new(Fields::new());
    response.set_status_code(status).expect("a valid status");
    let body = response.body().expect("the body is taken once");
    ResponseOutparam::set(out, Ok(response));
    let mut stream = body.write().expect("the stream is taken once");
    let _gone = stream.write_all(text).and_then(|()| Write::flush(&mut stream));
    drop(stream);
    let _gone = OutgoingBody::finish(body, None);
}

/// Sends each piece back as it comes; the trailer says how many bytes there were.
fn echo(request: IncomingRequest, out: ResponseOutparam) {
    let incoming = request.consume().expect("the body is taken once");
    let response = OutgoingResponse::new(Fields::new());
    let body = response.body().expect("the body is taken once");
    ResponseOutparam::set(out, Ok(response));
    let mut reader = incoming.stream().expect("the stream is taken once");
    let mut writer = body.write().expect("the stream is taken once");
    let mut piece = [0; 16 << 10];
    let mut bytes = 0;
    while let Ok(length) = Read::read(&mut reader, &mut piece) {
        if length == 0 || writer.write_all(&piece[..length]).is_err() {
            break;
        }
        bytes += length;
    }
    let _gone = Write::flush(&mut writer);
    drop((reader, writer));
    drop(IncomingBody::finish(incoming));
    let trailers = Fields::from_list(&[("x-bytes".to_owned(), bytes.to_string().into_bytes())]);
    let _gone = OutgoingBody::finish(body, trailers.ok());
}
