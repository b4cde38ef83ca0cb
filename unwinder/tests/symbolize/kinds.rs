//! Frames that are not native code of a file, and native frames that are left out.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use object::{Object, ObjectSymbol};
use stackclock_collapse::{Frame, FrameKind};
use stackclock_unwinder::native::ModuleSource;
use stackclock_unwinder::symbolize::{
    InterpreterFrames, KernelSymbols, ModuleFile, ModuleFiles, NameSources, PerfMap, PythonCodeName,
    PythonCodes, Symbolizer,
};
use stackclock_unwinder::{Avma, Failure, ModuleId, PythonCodeId, RawFrame, Svma, Truncation};

use crate::fixture::{NoPython, OneModule, compile_library, directory};

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
    let frame = symbolize(RawFrame::Gap(Truncation::NoUnwindInfo), None);
    assert_eq!((&*frame.name, frame.kind), ("[gap: no unwind information]", FrameKind::Error));
    let frame = symbolize(RawFrame::Failed(Failure::PythonUnreadable), None);
    assert_eq!((&*frame.name, frame.kind), ("[failed: Python frames unreadable]", FrameKind::Error));
}

/// The address of a function that an ELF file exports.
fn exported(elf: &Path, function: &str) -> Svma {
    exported_by(&fs::read(elf).expect("an ELF file"), function)
}

fn exported_by(elf: &[u8], function: &str) -> Svma {
    let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(elf).expect("ELF");
    let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(function));
    Svma(symbol.unwrap_or_else(|| panic!("{function} is not exported")).address())
}

/// The module that the kernel maps into every process, which no file holds.
struct Vdso(Vec<u8>);

impl Vdso {
    fn of_this_process() -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with("[vdso]")).expect("a vDSO");
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [start, end] = [start, end].map(|address| u64::from_str_radix(address, 16).unwrap());
        let mut bytes = vec![0; (end - start) as usize];
        File::open("/proc/self/mem").unwrap().read_exact_at(&mut bytes, start).unwrap();
        Vdso(bytes)
    }
}

impl ModuleFiles for Vdso {
    fn module_file(&self, _: ModuleId) -> Option<ModuleFile> {
        let content = Some(ModuleSource::Bytes(self.0.clone()));
        Some(ModuleFile { path: "[vdso]".into(), content, target_root: "/".into() })
    }
}

#[test]
fn the_vdso_has_names_too() {
    const FUNCTION: &str = "__vdso_clock_gettime";
    let vdso = Vdso::of_this_process();
    let lookup = exported_by(&vdso.0, FUNCTION);
    let mut symbolizer = Symbolizer::new(InterpreterFrames::Hide, KernelSymbols::default());
    let names = NameSources { modules: &vdso, codes: &NoPython, perf_map: None };
    let frames = symbolizer.symbolize(RawFrame::Native { module: ModuleId(0), lookup }, names);
    assert_eq!((&*frames[0].name, frames[0].module.as_deref()), (FUNCTION, Some("[vdso]")));
}

fn names_of(interpreter_frames: InterpreterFrames, elf: &Path, lookup: Svma) -> Vec<Arc<str>> {
    let modules = OneModule::at(elf);
    let mut symbolizer = Symbolizer::new(interpreter_frames, KernelSymbols::default());
    let names = NameSources { modules: &modules, codes: &NoPython, perf_map: None };
    let frames = symbolizer.symbolize(RawFrame::Native { module: ModuleId(0), lookup }, names);
    frames.iter().map(|frame| frame.name.clone()).collect()
}

#[test]
fn the_interpreters_plumbing_is_hidden_and_its_work_is_not() {
    const LOOP: &str = "_PyEval_EvalFrameDefault";
    const WORK: &str = "PyList_Sort";
    let python = fs::canonicalize("/usr/bin/python3").expect("the system's Python");
    let (eval_loop, work) = (exported(&python, LOOP), exported(&python, WORK));
    assert!(names_of(InterpreterFrames::Hide, &python, eval_loop).is_empty());
    assert_eq!(&*names_of(InterpreterFrames::Hide, &python, work)[0], WORK);
    assert_eq!(&*names_of(InterpreterFrames::Show, &python, eval_loop)[0], LOOP);
}

#[test]
fn a_library_may_name_its_functions_as_the_interpreter_does() {
    let library = compile_library(&directory("not-python"), &["-g"]);
    let function = exported(&library, "call_function");
    assert_eq!(&*names_of(InterpreterFrames::Hide, &library, function)[0], "call_function");
}
