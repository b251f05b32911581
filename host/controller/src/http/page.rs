//! Lists in pages: an opaque cursor, a limit, a state that is new enough.

use super::{context::Api, error::ApiError};
use crate::published::Published;
use pliant_api::body::{DEFAULT_LIMIT, MAX_LIMIT, Page, PageQuery};
use pliant_types::codes::Code;
use std::time::Duration;

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
    let after = query.cursor.clone();
    let mut rest = all.filter(|(key, _)| after.as_ref().is_none_or(|after| key > after));
    let mut items = Vec::new();
    let mut last = None;
    while items.len() < limit as usize
        && let Some((key, item)) = rest.next()
    {
        items.push(item);
        last = Some(key);
    }
    let next_cursor = rest.next().and(last);
    Ok(Page { items, revision: published.state.revision(), next_cursor })
}
