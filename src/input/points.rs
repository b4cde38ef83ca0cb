//! Shares of the wall time as people type them: `5%`, `0.5`.

use std::fmt;
use std::str::FromStr;

/// A part of the wall time, from 0 to 100 percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Points(f64);

impl Points {
    /// As a number from 0 to 1.
    pub fn share(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Points {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_suffix('%').unwrap_or(text).trim_end();
        match number.parse() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Points(percent)),
            _ => Err("a share is a number of percent from 0 to 100: 5%, 0.5"),
        }
    }
}

impl fmt::Display for Points {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} %", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_numbers_up_to_a_hundred() {
        for (text, share) in [("5%", 0.05), ("5", 0.05), ("0.5 %", 0.005), ("0", 0.0), ("100%", 1.0)] {
            assert_eq!(text.parse::<Points>().map(Points::share), Ok(share), "{text:?}");
        }
        for text in ["", "%", "-1", "101", "nan", "inf", "5%%", "five"] {
            assert!(text.parse::<Points>().is_err(), "{text:?}");
        }
    }
}
