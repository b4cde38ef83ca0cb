//! The messages of `proto/profile.proto` in <https://github.com/google/pprof>, by field number. Fields that we neither
//! write nor read are left out; decoding passes over them.
//!
//! Text is a place in [`Profile::string_table`], whose first entry is empty, so that 0 means "none". It is kept as bytes:
//! Go's strings need not be UTF-8.

use prost::Message;

/// Number of [`Profile::sample`], by which the reader takes samples one at a time.
pub const SAMPLE_FIELD: usize = 2;

/// A whole file.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    /// What the values of each sample are, in their order.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// The samples.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// Mapped files.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Places in code.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Functions.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All texts.
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub string_table: Vec<Vec<u8>>,
    /// Begin, ns since 1970.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// Length, ns.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// What lies between two samples.
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// How much of it.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Remarks for people, as texts.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// Text of the sample type that is shown first; none: the last one.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// What a value counts, in which unit; both texts.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct ValueType {
    /// As `cpu` or `samples`.
    #[prost(int64, tag = "1")]
    pub kind: i64,
    /// As `nanoseconds` or `count`.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// Values of one stack.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// Ids of locations, leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// As many as there are sample types.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// What else is known.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// A remark on a sample: a text or a number.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Label {
    /// Text of its name.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// The text; 0 when it is a number.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// The number.
    #[prost(int64, tag = "3")]
    pub num: i64,
}

/// A mapped file.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Mapping {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// First address.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// Place in the file of the first address.
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// Text of the file's name.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Whether names of functions were looked up; `pprof` tries to do it itself otherwise.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// The same for files.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// The same for lines.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// The same for what was inlined.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// A place in code.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Id of its mapping; 0: none.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// The instruction; 0: not known.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// Functions at that instruction: each was inlined into the one after it.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

/// A function and a line in it.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Line {
    /// Id of the function; 0: not known.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// The line; 0: not known.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function; all but the id are texts.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Function {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// For people.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// As the linker knows it.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Source file.
    #[prost(int64, tag = "4")]
    pub filename: i64,
}
