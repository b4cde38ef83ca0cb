//! The format as speedscope publishes it: `file-format-spec.ts` in its sources, from which the schema at
//! <https://www.speedscope.app/file-format-schema.json> is made. Names differ from there only in case.
//!
//! The lists that grow with the recording are type parameters, so that the writer can stream them.

use serde::{Deserialize, Serialize};
use serde_json::Number;

/// The value of [`File::schema`].
pub const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// A whole file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File<Frames = Vec<Frame>, Profiles = Vec<Profile>> {
    /// [`SCHEMA`]; other programs leave it out at times.
    #[serde(rename = "$schema", default)]
    pub schema: String,
    /// What all profiles share.
    pub shared: Shared<Frames>,
    /// The profiles, which speedscope shows one at a time.
    pub profiles: Profiles,
    /// Name of the whole; speedscope takes the file's name when it is missing. Since speedscope 0.6.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The profile that is shown first; the first one when missing. Since speedscope 0.6.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_profile_index: Option<usize>,
    /// The program that wrote the file, as `name@version`. Since speedscope 1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exporter: Option<String>,
}

/// What all profiles of a file share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shared<Frames = Vec<Frame>> {
    /// Frames; stacks and events name them by their place here.
    pub frames: Frames,
}

/// A frame. speedscope shows the name, and the rest in the details.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Function name.
    pub name: String,
    /// Source file, or the module when that is all that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in `file`, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in `line`, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub col: Option<u32>,
}

/// One profile of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Profile<Samples = Vec<Vec<usize>>, Weights = Vec<Number>> {
    /// Stacks with weights.
    Sampled(SampledProfile<Samples, Weights>),
    /// Frames that open and close.
    Evented(EventedProfile),
}

/// A profile of stacks with weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SampledProfile<Samples = Vec<Vec<usize>>, Weights = Vec<Number>> {
    /// Name in speedscope's list of profiles.
    pub name: String,
    /// What all values count.
    pub unit: ValueUnit,
    /// When the profile begins.
    pub start_value: Number,
    /// When it ends; never before `start_value`.
    pub end_value: Number,
    /// Stacks, root first, as places in [`Shared::frames`].
    pub samples: Samples,
    /// Each stack's weight; as many as `samples`.
    pub weights: Weights,
}

/// A profile of frames that open and close.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventedProfile {
    /// Name in speedscope's list of profiles.
    pub name: String,
    /// What all values count.
    pub unit: ValueUnit,
    /// When the profile begins.
    pub start_value: Number,
    /// When it ends; never before `start_value`.
    pub end_value: Number,
    /// Events in order of time; what opens last closes first.
    pub events: Vec<Event>,
}

/// A frame opens or closes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Which of the two.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// When.
    pub at: Number,
    /// Place in [`Shared::frames`].
    pub frame: usize,
}

/// What an [`Event`] does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EventKind {
    /// The frame is called.
    #[serde(rename = "O")]
    Open,
    /// The frame returns.
    #[serde(rename = "C")]
    Close,
}

/// What the values of a profile count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueUnit {
    /// Samples, or something without a unit.
    None,
    /// 1e-9 s.
    Nanoseconds,
    /// 1e-6 s.
    Microseconds,
    /// 1e-3 s.
    Milliseconds,
    /// 1 s.
    Seconds,
    /// Memory, not time.
    Bytes,
}
