//! Spans of time as people type them: `30` (seconds), `1.5s`, `250ms`, `2m`.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// Why a text is not a span of time.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DurationError {
    /// It does not begin with a decimal number.
    #[error("a duration is a positive number with a unit of us, ms, s, m or h (none means s)")]
    NotANumber,
    /// The text after the number is no unit that we know.
    #[error("'{0}' is not a unit of time (us, ms, s, m, h)")]
    UnknownUnit(String),
    /// Nothing can be done in no time.
    #[error("a duration must be longer than zero")]
    Zero,
    /// More than the clock can count.
    #[error("a duration must be shorter than a thousand years")]
    TooLong,
}

/// A span of time longer than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositiveDuration(Duration);

/// Far beyond any use, and far below where adding it to a clock reading overflows.
const LONGEST: Duration = Duration::from_secs(1000 * 366 * 24 * 3600);

impl PositiveDuration {
    /// The span itself.
    pub fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for PositiveDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let (number, unit) = split_number(text).ok_or(DurationError::NotANumber)?;
        let unit_seconds = match unit {
            "us" => 1e-6,
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            other => return Err(DurationError::UnknownUnit(other.to_owned())),
        };
        let duration =
            Duration::try_from_secs_f64(number * unit_seconds).map_err(|_| DurationError::TooLong)?;
        match duration {
            Duration::ZERO => Err(DurationError::Zero),
            longer if longer > LONGEST => Err(DurationError::TooLong),
            duration => Ok(PositiveDuration(duration)),
        }
    }
}

/// How long `-d` lets a recording be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingLength {
    /// Until Ctrl-C or until the targets have ended; typed as py-spy's `unlimited`.
    Unlimited,
    /// This long, or less when the targets end before.
    Limited(PositiveDuration),
}

impl FromStr for RecordingLength {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        match text {
            "unlimited" => Ok(RecordingLength::Unlimited),
            limited => limited.parse().map(RecordingLength::Limited),
        }
    }
}

/// Splits `1.5kHz` into 1.5 and `kHz`. The number is plain decimal: signs, exponents, `inf` and `nan` are not
/// numbers here.
pub fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Duration, DurationError> {
        text.parse().map(PositiveDuration::get)
    }

    #[test]
    fn a_number_alone_is_seconds() {
        assert_eq!(parse("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("0.25"), Ok(Duration::from_millis(250)));
    }

    #[test]
    fn units_scale() {
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("1h"), Ok(Duration::from_secs(3600)));
        assert_eq!(parse("10 ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse("100us"), Ok(Duration::from_micros(100)));
    }

    #[test]
    fn what_is_not_a_duration_says_why() {
        for text in ["", "abc", "-5", "+5", "inf", "nan", ".", "1.2.3", "s", "٣"] {
            assert_eq!(parse(text), Err(DurationError::NotANumber), "{text:?}");
        }
        assert_eq!(parse("1e3"), Err(DurationError::UnknownUnit("e3".to_owned())));
        assert_eq!(parse("5 days"), Err(DurationError::UnknownUnit("days".to_owned())));
        assert_eq!(parse("0"), Err(DurationError::Zero));
        assert_eq!(parse("0.0000000001"), Err(DurationError::Zero));
        assert_eq!(parse("99999999999999999999999"), Err(DurationError::TooLong));
        assert_eq!(parse("99999999999h"), Err(DurationError::TooLong));
        assert_eq!(parse(&"9".repeat(400)), Err(DurationError::TooLong));
    }

    #[test]
    fn a_recording_may_be_unlimited() {
        assert_eq!("unlimited".parse(), Ok(RecordingLength::Unlimited));
        assert!(matches!("2m".parse(), Ok(RecordingLength::Limited(_))));
        assert_eq!("forever".parse::<RecordingLength>(), Err(DurationError::NotANumber));
    }
}
