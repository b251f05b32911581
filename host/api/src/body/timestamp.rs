//! A point in time on the wire: RFC 3339 in UTC, to the millisecond.

use std::fmt;
use std::str::FromStr;

use pliant_types::Time;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Cluster time as people and other programs read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub Time);

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self(time)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = i64::try_from(self.0.millis()).unwrap_or(i64::MAX);
        // Times beyond the year 9999 cannot be written; the latest that can stands for them.
        let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{time:.3}")
    }
}

impl FromStr for Timestamp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a time such as 2026-01-31T12:00:00Z, saw {text:?}");
        let time: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
        let millis = u64::try_from(time.as_millisecond()).map_err(|_| wrong())?;
        Ok(Self(Time::from_millis(millis)))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read_to_the_millisecond() {
        let time = Timestamp(Time::from_millis(1_769_860_800_042));
        assert_eq!(time.to_string(), "2026-01-31T12:00:00.042Z");
        assert_eq!("2026-01-31T12:00:00.042Z".parse(), Ok(time));
        assert_eq!("2026-01-31T13:00:00.042+01:00".parse(), Ok(time));
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert_eq!(Timestamp(Time::from_millis(u64::MAX)).to_string().len(), 24);
    }
}
