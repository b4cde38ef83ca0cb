//! Time to name 10,000 distinct addresses of one ELF file, from opening it on.
//!
//! `cargo bench -p stackclock-unwinder --bench symbolize -- FILE...`; the aim for a library of libtorch's size
//! (no debug information, many exported symbols) is 1 s.

use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use object::{Object, ObjectSection};
use stackclock_unwinder::native::ModuleSource;
use stackclock_unwinder::symbolize::{
    InterpreterFrames, KernelSymbols, ModuleFile, ModuleFiles, NameSources, PythonCodeName, PythonCodes,
    Symbolizer,
};
use stackclock_unwinder::{ModuleId, PythonCodeId, RawFrame, Svma};

const ADDRESSES: u64 = 10_000;

fn main() {
    for path in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        measure(&path);
    }
}

fn measure(path: &str) {
    let elf = fs::read(path).expect("a readable file");
    let elf =
        object::read::elf::ElfFile64::<object::LittleEndian>::parse(elf.as_slice()).expect("an ELF file");
    let text = elf.section_by_name(".text").expect("code");
    let step = (text.size() / ADDRESSES).max(1);
    let lookups: Vec<Svma> = (0..ADDRESSES).map(|index| Svma(text.address() + index * step)).collect();

    let sources = One(path);
    let names = NameSources { modules: &sources, codes: &sources, perf_map: None };
    let mut symbolizer = Symbolizer::new(InterpreterFrames::Show, KernelSymbols::default());
    let started = Instant::now();
    let mut first = None;
    let (mut frames, mut named) = (0, 0);
    for lookup in lookups {
        let found = symbolizer.symbolize(RawFrame::Native { module: ModuleId(0), lookup }, names);
        first.get_or_insert_with(|| started.elapsed());
        frames += found.len();
        named += usize::from(!found[0].name.contains("+0x"));
    }
    let (first, all) = (first.unwrap_or_default(), started.elapsed());
    println!(
        "{path}: first {first:.1?}, all {all:.1?}; {frames} frames, {named} of {ADDRESSES} addresses named"
    );
}

struct One<'a>(&'a str);

impl ModuleFiles for One<'_> {
    fn module_file(&self, _: ModuleId) -> Option<ModuleFile> {
        Some(ModuleFile {
            path: self.0.into(),
            content: File::open(self.0).ok().map(ModuleSource::File),
            target_root: Path::new("/").into(),
        })
    }
}

impl PythonCodes for One<'_> {
    fn code_name(&self, _: PythonCodeId) -> Option<PythonCodeName> {
        None
    }
}
