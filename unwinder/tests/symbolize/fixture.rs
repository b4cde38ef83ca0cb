//! Compiles `fixture.cc`, finds its marked addresses, and knows what its comments say of them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use object::{Object, ObjectSection};
use stackclock_collapse::Frame;
use stackclock_unwinder::native::ModuleSource;
use stackclock_unwinder::symbolize::{
    InterpreterFrames, KernelSymbols, ModuleFile, ModuleFiles, NameSources, PythonCodeName, PythonCodes,
    Symbolizer,
};
use stackclock_unwinder::{ModuleId, PythonCodeId, RawFrame, Svma};

pub const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/symbolize");

/// A marked line of `fixture.cc`.
#[derive(Debug)]
pub struct Expected {
    pub mark: String,
    /// Outermost first.
    pub frames: Vec<String>,
    /// The name from exported symbols only.
    pub exported: Option<String>,
    /// Where the mark is a C++ statement.
    pub line: Option<u32>,
}

/// Reads the comments of `fixture.cc`.
pub fn expectations() -> Vec<Expected> {
    let source = source_lines();
    let expected: Vec<Expected> = source
        .iter()
        .zip(1..)
        .filter(|(text, _)| !text.starts_with("//"))
        .filter_map(|(text, number)| {
            let (_, comment) = text.split_once("// frames: ")?;
            let (frames, exported) = comment.split_once(" | exported: ").expect("both expectations");
            let in_macro = text.split_once("MARK(").and_then(|(_, rest)| rest.split_once(')'));
            let in_assembly = text.split_once(".asciz \\\"").and_then(|(_, rest)| rest.split_once("\\\""));
            let (mark, _) = in_macro.or(in_assembly).expect("a mark");
            Some(Expected {
                mark: mark.to_owned(),
                frames: frames.split(" > ").map(str::to_owned).collect(),
                exported: Some(exported.to_owned()).filter(|name| name != "-"),
                line: in_macro.map(|_| number),
            })
        })
        .collect();
    assert!(expected.len() >= 9, "the comments of fixture.cc are not understood any more");
    expected
}

/// The lines of `fixture.cc`.
pub fn source_lines() -> Vec<String> {
    let text = fs::read_to_string(Path::new(SOURCES).join("fixture.cc")).expect("fixture.cc");
    text.lines().map(str::to_owned).collect()
}

/// An empty directory for one test.
pub fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("symbolize").join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory).expect("old test directory");
    }
    fs::create_dir_all(&directory).expect("test directory");
    directory
}

/// Compiles `fixture.cc` to a shared library.
pub fn compile_library(directory: &Path, flags: &[&str]) -> PathBuf {
    let library = directory.join("libfixture.so");
    let source = Path::new(SOURCES).join("fixture.cc");
    let fixed = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,--build-id=sha1", "-o"];
    run(Command::new("g++").args(fixed).arg(&library).arg(source).args(flags));
    library
}

/// Runs a tool of the toolchain, which must succeed; its standard output.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8 output")
}

/// The marks of a compiled file: `delta to the address: i32, name\0` each.
pub fn marks(elf: &Path) -> Vec<(String, Svma)> {
    let bytes = fs::read(elf).expect("compiled fixture");
    let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(bytes.as_slice()).expect("ELF");
    let section = file.section_by_name("marks").expect("section with marks");
    let data = section.data().expect("marks");
    let mut marks = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let delta = i32::from_le_bytes(data[at..at + 4].try_into().unwrap());
        let length = data[at + 4..].iter().position(|&byte| byte == 0).expect("end of name");
        let name = std::str::from_utf8(&data[at + 4..at + 4 + length]).unwrap();
        let address = (section.address() + at as u64).wrapping_add_signed(i64::from(delta));
        marks.push((name.to_owned(), Svma(address)));
        at += 4 + length + 1;
    }
    marks
}

/// A recording with one module and no Python.
pub struct OneModule {
    pub elf: PathBuf,
    /// The path as the target sees it.
    pub seen_as: String,
    pub target_root: PathBuf,
}

impl OneModule {
    /// A module of a process that has our root directory.
    pub fn at(elf: &Path) -> Self {
        OneModule { elf: elf.to_owned(), seen_as: elf.to_str().unwrap().to_owned(), target_root: "/".into() }
    }

    /// Symbolizes some addresses.
    pub fn symbolize(&self, addresses: impl IntoIterator<Item = Svma>) -> Vec<Arc<[Frame]>> {
        let mut symbolizer = Symbolizer::new(InterpreterFrames::Show, KernelSymbols::default());
        let names = NameSources { modules: self, codes: &NoPython, perf_map: None };
        let frames = addresses.into_iter().map(|lookup| RawFrame::Native { module: ModuleId(0), lookup });
        frames.map(|frame| symbolizer.symbolize(frame, names)).collect()
    }
}

impl ModuleFiles for OneModule {
    fn module_file(&self, _: ModuleId) -> Option<ModuleFile> {
        Some(ModuleFile {
            path: self.seen_as.as_str().into(),
            content: File::open(&self.elf).ok().map(ModuleSource::File),
            target_root: self.target_root.clone(),
        })
    }
}

/// No code objects.
pub struct NoPython;

impl PythonCodes for NoPython {
    fn code_name(&self, _: PythonCodeId) -> Option<PythonCodeName> {
        None
    }
}
