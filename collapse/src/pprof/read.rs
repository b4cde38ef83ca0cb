//! Reads pprof files.

use std::io::{self, Read};
use std::time::{Duration, SystemTime};

use prost::{DecodeError, Message};
use thiserror::Error;

use super::format::{Label, Profile as File, SAMPLE_FIELD, Sample};
use super::gzip::unpack;
use super::symbols::{Budget, Locations, Texts};
use super::value::{Columns, interval_ns};
use crate::{Importer, Process, Profile, StackId, ThreadId, TooLong};

/// Why a file cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file could not be read at all, or its packing is broken.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is larger than any profile needs to be, unpacked or with all that it names written out.
    #[error("its {what} is larger than {} MiB", limit >> 20)]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it may be, bytes.
        limit: usize,
    },
    /// More entries than a profile needs.
    #[error("it has more than {0} entries")]
    TooMany(usize),
    /// It is no protocol buffer, or not of this format.
    #[error("not a pprof file: {0}")]
    Format(#[from] DecodeError),
    /// A field ends after its message, or is of no known kind.
    #[error("not a pprof file: the field at byte {at} is broken")]
    Field {
        /// Place in the unpacked file.
        at: usize,
    },
    /// The file says of no value what it is.
    #[error("it has no sample types")]
    NoValues,
    /// The values that count are not time.
    #[error("it counts {kind} in {unit}, not time")]
    NotTime {
        /// What is counted.
        kind: String,
        /// In which unit.
        unit: String,
    },
    /// A sample with too few or too many values.
    #[error("a sample has {found} values in place of {expected}")]
    Values {
        /// How many it has.
        found: usize,
        /// How many sample types there are.
        expected: usize,
    },
    /// A negative time, or one that is no number of nanoseconds below 2^64.
    #[error("a sample has the time {0}")]
    Time(i64),
    /// Something is named that the file does not have.
    #[error("it has no {what} {id}")]
    NoSuch {
        /// What is missing.
        what: &'static str,
        /// Its id, or its place.
        id: u64,
    },
    /// More time than fits.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// Reads a file, ours or another program's, packed or not. Its default sample type (or the last one) is taken for time;
/// `sample_interval_ns` is what one count stands for where that type counts and the file has no period.
///
/// # Errors
/// [`ReadError`]; nothing is guessed for a file that breaks the format's own rules.
pub fn read(input: impl Read, sample_interval_ns: u64) -> Result<Profile, ReadError> {
    let message = unpack(input)?;
    let (mut file, samples) = split(&message)?;
    let texts = Texts::take(&mut file);
    let columns = Columns::choose(&file, &texts, sample_interval_ns)?;
    let mut importer = Importer::default();
    let mut budget = Budget::new();
    let locations = Locations::take(&mut file, &texts, &mut importer, &mut budget)?;
    let mut reader = SampleReader { texts, columns, locations, importer, budget };
    for sample in samples {
        reader.add(&Sample::decode(sample)?)?;
    }
    let interval_ns = interval_ns(&file, &reader.texts)?;
    Ok(with_recorded(reader.importer.finish(), &file, interval_ns))
}

/// Most entries of all tables together. The smallest has two bytes, but takes up to a hundred in memory.
const MAX_ENTRIES: usize = 4_000_000;

/// Everything but the samples, and each sample's bytes. Samples come before the tables that they refer to and are
/// most of a file, so they are decoded one at a time.
fn split(message: &[u8]) -> Result<(File, Vec<&[u8]>), ReadError> {
    let (mut file, mut samples) = (File::default(), Vec::new());
    let mut rest = message;
    for _ in 0..MAX_ENTRIES {
        if rest.is_empty() {
            return Ok((file, samples));
        }
        let broken = || ReadError::Field { at: message.len() - rest.len() };
        let field = next_field(rest).ok_or_else(broken)?;
        if field.number == SAMPLE_FIELD && field.is_message {
            samples.push(field.content);
        } else {
            file.merge(field.whole)?;
        }
        rest = &rest[field.whole.len()..];
    }
    Err(ReadError::TooMany(MAX_ENTRIES))
}

/// A field as it stands in a message.
struct Field<'m> {
    number: usize,
    /// A message, a text or packed numbers, and no single number.
    is_message: bool,
    content: &'m [u8],
    /// With its key and length.
    whole: &'m [u8],
}

/// The field that `message` begins with (<https://protobuf.dev/programming-guides/encoding/>).
fn next_field(message: &[u8]) -> Option<Field<'_>> {
    // Keys, numbers and lengths are the same kind of variable-length number.
    let mut rest = message;
    let key = prost::decode_length_delimiter(&mut rest).ok()?;
    let wire_type = key & 7;
    let length = match wire_type {
        0 => {
            prost::decode_length_delimiter(&mut rest).ok()?;
            0
        }
        1 => 8,
        2 => prost::decode_length_delimiter(&mut rest).ok()?,
        5 => 4,
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    let whole = message.get(..message.len() - rest.len())?;
    Some(Field { number: key >> 3, is_message: wire_type == 2, content, whole })
}

fn with_recorded(mut profile: Profile, file: &File, interval_ns: Option<u64>) -> Profile {
    let recorded = &mut profile.recorded;
    let started = Duration::from_nanos(u64::try_from(file.time_nanos).unwrap_or(0));
    recorded.started = SystemTime::UNIX_EPOCH + started;
    if let Some(duration_ns) = u64::try_from(file.duration_nanos).ok().filter(|duration_ns| *duration_ns > 0)
    {
        recorded.duration_ns = duration_ns;
    }
    recorded.rate_hz = interval_ns.map_or(0.0, |interval_ns| 1e9 / interval_ns as f64);
    profile
}

/// Adds samples to the threads that their labels name.
struct SampleReader {
    texts: Texts,
    columns: Columns,
    locations: Locations,
    importer: Importer,
    budget: Budget,
}

/// What interning a frame of a stack takes at most, bytes.
const STACK_NODE_SIZE: usize = 8;

impl SampleReader {
    fn add(&mut self, sample: &Sample) -> Result<(), ReadError> {
        let (weight_ns, observations) = self.columns.of(&sample.value)?;
        let thread = self.thread(&sample.label)?;
        let mut stack = StackId::EMPTY;
        for &location in sample.location_id.iter().rev() {
            let frames = self.locations.frames(location)?;
            self.budget.spend(frames.len() * STACK_NODE_SIZE)?;
            for &frame in frames {
                stack = self.importer.call(stack, frame);
            }
        }
        Ok(self.importer.add_to(thread, stack, weight_ns, observations)?)
    }

    /// The thread that these labels name; without any of them, the one nameless thread of a nameless process.
    fn thread(&mut self, labels: &[Label]) -> Result<ThreadId, ReadError> {
        let (mut process, mut tid, mut name) = (Process::default(), 0, "");
        let number = |label: &Label| u32::try_from(label.num).unwrap_or(0);
        for label in labels {
            match &**self.texts.get(label.key)? {
                "pid" => process.pid = number(label),
                "process" => process.name = self.texts.get(label.str)?.to_string(),
                "tid" | "thread id" | "thread_id" => tid = number(label),
                "thread" | "thread name" | "thread_name" => name = self.texts.get(label.str)?,
                _ => {}
            }
        }
        self.budget.spend(process.name.len() + name.len())?;
        Ok(self.importer.thread(process, tid, name.to_owned()))
    }
}
