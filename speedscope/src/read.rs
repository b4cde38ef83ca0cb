//! Reads speedscope files.

use std::io::{self, Read};

use serde_json::Number;
use stackclock_collapse::{self as collapse, FrameId, Importer, StackId, ThreadId, TooLong};
use thiserror::Error;

use crate::format::{Event, EventKind, EventedProfile, File, Frame, Profile, SampledProfile, ValueUnit};

/// Why a file cannot be read. Profiles are named as in the file.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file could not be read at all.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is no JSON, or not of the speedscope format.
    #[error("not a speedscope file: {0}")]
    Format(#[source] serde_json::Error),
    /// Its values are bytes.
    #[error("profile \"{profile}\" counts bytes, not time")]
    NotTime {
        /// Name of the profile.
        profile: String,
    },
    /// A negative time, or one that is no number of nanoseconds below 2^64.
    #[error("profile \"{profile}\" has the time {value}")]
    Time {
        /// Name of the profile.
        profile: String,
        /// The value as in the file.
        value: Number,
    },
    /// Stacks and weights differ in number.
    #[error("profile \"{profile}\" has {samples} samples but {weights} weights")]
    Lengths {
        /// Name of the profile.
        profile: String,
        /// Number of stacks.
        samples: usize,
        /// Number of weights.
        weights: usize,
    },
    /// A frame that does not exist.
    #[error("profile \"{profile}\" names frame {frame}, but the file has only {frames}")]
    NoSuchFrame {
        /// Name of the profile.
        profile: String,
        /// The index.
        frame: usize,
        /// How many frames there are.
        frames: usize,
    },
    /// An event closes a frame that is not the innermost open one, or goes back in time.
    #[error("event {event} of profile \"{profile}\" is out of order")]
    EventOrder {
        /// Name of the profile.
        profile: String,
        /// Place of the event.
        event: usize,
    },
    /// More time than fits.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// Reads a file, ours or another program's. Each of its profiles becomes a thread; samples without a stack become
/// gaps in it. `sample_interval_ns` is the time that a weight of 1 stands for in profiles without a unit.
///
/// # Errors
/// [`ReadError`]; nothing is guessed for a file that breaks the format's own rules.
pub fn read(mut input: impl Read, sample_interval_ns: u64) -> Result<collapse::Profile, ReadError> {
    // serde_json takes a slice several times as fast as a reader.
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let file: File = serde_json::from_slice(&bytes).map_err(ReadError::Format)?;
    drop(bytes);
    let mut importer = Importer::default();
    let frames: Vec<FrameId> =
        file.shared.frames.into_iter().map(|frame| importer.frame(to_frame(frame))).collect();
    for profile in file.profiles {
        let (name, unit) = match &profile {
            Profile::Sampled(sampled) => (sampled.name.clone(), sampled.unit),
            Profile::Evented(evented) => (evented.name.clone(), evented.unit),
        };
        let thread = importer.thread_titled(&name);
        let clock = ValueClock { name, unit, sample_interval_ns };
        let mut reader = ThreadReader { importer: &mut importer, thread, clock, frames: &frames };
        match profile {
            Profile::Sampled(sampled) => reader.read_sampled(sampled)?,
            Profile::Evented(evented) => reader.read_evented(evented)?,
        }
    }
    Ok(importer.finish())
}

/// The frame as the profile model has it; its kind is guessed.
fn to_frame(frame: Frame) -> collapse::Frame {
    match &frame.file {
        Some(file) => collapse::Frame::in_file(&frame.name, file, frame.line),
        None => collapse::Frame::from_text(&frame.name),
    }
}

/// Turns a profile's values into nanoseconds.
struct ValueClock {
    /// The profile's name, for errors.
    name: String,
    unit: ValueUnit,
    sample_interval_ns: u64,
}

impl ValueClock {
    fn ns(&self, value: &Number) -> Result<u64, ReadError> {
        let ns_per_unit = match self.unit {
            ValueUnit::None => self.sample_interval_ns,
            ValueUnit::Nanoseconds => 1,
            ValueUnit::Microseconds => 1_000,
            ValueUnit::Milliseconds => 1_000_000,
            ValueUnit::Seconds => 1_000_000_000,
            ValueUnit::Bytes => return Err(ReadError::NotTime { profile: self.name.clone() }),
        };
        let exact = value.as_u64().map(|whole| whole.checked_mul(ns_per_unit));
        let ns = exact.unwrap_or_else(|| rounded(value.as_f64()? * ns_per_unit as f64));
        ns.ok_or_else(|| ReadError::Time { profile: self.name.clone(), value: value.clone() })
    }
}

/// A non-negative number below 2^64 as the nearest whole one.
fn rounded(value: f64) -> Option<u64> {
    let value = value.round();
    (value >= 0.0 && value < u64::MAX as f64).then_some(value as u64)
}

/// Adds one profile of a file to a thread.
struct ThreadReader<'r> {
    importer: &'r mut Importer,
    thread: ThreadId,
    clock: ValueClock,
    /// The file's shared frames.
    frames: &'r [FrameId],
}

