//! What no route takes: a path that is no text, a parameter that the route does not know, a body in
//! an encoding. Asked before any handler, so that none can forget it.

use super::{error::ApiError, openapi::query_names};
use axum::{
    extract::{Query, Request},
    http::{HeaderMap, Uri, header},
};
use pliant_api::parse::nearest;
use pliant_types::codes::Code;

/// Refuses a request whose form no handler would take; `route` is the template that it matched.
pub(super) fn check(request: &Request, route: &str) -> Result<(), ApiError> {
    check_path(request.uri().path())?;
    check_encoding(request.headers())?;
    match query_names(request.method().as_str(), route) {
        Some(known) => check_query(request.uri(), known),
        None => Ok(()),
    }
}

fn check_path(path: &str) -> Result<(), ApiError> {
    if std::str::from_utf8(&unescaped(path)).is_ok() {
        return Ok(());
    }
    let words = format!("the path {path} is not UTF-8 once its escapes are resolved");
    Err(ApiError::new(Code::BodyInvalid, words))
}

/// The bytes behind `%XX`; what is no escape stands for itself.
fn unescaped(path: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    let bytes = path.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escape = (*byte == b'%')
            .then(|| Some((digit(bytes.get(at + 1))?, digit(bytes.get(at + 2))?)))
            .flatten();
        let (byte, length) = match escape {
            Some((high, low)) => (u8::try_from(high * 16 + low).unwrap_or(u8::MAX), 3),
            None => (*byte, 1),
        };
        plain.push(byte);
        at += length;
    }
    plain
}

/// Bodies are read as they are: whoever compressed one would have stored or parsed noise.
fn check_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    for value in headers.get_all(header::CONTENT_ENCODING) {
        if !value.as_bytes().eq_ignore_ascii_case(b"identity") {
            let words =
                format!("Content-Encoding {value:?} is not taken; send the bytes as they are");
            return Err(ApiError::new(Code::MediaUnsupported, words));
        }
    }
    Ok(())
}

fn check_query(uri: &Uri, known: &[String]) -> Result<(), ApiError> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)?;
    let Some((unknown, _)) = pairs.into_iter().find(|(name, _)| !known.contains(name)) else {
        return Ok(());
    };
    let words = format!("this route has no parameter {unknown:?}");
    let near = nearest(&unknown, known.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "it takes none".to_owned(),
        None => format!("it takes {}", known.join(", ")),
    };
    Err(ApiError::new(Code::BodyInvalid, words).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_and_what_is_none_stands_for_itself() {
        for (path, plain) in [
            ("/v1/jobs", &b"/v1/jobs"[..]),
            ("/%61%2F%fF", b"/a/\xff"),
            ("/100%", b"/100%"),
            ("/%zz%4", b"/%zz%4"),
            ("/\u{fc}", "/\u{fc}".as_bytes()),
        ] {
            assert_eq!(unescaped(path), plain, "{path}");
        }
        assert!(check_path("/v1/jobs/%ff").is_err());
        assert!(check_path("/v1/jobs/%c3%bc").is_ok());
    }
}
