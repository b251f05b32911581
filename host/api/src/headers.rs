//! Headers that carry meaning: preconditions, idempotency, the revision of an answer.

use pliant_types::Revision;

/// Makes a write that is sent twice happen once; 1 to 255 visible characters.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The state that an answer shows; on every answer.
pub const REVISION: &str = "pliant-revision";
/// The digest of bytes that are sent or fetched, checked by the receiver.
pub const DIGEST: &str = "pliant-digest";
/// The last frame that a reader of a stream has; the stream goes on after it.
pub const LAST_EVENT_ID: &str = "last-event-id";
/// Longest idempotency key, in bytes.
pub const MAX_KEY_BYTES: usize = 255;

/// What must hold for a write to be carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    #[default]
    None,
    /// The job must not exist: `If-Match: "0"` or `If-None-Match: *`.
    Absent,
    /// The job must exist: `If-Match: *`.
    Present,
    /// The job's spec revision must be this.
    Revision(Revision),
}

/// The ETag of a job: its spec revision.
#[must_use]
pub fn etag(revision: Revision) -> String {
    format!("\"{revision}\"")
}

/// The revision of an ETag; a weak one counts as well.
///
/// # Errors
/// One sentence that says what was expected.
pub fn revision_of(etag: &str) -> Result<Revision, String> {
    let text = etag.trim();
    let text = text.strip_prefix("W/").unwrap_or(text);
    let digits = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let number =
        digits.parse().map_err(|_| format!("expected a revision such as \"93\", saw {etag:?}"))?;
    Ok(Revision::new(number))
}

/// Reads the two headers of preconditions.
///
/// # Errors
/// One sentence: a value that is no revision, or both headers at once.
pub fn precondition(
    if_match: Option<&str>,
    if_none_match: Option<&str>,
) -> Result<Precondition, String> {
    match (if_match.map(str::trim), if_none_match.map(str::trim)) {
        (None, None) => Ok(Precondition::None),
        (None, Some("*")) => Ok(Precondition::Absent),
        (None, Some(other)) => Err(format!("If-None-Match takes only *, saw {other:?}")),
        (Some("*"), None) => Ok(Precondition::Present),
        (Some(etag), None) => match revision_of(etag)? {
            revision if revision.get() == 0 => Ok(Precondition::Absent),
            revision => Ok(Precondition::Revision(revision)),
        },
        (Some(_), Some(_)) => Err("If-Match and If-None-Match exclude each other".to_owned()),
    }
}

/// Checks an idempotency key.
///
/// # Errors
/// One sentence that says what a key looks like.
pub fn check_key(key: &str) -> Result<(), String> {
    if (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(format!("an Idempotency-Key has 1 to {MAX_KEY_BYTES} visible ASCII characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_form_of_a_precondition() {
        let check = |matches, none| precondition(matches, none);
        assert_eq!(check(None, None), Ok(Precondition::None));
        assert_eq!(check(Some("\"93\""), None), Ok(Precondition::Revision(Revision::new(93))));
        assert_eq!(check(Some("W/\"93\""), None), Ok(Precondition::Revision(Revision::new(93))));
        assert_eq!(check(Some("93"), None), Ok(Precondition::Revision(Revision::new(93))));
        assert_eq!(check(Some("\"0\""), None), Ok(Precondition::Absent));
        assert_eq!(check(Some("*"), None), Ok(Precondition::Present));
        assert_eq!(check(None, Some("*")), Ok(Precondition::Absent));
        assert!(check(Some("\"x\""), None).is_err());
        assert!(check(None, Some("\"1\"")).is_err());
        assert!(check(Some("*"), Some("*")).is_err());
        assert_eq!(revision_of(&etag(Revision::new(7))), Ok(Revision::new(7)));
    }

    #[test]
    fn keys_are_short_and_visible() {
        assert!(check_key("a-1").is_ok());
        for bad in ["", "a b", "ü", &"k".repeat(256)] {
            assert!(check_key(bad).is_err(), "{bad:?}");
        }
    }
}
