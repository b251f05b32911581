//! Constraints on hosts, written as one line: `arch = x86_64`, `label.zone in a, b`, `cores >= 4`.
//!
//! Parsing and evaluation of one line; who is asked and when is the planner's affair.

use crate::text::{InvalidText, serde_as_text};
use alloc::{collections::BTreeSet, string::String};
use core::{cmp::Ordering, fmt, str::FromStr};

/// A key of a host and what its value must be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Constraint {
    /// An attribute (`arch`, `cores`, `host`) or a label (`label.zone`).
    pub key: String,
    /// What must hold.
    pub operator: Operator,
}

/// What must hold for the value of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// `KEY = VALUE`
    Equal(String),
    /// `KEY != VALUE`; also holds where the key is absent.
    NotEqual(String),
    /// `KEY in A, B`
    In(BTreeSet<String>),
    /// `KEY not-in A, B`; also holds where the key is absent.
    NotIn(BTreeSet<String>),
    /// `KEY exists`
    Exists,
    /// `KEY absent`
    Absent,
    /// `KEY >= VALUE`: dotted numbers compared part by part (`5.10 >= 5.9`).
    AtLeast(String),
    /// `KEY <= VALUE`
    AtMost(String),
}

/// Longest line that is accepted, in bytes.
const MAX_LINE_BYTES: usize = 512;

impl Constraint {
    /// Whether a host whose key has `value` satisfies this.
    #[must_use]
    pub fn holds(&self, value: Option<&str>) -> bool {
        match (&self.operator, value) {
            (Operator::Exists, v) => v.is_some(),
            (Operator::Absent, v) => v.is_none(),
            (Operator::Equal(want), Some(v)) => v == want,
            (Operator::NotEqual(want), Some(v)) => v != want,
            (Operator::In(set), Some(v)) => set.contains(v),
            (Operator::NotIn(set), Some(v)) => !set.contains(v),
            (Operator::AtLeast(want), Some(v)) => {
                compare_dotted(v, want).is_some_and(Ordering::is_ge)
            }
            (Operator::AtMost(want), Some(v)) => {
                compare_dotted(v, want).is_some_and(Ordering::is_le)
            }
            (Operator::NotEqual(_) | Operator::NotIn(_), None) => true,
            (
                Operator::Equal(_) | Operator::In(_) | Operator::AtLeast(_) | Operator::AtMost(_),
                None,
            ) => false,
        }
    }
}

/// Compares `5.10.2` with `5.9`; nothing when a part is not a number. Text after the numbers of a
/// part (`5.10-generic`) is left out of account.
fn compare_dotted(left: &str, right: &str) -> Option<Ordering> {
    let mut left = left.split('.').map(leading_number);
    let mut right = right.split('.').map(leading_number);
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Some(Ordering::Equal),
            (l, r) => {
                let order = l.unwrap_or(Some(0))?.cmp(&r.unwrap_or(Some(0))?);
                if order != Ordering::Equal {
                    return Some(order);
                }
            }
        }
    }
}

fn leading_number(part: &str) -> Option<u64> {
    let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
    part[..end].parse().ok()
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.operator {
            Operator::Equal(v) => write!(f, "{key} = {v}"),
            Operator::NotEqual(v) => write!(f, "{key} != {v}"),
            Operator::AtLeast(v) => write!(f, "{key} >= {v}"),
            Operator::AtMost(v) => write!(f, "{key} <= {v}"),
            Operator::Exists => write!(f, "{key} exists"),
            Operator::Absent => write!(f, "{key} absent"),
            Operator::In(set) => list(f, key, "in", set),
            Operator::NotIn(set) => list(f, key, "not-in", set),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, key: &str, word: &str, set: &BTreeSet<String>) -> fmt::Result {
    write!(f, "{key} {word} ")?;
    for (index, value) in set.iter().enumerate() {
        write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl FromStr for Constraint {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let bad = || {
            InvalidText::new(format_args!(
                "expected KEY = VALUE (or !=, >=, <=, in A, B, not-in A, B, exists, absent), saw {text:?}"
            ))
        };
        if text.len() > MAX_LINE_BYTES || text.contains(char::is_control) {
            return Err(bad());
        }
        let trimmed = text.trim();
        let key_len =
            trimmed.find(|c: char| c.is_whitespace() || matches!(c, '=' | '!' | '<' | '>'));
        let (key, rest) = trimmed.split_at(key_len.ok_or_else(bad)?);
        let valid_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
        if key.is_empty() || !key.chars().all(valid_key) {
            return Err(bad());
        }
        let operator = parse_operator(rest.trim()).ok_or_else(bad)?;
        Ok(Self { key: key.into(), operator })
    }
}

fn parse_operator(rest: &str) -> Option<Operator> {
    let one = |text: &str| {
        let value = text.trim();
        (!value.is_empty() && !value.contains([',', '=', '<', '>', '!']))
            .then(|| String::from(value))
    };
    match rest {
        "exists" => return Some(Operator::Exists),
        "absent" => return Some(Operator::Absent),
        _ => {}
    }
    if let Some(value) = rest.strip_prefix(">=") {
        return one(value).filter(|v| compare_dotted(v, "0").is_some()).map(Operator::AtLeast);
    }
    if let Some(value) = rest.strip_prefix("<=") {
        return one(value).filter(|v| compare_dotted(v, "0").is_some()).map(Operator::AtMost);
    }
    if let Some(value) = rest.strip_prefix("!=") {
        return one(value).map(Operator::NotEqual);
    }
    if let Some(value) = rest.strip_prefix('=') {
        return one(value).map(Operator::Equal);
    }
    if let Some(values) = rest.strip_prefix("not-in ") {
        return values.split(',').map(one).collect::<Option<_>>().map(Operator::NotIn);
    }
    let values = rest.strip_prefix("in ")?;
    values.split(',').map(one).collect::<Option<_>>().map(Operator::In)
}

serde_as_text!(Constraint);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn holds(line: &str, value: Option<&str>) -> bool {
        line.parse::<Constraint>().expect(line).holds(value)
    }

    #[test]
    fn every_operator_with_and_without_the_key() {
        for (line, value, want) in [
            ("arch = x86_64", Some("x86_64"), true),
            ("arch=x86_64", Some("arm"), false),
            ("arch = x86_64", None, false),
            ("arch != arm", None, true),
            ("label.zone in a, b", Some("b"), true),
            ("label.zone in a,b", Some("c"), false),
            ("label.zone not-in a", None, true),
            ("label.gpu exists", Some(""), true),
            ("label.gpu absent", None, true),
            ("kernel >= 5.9", Some("5.10.0-8-amd64"), true),
            ("kernel >= 5.9", Some("5.8"), false),
            ("kernel <= 6", Some("5.10"), true),
            ("cores >= 4", Some("16"), true),
            ("cores >= 4", Some("many"), false),
        ] {
            assert_eq!(holds(line, value), want, "{line} against {value:?}");
        }
    }

    #[test]
    fn canonical_text_round_trips_and_bad_lines_are_refused() {
        for line in [
            "a = b",
            "a != b",
            "a >= 1.2",
            "a <= 3",
            "a exists",
            "a absent",
            "a in b, c",
            "a not-in b",
        ] {
            assert_eq!(line.parse::<Constraint>().expect(line).to_string(), line);
        }
        for bad in
            ["", "a", "= b", "a =", "a == b", "a in", "a >= x", "a in b,,c", "a\n= b", "a$ = b"]
        {
            assert!(bad.parse::<Constraint>().is_err(), "{bad:?}");
        }
    }
}
