//! Frames that are not native code of a file, and native frames that are left out.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use object::{Object, ObjectSymbol};
use stackclock_collapse::{Frame, FrameKind};
use stackclock_unwinder::symbolize::{
    InterpreterFrames, KernelSymbols, NameSources, PerfMap, PythonCodeName, PythonCodes, Symbolizer,
};
use stackclock_unwinder::{Avma, Failure, ModuleId, PythonCodeId, RawFrame, Svma, Truncation};

use crate::fixture::{NoPython, OneModule};

struct OneCode;

impl PythonCodes for OneCode {
    fn code_name(&self, code: PythonCodeId) -> Option<PythonCodeName> {
        let name = PythonCodeName { name: "Trainer.step".into(), file: Some("/app/train.py".into()) };
        (code == PythonCodeId(1)).then_some(name)
    }
}

fn symbolize(frame: RawFrame, perf_map: Option<&PerfMap>) -> Frame {
    let modules = OneModule::at(Path::new("/nonexistent"));
    let kernel = KernelSymbols::read(&b"ffffffff81000000 T do_syscall_64\n"[..]).unwrap();
    let mut symbolizer = Symbolizer::new(InterpreterFrames::Hide, kernel);
    let names = NameSources { modules: &modules, codes: &OneCode, perf_map };
    let frames = symbolizer.symbolize(frame, names);
    assert_eq!(symbolizer.symbolize(frame, names), frames, "the second time too");
    let [frame] = &frames[..] else { panic!("{frames:?}") };
    frame.clone()
}

#[test]
fn python_frames_have_name_file_and_line() {
    let frame = symbolize(RawFrame::Python { code: PythonCodeId(1), line: 12 }, None);
    assert_eq!(
        (&*frame.name, frame.file.as_deref(), frame.line),
        ("Trainer.step", Some("/app/train.py"), Some(12))
    );
    assert_eq!(frame.kind, FrameKind::Python);
    assert_eq!(symbolize(RawFrame::Python { code: PythonCodeId(1), line: 0 }, None).line, None);
    assert_eq!(symbolize(RawFrame::Python { code: PythonCodeId(9), line: 3 }, None).kind, FrameKind::Python);
}

#[test]
fn code_without_a_file_has_its_address_or_its_name_in_the_perf_map() {
    let frame = RawFrame::Anonymous { lookup: Avma(0x7f00_0010) };
    assert_eq!(&*symbolize(frame, None).name, "0x7f000010 [anon]");
    let map = PerfMap::read(&b"7f000000 20 LazyCompile:~run app.js:3\n"[..]).unwrap();
    assert_eq!(&*symbolize(frame, Some(&map)).name, "LazyCompile:~run app.js:3");
}

#[test]
fn kernel_functions_are_named_where_the_kernel_tells() {
    let frame = symbolize(RawFrame::Kernel { address: 0xffff_ffff_8100_0010 }, None);
    assert_eq!((&*frame.name, frame.kind), ("do_syscall_64", FrameKind::Kernel));
    let unknown = symbolize(RawFrame::Kernel { address: 0xffff_ffff_0000_0000 }, None);
    assert_eq!(&*unknown.name, "0xffffffff00000000");
}

#[test]
fn what_is_missing_is_said_in_words() {
    let frame = symbolize(RawFrame::Truncated(Truncation::OutOfBytes), None);
    assert_eq!((&*frame.name, frame.kind), ("[truncated: stack larger than the copy]", FrameKind::Error));
    let frame = symbolize(RawFrame::Failed(Failure::PythonUnreadable), None);
    assert_eq!((&*frame.name, frame.kind), ("[failed: Python frames unreadable]", FrameKind::Error));
}

/// The address of a function that an ELF file exports.
fn exported(elf: &Path, function: &str) -> Svma {
    let bytes = fs::read(elf).expect("an interpreter");
    let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(bytes.as_slice()).expect("ELF");
    let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(function));
    Svma(symbol.unwrap_or_else(|| panic!("{function} is not exported")).address())
}

fn names_of(
    interpreter_frames: InterpreterFrames,
    interpreters: &[ModuleId],
    function: &str,
) -> Vec<Arc<str>> {
    let python = fs::canonicalize("/usr/bin/python3").expect("the system's Python");
    let modules = OneModule::at(&python);
    let mut symbolizer = Symbolizer::new(interpreter_frames, KernelSymbols::default());
    interpreters.iter().for_each(|&module| symbolizer.add_interpreter(module));
    let names = NameSources { modules: &modules, codes: &NoPython, perf_map: None };
    let frame = RawFrame::Native { module: ModuleId(0), lookup: exported(&python, function) };
    symbolizer.symbolize(frame, names).iter().map(|frame| frame.name.clone()).collect()
}

#[test]
fn the_interpreters_plumbing_is_hidden_and_its_work_is_not() {
    const LOOP: &str = "_PyEval_EvalFrameDefault";
    const WORK: &str = "PyList_Sort";
    let interpreter = [ModuleId(0)];
    assert!(names_of(InterpreterFrames::Hide, &interpreter, LOOP).is_empty());
    assert_eq!(&*names_of(InterpreterFrames::Hide, &interpreter, WORK)[0], WORK);
    assert_eq!(&*names_of(InterpreterFrames::Show, &interpreter, LOOP)[0], LOOP);
    assert_eq!(&*names_of(InterpreterFrames::Hide, &[], LOOP)[0], LOOP, "another module may use the name");
}
