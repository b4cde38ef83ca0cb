//! Sampling rates as people type them: `100` (Hz), `1khz`, `10k`; or as an interval: `10ms`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::duration::{DurationError, PositiveDuration, split_number};

/// Why a text is not a sampling rate.
#[derive(Debug, Error, PartialEq)]
pub enum RateError {
    /// It does not begin with a decimal number.
    #[error("a rate is a positive number of samples a second: 100, 1khz, 10k")]
    NotANumber,
    /// The text after the number is no unit that we know.
    #[error("'{0}' is not a unit of frequency (hz, k, khz)")]
    UnknownUnit(String),
    /// A rate of zero never samples.
    #[error("a rate must be greater than zero")]
    Zero,
    /// The time between two ticks is no time that we can keep.
    #[error("the rate must lie between one sample an hour and 1 MHz")]
    OutOfRange,
    /// The interval given in place of a rate is none.
    #[error(transparent)]
    Interval(#[from] DurationError),
}

/// How often to sample: ticks a second, kept as the mean time between two ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    interval: Duration,
}

/// Reading the clock alone takes a good part of a microsecond in a virtual machine.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(3600);

impl Rate {
    /// The rate that ticks every `interval` in the mean.
    pub fn from_interval(interval: Duration) -> Result<Self, RateError> {
        if (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) {
            Ok(Rate { interval })
        } else {
            Err(RateError::OutOfRange)
        }
    }

    /// Reads what follows `--interval`.
    pub fn parse_interval(text: &str) -> Result<Self, RateError> {
        Rate::from_interval(text.parse::<PositiveDuration>()?.get())
    }

    /// Mean time between two ticks.
    pub fn interval(self) -> Duration {
        self.interval
    }

    /// Mean time between two ticks, ns.
    pub fn interval_ns(self) -> u64 {
        u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Ticks a second.
    pub fn hertz(self) -> f64 {
        1.0 / self.interval.as_secs_f64()
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let (number, unit) = split_number(text).ok_or(RateError::NotANumber)?;
        let hertz = match unit.to_ascii_lowercase().as_str() {
            "" | "hz" => number,
            "k" | "khz" => number * 1000.0,
            _ => return Err(RateError::UnknownUnit(unit.to_owned())),
        };
        if hertz == 0.0 {
            return Err(RateError::Zero);
        }
        let interval = Duration::try_from_secs_f64(1.0 / hertz).map_err(|_| RateError::OutOfRange)?;
        Rate::from_interval(interval)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (self.hertz() * 1000.0).round() / 1000.0;
        write!(out, "{rounded} Hz")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(text: &str) -> Result<Duration, RateError> {
        text.parse().map(Rate::interval)
    }

    #[test]
    fn a_number_alone_is_hertz() {
        assert_eq!(interval("100"), Ok(Duration::from_millis(10)));
        assert_eq!(interval("0.5"), Ok(Duration::from_secs(2)));
    }

    #[test]
    fn units_scale_and_ignore_case() {
        for text in ["1000", "1000hz", "1k", "1K", "1khz", "1 kHz", "1KHZ"] {
            assert_eq!(interval(text), Ok(Duration::from_millis(1)), "{text:?}");
        }
        assert_eq!(interval("10k"), Ok(Duration::from_micros(100)));
    }

    #[test]
    fn an_interval_is_a_rate_too() {
        assert_eq!(Rate::parse_interval("10ms"), "100".parse());
        assert_eq!(Rate::parse_interval("2h"), Err(RateError::OutOfRange));
        assert_eq!(Rate::parse_interval("0"), Err(RateError::Interval(DurationError::Zero)));
    }

    #[test]
    fn what_is_not_a_rate_says_why() {
        for text in ["", "fast", "-1", "nan", "inf", "khz"] {
            assert_eq!(interval(text), Err(RateError::NotANumber), "{text:?}");
        }
        assert_eq!(interval("1ghz"), Err(RateError::UnknownUnit("ghz".to_owned())));
        assert_eq!(interval("0"), Err(RateError::Zero));
        assert_eq!(interval("0.0khz"), Err(RateError::Zero));
        assert_eq!(interval("10000k"), Err(RateError::OutOfRange));
        assert_eq!(interval("0.000001"), Err(RateError::OutOfRange));
        assert_eq!(interval(&"9".repeat(400)), Err(RateError::OutOfRange));
    }

    #[test]
    fn a_rate_prints_as_hertz() {
        assert_eq!("1khz".parse::<Rate>().unwrap().to_string(), "1000 Hz");
        assert_eq!("3".parse::<Rate>().unwrap().to_string(), "3 Hz");
    }
}
