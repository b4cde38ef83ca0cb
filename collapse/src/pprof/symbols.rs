//! The tables of a file: texts, and locations as frames.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ReadError;
use super::format::{Function, Line, Location, Mapping, Profile};
use crate::{Frame, FrameId, FrameKind, Importer};

/// All texts of a file.
#[derive(Debug)]
pub struct Texts(Vec<Arc<str>>);

impl Texts {
    /// Takes them out of a file; what is no UTF-8 is replaced.
    pub fn take(file: &mut Profile) -> Self {
        let texts = std::mem::take(&mut file.string_table);
        Texts(texts.into_iter().map(|text| String::from_utf8_lossy(&text).into()).collect())
    }

    /// The text at a place; 0 is the empty one even in a file without texts.
    pub fn get(&self, place: i64) -> Result<&Arc<str>, ReadError> {
        static EMPTY: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| "".into());
        let known = usize::try_from(place).ok().and_then(|place| self.0.get(place));
        match known {
            None if place == 0 => Ok(&EMPTY),
            known => known.ok_or(ReadError::NoSuch { what: "text", id: place as u64 }),
        }
    }
}

/// What a file may grow to when everything that it names is written out, bytes.
#[derive(Debug)]
pub struct Budget(usize);

impl Budget {
    const LIMIT: usize = 256 << 20;

    /// The whole of it.
    pub fn new() -> Self {
        Budget(Self::LIMIT)
    }

    /// Takes some of it.
    pub fn spend(&mut self, bytes: usize) -> Result<(), ReadError> {
        let too_large = ReadError::TooLarge { what: "profile written out", limit: Self::LIMIT };
        self.0 = self.0.checked_sub(bytes).ok_or(too_large)?;
        Ok(())
    }
}

/// Makes frames of a file's locations.
pub struct Locations {
    /// Frames of each location, outermost first.
    by_id: FxHashMap<u64, Vec<FrameId>>,
}

impl Locations {
    /// Takes the tables out of a file.
    pub fn take(
        file: &mut Profile,
        texts: &Texts,
        importer: &mut Importer,
        budget: &mut Budget,
    ) -> Result<Self, ReadError> {
        let tables = Tables {
            texts,
            mappings: file.mapping.iter().map(|mapping| (mapping.id, *mapping)).collect(),
            functions: file.function.iter().map(|function| (function.id, *function)).collect(),
        };
        let mut by_id = FxHashMap::default();
        for location in std::mem::take(&mut file.location) {
            let mut frames = Vec::new();
            for frame in tables.frames(&location)? {
                let text_length = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
                budget.spend(frame.name.len() + text_length(&frame.file) + text_length(&frame.module))?;
                frames.push(importer.frame(frame));
            }
            by_id.insert(location.id, frames);
        }
        Ok(Locations { by_id })
    }

    /// The frames at a location, outermost first.
    pub fn frames(&self, id: u64) -> Result<&[FrameId], ReadError> {
        self.by_id.get(&id).map(Vec::as_slice).ok_or(ReadError::NoSuch { what: "location", id })
    }
}

/// What locations refer to, by id.
struct Tables<'t> {
    texts: &'t Texts,
    mappings: FxHashMap<u64, Mapping>,
    functions: FxHashMap<u64, Function>,
}

impl Tables<'_> {
    /// The frames at a location, outermost first.
    fn frames(&self, location: &Location) -> Result<Vec<Frame>, ReadError> {
        let mapping = match location.mapping_id {
            0 => None,
            id => Some(self.mappings.get(&id).ok_or(ReadError::NoSuch { what: "mapping", id })?),
        };
        let module = match mapping {
            Some(mapping) => Some(self.texts.get(mapping.filename)?).filter(|name| !name.is_empty()),
            None => None,
        };
        let mut frames = Vec::new();
        for line in location.line.iter().rev() {
            let is_outermost = frames.is_empty();
            if let Some(frame) = self.frame(line, module, is_outermost)? {
                frames.push(frame);
            }
        }
        if frames.is_empty() {
            frames.push(unnamed(location.address, mapping, module));
        }
        Ok(frames)
    }

    /// The frame of a line; `None`: nothing is known of it.
    fn frame(
        &self,
        line: &Line,
        module: Option<&Arc<str>>,
        is_outermost: bool,
    ) -> Result<Option<Frame>, ReadError> {
        if line.function_id == 0 {
            return Ok(None);
        }
        let missing = ReadError::NoSuch { what: "function", id: line.function_id };
        let function = self.functions.get(&line.function_id).ok_or(missing)?;
        let name = match self.texts.get(function.name)? {
            name if name.is_empty() => self.texts.get(function.system_name)?,
            name => name,
        };
        if name.is_empty() {
            return Ok(None);
        }
        let file = Some(self.texts.get(function.filename)?).filter(|file| !file.is_empty());
        if file.is_none() && module.is_none() {
            return Ok(Some(Frame::from_text(name)));
        }
        Ok(Some(Frame {
            name: name.clone(),
            file: file.cloned(),
            line: file.and(u32::try_from(line.line).ok().filter(|line| *line != 0)),
            module: module.cloned(),
            kind: kind(file, module, is_outermost),
        }))
    }
}

fn kind(file: Option<&Arc<str>>, module: Option<&Arc<str>>, is_outermost: bool) -> FrameKind {
    let is_python = |file: &Arc<str>| Frame::in_file("", file, None).kind == FrameKind::Python;
    match (file, module) {
        (Some(file), _) if is_python(file) => FrameKind::Python,
        (_, Some(module)) if module.starts_with("[kernel") => FrameKind::Kernel,
        _ if is_outermost => FrameKind::Native,
        _ => FrameKind::Inlined,
    }
}

/// The frame of an address without a function: `module+0x1234`, where in the file it lies.
fn unnamed(address: u64, mapping: Option<&Mapping>, module: Option<&Arc<str>>) -> Frame {
    let name = match (mapping, module) {
        (Some(mapping), Some(module)) => {
            let in_file = address.wrapping_sub(mapping.memory_start).wrapping_add(mapping.file_offset);
            format!("{}+{in_file:#x}", module.rsplit('/').next().unwrap_or(module))
        }
        _ => format!("{address:#x}"),
    };
    Frame { name: name.into(), file: None, line: None, module: None, kind: FrameKind::Native }
}
