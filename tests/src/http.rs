//! One HTTP request over a plain socket, so that the tests do not test a client of their own.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

/// GET; the status and the body.
///
/// # Errors
/// The connection's own.
pub fn get(address: &str, path: &str) -> std::io::Result<(u16, String)> {
    request(
        address,
        &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"),
    )
}

/// A whole request as text; the status and the body, chunks joined.
///
/// # Errors
/// The connection's own.
pub fn request(address: &str, text: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(text.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    Ok((status, if chunked { joined(body) } else { body.to_owned() }))
}

fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        body.push_str(&rest[..size]);
        chunks = rest[size..].trim_start_matches("\r\n");
    }
    body
}
