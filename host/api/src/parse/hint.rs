//! "Did you mean": the nearest known word, and where a field that is unknown here belongs.

use super::schema::DOCUMENT;
use super::shape::{Field, Shape};

/// The nearest of the known words, when it is near enough to be meant.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let word = plain(word);
    known
        .map(|candidate| (strsim::osa_distance(&word, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| {
            *distance <= allowed_distance(candidate.len().min(word.len()))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Slips that may be in a word of so many bytes.
fn allowed_distance(length: usize) -> usize {
    match length {
        0..=2 => 0,
        3..=5 => 1,
        6..=8 => 2,
        _ => 3,
    }
}

pub(crate) fn did_you_mean(word: &str) -> String {
    format!("did you mean `{word}`?")
}

/// Where a field of exactly this name exists, when it exists in one place only.
pub(super) fn elsewhere(name: &str) -> Option<String> {
    let mut places = Vec::new();
    search(DOCUMENT.fields(), "", name, &mut places);
    let [place] = places.as_slice() else { return None };
    Some(format!("it belongs at {place}"))
}

fn search(fields: &[Field], path: &str, name: &str, places: &mut Vec<String>) {
    for field in fields {
        let here =
            if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
        if field.name == name && !matches!(field.shape, Shape::Ignored) {
            places.push(here.clone());
        }
        search(field.shape.fields(), &here, name, places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["count", "onHostLoss", "env", "minHealthyTime"];
        let check = |word| nearest(word, known.into_iter());
        assert_eq!(check("cuont"), Some("count"));
        assert_eq!(check("on_host_loss"), Some("onHostLoss"));
        assert_eq!(check("minHealtyTime"), Some("minHealthyTime"));
        assert_eq!(check("ent"), Some("env"));
        assert_eq!(check("replicate"), None);
    }

    #[test]
    fn a_field_that_stands_elsewhere_is_told_where() {
        assert_eq!(elsewhere("ports").as_deref(), Some("it belongs at spec.ports"));
        assert_eq!(elsewhere("period"), None, "stands in three probes");
    }
}
