//! Which of a sample's values is its time, and in which unit.

use super::ReadError;
use super::format::{Profile, ValueType};
use super::symbols::Texts;

/// Where a sample's time and its number of observations stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Columns {
    /// How many values each sample has.
    count: usize,
    time: usize,
    ns_per_unit: u64,
    observations: Option<usize>,
}

impl Columns {
    /// Takes the default sample type, or the last one where the file names none. A type that counts something stands
    /// for time too: each count for the file's period or, where that is no time, for `sample_interval_ns`.
    pub fn choose(file: &Profile, texts: &Texts, sample_interval_ns: u64) -> Result<Self, ReadError> {
        let types = &file.sample_type;
        let named = |kind: i64| types.iter().rposition(|candidate| kind != 0 && candidate.kind == kind);
        let last = types.len().checked_sub(1).ok_or(ReadError::NoValues)?;
        let time = named(file.default_sample_type).unwrap_or(last);
        let ns_per_unit = match texts.get(types[time].unit)? {
            unit if is_count(unit) => interval_ns(file, texts)?.unwrap_or(sample_interval_ns),
            unit => ns_per(unit).ok_or_else(|| not_time(types[time], texts))?,
        };
        let mut observations = None;
        for (at, kind) in types.iter().enumerate() {
            if &**texts.get(kind.kind)? == "samples" && is_count(texts.get(kind.unit)?) {
                observations = Some(at);
            }
        }
        Ok(Columns { count: types.len(), time, ns_per_unit, observations })
    }

    /// Time in ns and observations of a sample with these values.
    pub fn of(&self, values: &[i64]) -> Result<(u64, u32), ReadError> {
        if values.len() != self.count {
            return Err(ReadError::Values { found: values.len(), expected: self.count });
        }
        let time = values[self.time];
        let weight_ns = u64::try_from(time).ok().and_then(|time| time.checked_mul(self.ns_per_unit));
        let observations =
            self.observations.map_or(1, |at| u32::try_from(values[at].max(0)).unwrap_or(u32::MAX));
        Ok((weight_ns.ok_or(ReadError::Time(time))?, observations))
    }
}

fn not_time(value_type: ValueType, texts: &Texts) -> ReadError {
    let text = |place| texts.get(place).map(|text| text.to_string()).unwrap_or_default();
    ReadError::NotTime { kind: text(value_type.kind), unit: text(value_type.unit) }
}

/// The time between two samples, if the file knows it, ns.
pub fn interval_ns(file: &Profile, texts: &Texts) -> Result<Option<u64>, ReadError> {
    let Some(period_type) = file.period_type else { return Ok(None) };
    let period = u64::try_from(file.period).ok().filter(|period| *period > 0);
    let ns_per_unit = ns_per(texts.get(period_type.unit)?);
    Ok(period.zip(ns_per_unit).and_then(|(period, ns)| period.checked_mul(ns)))
}

fn is_count(unit: &str) -> bool {
    matches!(unit, "" | "count" | "samples")
}

/// The units of time that `pprof` knows (`internal/measurement` in its sources), ns.
fn ns_per(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" | "nanosecond" | "nanoseconds" => 1,
        "us" | "µs" | "microsecond" | "microseconds" => 1_000,
        "ms" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "second" | "seconds" => 1_000_000_000,
        "min" | "minute" | "minutes" => 60_000_000_000,
        "hr" | "hour" | "hours" => 3_600_000_000_000,
        _ => return None,
    })
}