impl ThreadReader<'_> {
    fn read_sampled(&mut self, profile: SampledProfile) -> Result<(), ReadError> {
        let (samples, weights) = (profile.samples.len(), profile.weights.len());
        if samples != weights {
            return Err(ReadError::Lengths { profile: profile.name, samples, weights });
        }
        self.importer.start(self.thread, self.clock.ns(&profile.start_value)?);
        for (stack, weight) in profile.samples.iter().zip(&profile.weights) {
            let mut called = StackId::EMPTY;
            for &frame in stack {
                called = self.call(called, frame)?;
            }
            self.add(called, self.clock.ns(weight)?)?;
        }
        Ok(())
    }

    fn read_evented(&mut self, profile: EventedProfile) -> Result<(), ReadError> {
        let mut now_ns = self.clock.ns(&profile.start_value)?;
        self.importer.start(self.thread, now_ns);
        // The open frames as places in the file, each with the stack that it is the leaf of.
        let mut open: Vec<(usize, StackId)> = Vec::new();
        let innermost = |open: &[(usize, StackId)]| open.last().map_or(StackId::EMPTY, |(_, stack)| *stack);
        for (event, &Event { kind, ref at, frame }) in profile.events.iter().enumerate() {
            let out_of_order = || ReadError::EventOrder { profile: profile.name.clone(), event };
            let at_ns = self.clock.ns(at)?;
            self.add(innermost(&open), at_ns.checked_sub(now_ns).ok_or_else(out_of_order)?)?;
            now_ns = at_ns;
            match kind {
                EventKind::Open => open.push((frame, self.call(innermost(&open), frame)?)),
                EventKind::Close => {
                    open.pop_if(|(opened, _)| *opened == frame).ok_or_else(out_of_order)?;
                }
            }
        }
        let end_ns = self.clock.ns(&profile.end_value)?;
        self.add(innermost(&open), end_ns.saturating_sub(now_ns))
    }

    /// The stack in which `caller` calls the frame at this place in the file.
    fn call(&mut self, caller: StackId, frame: usize) -> Result<StackId, ReadError> {
        let known = self.frames.get(frame).ok_or_else(|| ReadError::NoSuchFrame {
            profile: self.clock.name.clone(),
            frame,
            frames: self.frames.len(),
        })?;
        Ok(self.importer.call(caller, *known))
    }

    /// Adds a stretch of time with this stack; an empty one is a gap.
    fn add(&mut self, stack: StackId, weight_ns: u64) -> Result<(), ReadError> {
        if weight_ns == 0 {
            return Ok(());
        }
        if stack == StackId::EMPTY {
            return Ok(self.importer.add_gap(self.thread, weight_ns)?);
        }
        Ok(self.importer.add_to(self.thread, stack, weight_ns, 1)?)
    }
}
