//! Writes pprof files.

use std::io::{self, Write};
use std::time::SystemTime;

use prost::Message;
use rustc_hash::FxHashMap;

use super::format::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use super::gzip::pack;
use crate::{Frame, FrameId, FrameKind, RunState, StackId, ThreadId, View};

/// Writes a view: a sample for each stack of each thread, with the observations and the time of all its samples.
pub fn write(view: &View<'_>, out: impl Write) -> io::Result<()> {
    pack(&message(view).encode_to_vec(), out)
}

fn message(view: &View<'_>) -> Profile {
    let mut builder = Builder::new(view);
    builder.describe_recording();
    builder.add_samples();
    builder.message
}

/// Fills the tables, each thing once.
struct Builder<'v, 'p> {
    view: &'v View<'p>,
    message: Profile,
    texts: FxHashMap<String, i64>,
    /// By texts of name and file.
    functions: FxHashMap<(i64, i64), u64>,
    /// By text of the name.
    mappings: FxHashMap<i64, u64>,
    /// By frames, outermost first.
    locations: FxHashMap<Vec<FrameId>, u64>,
}

impl<'v, 'p> Builder<'v, 'p> {
    fn new(view: &'v View<'p>) -> Self {
        let mut builder = Builder {
            view,
            message: Profile::default(),
            texts: FxHashMap::default(),
            functions: FxHashMap::default(),
            mappings: FxHashMap::default(),
            locations: FxHashMap::default(),
        };
        builder.text("");
        builder
    }

    fn text(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.texts.get(text) {
            return known;
        }
        let place = self.message.string_table.len() as i64;
        self.message.string_table.push(text.as_bytes().to_vec());
        self.texts.insert(text.to_owned(), place);
        place
    }

    fn value_type(&mut self, kind: &str, unit: &str) -> ValueType {
        ValueType { kind: self.text(kind), unit: self.text(unit) }
    }

    fn describe_recording(&mut self) {
        let wall = self.value_type("wall", "nanoseconds");
        // Time last: programs that do not know of a default take the last one.
        self.message.sample_type = vec![self.value_type("samples", "count"), wall];
        self.message.default_sample_type = wall.kind;
        let comment = format!("stackclock: {}", self.view.clock().describe());
        self.message.comment = vec![self.text(&comment)];
        let recorded = &self.view.profile().recorded;
        let since_1970 = recorded.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.message.time_nanos = i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX);
        self.message.duration_nanos = saturated(recorded.duration_ns);
        if recorded.rate_hz > 0.0 {
            self.message.period_type = Some(wall);
            self.message.period = (1e9 / recorded.rate_hz).round() as i64;
        }
    }

    fn add_samples(&mut self) {
        let mut places: FxHashMap<(ThreadId, StackId), usize> = FxHashMap::default();
        let mut sums: Vec<(u64, u64)> = Vec::new();
        for (sample, stack) in self.view.samples() {
            let Some(stack) = stack else { continue };
            let place = *places.entry((sample.thread, stack)).or_insert_with(|| {
                let location_id = self.locations_of(stack);
                let label = self.labels(sample.thread, sample.state);
                self.message.sample.push(Sample { location_id, value: Vec::new(), label });
                sums.push((0, 0));
                sums.len() - 1
            });
            let (observations, weight_ns) = &mut sums[place];
            *observations += u64::from(sample.observations);
            *weight_ns += sample.weight_ns;
        }
        for (sample, (observations, weight_ns)) in self.message.sample.iter_mut().zip(sums) {
            sample.value = vec![saturated(observations), saturated(weight_ns)];
        }
        // A stretch of no length in which nothing was observed says nothing.
        self.message.sample.retain(|sample| sample.value != [0, 0]);
    }

    fn labels(&mut self, thread: ThreadId, state: RunState) -> Vec<Label> {
        let (process, thread) = (self.view.profile().process_of(thread), self.view.profile().thread(thread));
        let state = state.frame_name();
        let state = state.as_deref().map_or("running", |name| name.trim_matches(['[', ']']));
        let texts = [("process", process.name.as_str()), ("thread", thread.name.as_str()), ("state", state)];
        let numbers = [("pid", process.pid), ("tid", thread.tid)];
        let mut labels = Vec::new();
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            labels.push(Label { key: self.text(key), str: self.text(text), num: 0 });
        }
        for (key, number) in numbers.into_iter().filter(|(_, number)| *number != 0) {
            labels.push(Label { key: self.text(key), str: 0, num: i64::from(number) });
        }
        labels
    }

    /// The locations of a stack, leaf first.
    fn locations_of(&mut self, stack: StackId) -> Vec<u64> {
        let view = self.view;
        let kind = |frame: &FrameId| view.frames()[frame.0 as usize].kind;
        let mut frames = view.stack(stack);
        frames.retain(|frame| kind(frame) != FrameKind::Root);
        let is_inlined_into = |caller: &FrameId, callee: &FrameId| {
            kind(callee) == FrameKind::Inlined
                && matches!(kind(caller), FrameKind::Native | FrameKind::Inlined)
        };
        frames.chunk_by(is_inlined_into).rev().map(|frames| self.location(frames)).collect()
    }

    /// The location of a function and of what was inlined into it, outermost first.
    fn location(&mut self, frames: &[FrameId]) -> u64 {
        if let Some(&known) = self.locations.get(frames) {
            return known;
        }
        let view = self.view;
        let frame = |id: &FrameId| &view.frames()[id.0 as usize];
        let module = frames.first().and_then(|outermost| frame(outermost).module.as_deref());
        let mapping_id = module.map_or(0, |module| self.mapping(module));
        let line = frames.iter().rev().map(|id| self.line(frame(id))).collect();
        let id = self.message.location.len() as u64 + 1;
        self.message.location.push(Location { id, mapping_id, address: 0, line });
        self.locations.insert(frames.to_vec(), id);
        id
    }

    fn line(&mut self, frame: &Frame) -> Line {
        let name = self.text(&frame.name);
        let filename = self.text(frame.file.as_deref().unwrap_or_default());
        let next_id = self.message.function.len() as u64 + 1;
        let function_id = *self.functions.entry((name, filename)).or_insert(next_id);
        if function_id == next_id {
            // Were the system name the same, `pprof` would take ours for mangled and make of `<module>` an empty text.
            self.message.function.push(Function { id: next_id, name, system_name: 0, filename });
        }
        Line { function_id, line: i64::from(frame.line.unwrap_or(0)) }
    }

    fn mapping(&mut self, module: &str) -> u64 {
        let filename = self.text(module);
        let next_id = self.message.mapping.len() as u64 + 1;
        let id = *self.mappings.entry(filename).or_insert(next_id);
        if id == next_id {
            self.message.mapping.push(Mapping {
                id,
                filename,
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
                ..Mapping::default()
            });
        }
        id
    }
}

fn saturated(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
