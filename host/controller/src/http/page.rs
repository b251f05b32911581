//! Lists in pages: an opaque cursor, a limit, a state that is new enough.

use super::{context::Api, error::ApiError};
use crate::published::Published;
use pliant_api::body::{DEFAULT_LIMIT, MAX_LIMIT, Page, PageQuery};
use pliant_types::codes::Code;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// Bytes of the hash that a cursor begins with.
const MARK_BYTES: usize = 4;
/// How long a reader waits for the revision that it asks for.
const MIN_REVISION_WAIT: Duration = Duration::from_secs(5);

/// The newest state, once it is at least at the revision that the caller names.
pub(super) async fn state_at(api: &Api, min: Option<u64>) -> Result<Published, ApiError> {
    let Some(min) = min else { return Ok(api.newest()) };
    let mut newest = api.board.watch();
    let reached = newest.wait_for(|published| published.state.revision().get() >= min);
    match tokio::time::timeout(MIN_REVISION_WAIT, reached).await {
        Ok(Ok(published)) => Ok(published.clone()),
        _ => {
            let words = format!(
                "revision {min} was not reached within {} s; the state is at {}",
                MIN_REVISION_WAIT.as_secs(),
                api.newest().state.revision()
            );
            Err(ApiError::new(Code::BodyInvalid, words))
        }
    }
}

/// Cuts a page out of everything. `key` is what the cursor holds: a text that orders the list.
pub(super) fn page<T>(
    published: &Published,
    query: &PageQuery,
    all: impl Iterator<Item = (String, T)>,
) -> Result<Page<T>, ApiError> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if limit == 0 || limit > MAX_LIMIT {
        return Err(ApiError::new(
            Code::BodyInvalid,
            format!("limit is 1 to {MAX_LIMIT}, saw {limit}"),
        ));
    }
    let after = query.cursor.as_deref().map(key_of).transpose()?;
    let mut rest = all.filter(|(key, _)| after.as_ref().is_none_or(|after| key > after));
    let mut items = Vec::new();
    let mut last = None;
    while items.len() < limit as usize
        && let Some((key, item)) = rest.next()
    {
        items.push(item);
        last = Some(key);
    }
    let next_cursor = rest.next().and(last).map(|key| cursor_of(&key));
    Ok(Page { items, revision: published.state.revision(), next_cursor })
}

/// A cursor: the key in hexadecimal behind the start of its hash. The hash tells a cursor from any
/// other text, which would be an end of the list that is none.
fn cursor_of(key: &str) -> String {
    let hash = Sha256::digest(key);
    let mark = hash.iter().take(MARK_BYTES);
    mark.chain(key.as_bytes()).map(|byte| format!("{byte:02x}")).collect()
}

fn key_of(cursor: &str) -> Result<String, ApiError> {
    let digits = cursor.as_bytes().chunks(2).skip(MARK_BYTES);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let key = digits.map(byte).collect::<Option<Vec<u8>>>().and_then(|k| String::from_utf8(k).ok());
    key.filter(|key| cursor_of(key) == cursor).ok_or_else(|| {
        let words = format!("the cursor {cursor:?} is none of this cluster");
        ApiError::new(Code::BodyInvalid, words).hint("take it from nextCursor of the page before")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_other_texts_are_refused() {
        for key in ["", "default/web", "00000000000000000007"] {
            assert_eq!(key_of(&cursor_of(key)).unwrap(), key);
        }
        let good = cursor_of("default/web");
        for bad in ["", "zzz", "default/web", &good[2..], &format!("{good}7"), &format!("{good}77")]
        {
            assert!(key_of(bad).is_err(), "{bad}");
        }
    }
}
