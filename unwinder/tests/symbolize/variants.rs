//! The same code, with its names kept in all the ways that distributions keep them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use stackclock_collapse::{Frame, FrameKind};
use stackclock_unwinder::Svma;

use crate::fixture::{
    OneModule, SOURCES, compile_library, directory, expectations, marks, run, source_lines,
};

/// Frames, inlined frames, files and lines are what the comments in the source say.
fn assert_full_names(module: &OneModule, marked: &[(String, Svma)]) {
    let expected = expectations();
    let source = source_lines();
    for expected in &expected {
        let addresses: Vec<Svma> =
            marked.iter().filter(|(mark, _)| *mark == expected.mark).map(|&(_, address)| address).collect();
        assert!(!addresses.is_empty(), "{} was not compiled", expected.mark);
        for frames in module.symbolize(addresses) {
            let names: Vec<&str> = frames.iter().map(|frame| &*frame.name).collect();
            assert_eq!(names, expected.frames, "{}", expected.mark);
            assert_eq!(frames[0].kind, FrameKind::Native);
            assert!(frames[1..].iter().all(|frame| frame.kind == FrameKind::Inlined), "{frames:?}");
            assert_eq!(frames[frames.len() - 1].line, expected.line, "{}", expected.mark);
            for (caller, callee) in frames.iter().zip(&frames[1..]) {
                assert_line_calls(&source, caller, callee);
            }
            for frame in frames.iter().filter(|_| expected.line.is_some()) {
                assert!(frame.file.as_deref().is_some_and(|file| file.ends_with("/fixture.cc")), "{frame:?}");
            }
        }
    }
}

/// A caller's line is that of the call.
fn assert_line_calls(source: &[String], caller: &Frame, callee: &Frame) {
    let line = caller.line.expect("a line of the call") as usize;
    // The fixture calls a lambda by the name `operator_call`.
    let function = callee.name.rsplit("::").next().unwrap().replace("operator()", "operator_call");
    let text = &source[line - 1];
    assert!(text.contains(&format!("{function}(")), "line {line} does not call {function}: {text}");
}

/// All function names, without lines and inlined functions.
fn assert_symbol_names(module: &OneModule, marked: &[(String, Svma)]) {
    for (mark, frames) in marked.iter().map(|(mark, address)| (mark, module.symbolize([*address]))) {
        let expected =
            expectations().into_iter().find(|expected| expected.mark == *mark).expect("a known mark");
        let names: Vec<&str> = frames[0].iter().map(|frame| &*frame.name).collect();
        assert_eq!(names, expected.frames[..1], "{mark}");
        assert_eq!(frames[0][0].line, None);
    }
}

fn strip(library: &Path, into: &Path, option: &str) {
    run(Command::new("objcopy").arg(option).arg(library).arg(into));
}

/// Moves the debug information to a file of its own, as Debian's dh_strip does.
fn split(library: &Path, debug: &Path) {
    run(Command::new("objcopy").arg("--only-keep-debug").arg(library).arg(debug));
    run(Command::new("objcopy").arg("--strip-all").arg(library));
}

fn add_debuglink(library: &Path, debug: &Path) {
    run(Command::new("objcopy").arg(format!("--add-gnu-debuglink={}", debug.display())).arg(library));
}

#[test]
fn debug_information_in_the_file_itself() {
    for (name, flags) in [
        ("dwarf5", ["-g", "-gdwarf-5"]),
        ("dwarf4", ["-g", "-gdwarf-4"]),
        ("zlib", ["-g", "-gz=zlib"]),
        ("zlib-gnu", ["-g", "-gz=zlib-gnu"]),
        ("aranges", ["-g", "-gno-as-loc-support"]),
    ] {
        let library = compile_library(&directory(name), &flags);
        assert_full_names(&OneModule::at(&library), &marks(&library));
    }
}

#[test]
fn zstd_compressed_debug_information() {
    let directory = directory("zstd");
    let library = compile_library(&directory, &["-g"]);
    let compressed = directory.join("libfixture-zstd.so");
    run(Command::new("objcopy").arg("--compress-debug-sections=zstd").arg(&library).arg(&compressed));
    assert_full_names(&OneModule::at(&compressed), &marks(&library));
}

#[test]
fn debug_information_by_debuglink() {
    for (name, place) in [("link-beside", ""), ("link-dot-debug", ".debug")] {
        let directory = directory(name);
        let library = compile_library(&directory, &["-g", "-Wl,--build-id=none"]);
        let marked = marks(&library);
        fs::create_dir_all(directory.join(place)).unwrap();
        let debug = directory.join(place).join("libfixture.debug");
        split(&library, &debug);
        add_debuglink(&library, &debug);
        assert_full_names(&OneModule::at(&library), &marked);
    }
}

#[test]
fn a_debug_file_with_another_checksum_is_not_taken() {
    let directory = directory("link-stale");
    let library = compile_library(&directory, &["-g", "-Wl,--build-id=none"]);
    let marked = marks(&library);
    let debug = directory.join("libfixture.debug");
    split(&library, &debug);
    add_debuglink(&library, &debug);
    let mut bytes = fs::read(&debug).unwrap();
    bytes.push(0);
    fs::write(&debug, bytes).unwrap();
    assert_exported_names(&OneModule::at(&library), &marked);
}

#[test]
fn debug_information_by_build_id_under_the_targets_root() {
    let directory = directory("build-id");
    let library = compile_library(&directory, &["-g"]);
    let marked = marks(&library);
    let bytes = fs::read(&library).unwrap();
    let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(bytes.as_slice()).unwrap();
    let build_id: String =
        file.build_id().unwrap().expect("a build id").iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = build_id.split_at(2);
    let root = directory.join("root");
    let ids = root.join("usr/lib/debug/.build-id").join(first);
    fs::create_dir_all(&ids).unwrap();
    split(&library, &ids.join(format!("{rest}.debug")));

    let in_container =
        OneModule { elf: library.clone(), seen_as: "/opt/libfixture.so".to_owned(), target_root: root };
    assert_full_names(&in_container, &marked);
    assert_exported_names(&OneModule::at(&library), &marked);
}

/// Debian's debug packages share what several files have in common, with `dwz`.
#[test]
fn debug_information_shared_between_files() {
    let directories = [directory("dwz-one"), directory("dwz-other")];
    let [library, other] =
        directories.each_ref().map(|directory| compile_library(directory, &["-g", "-gdwarf-4"]));
    // Two different files: dwz merges links to one.
    run(Command::new("objcopy").arg("--remove-section=.comment").arg(&other));
    let marked = marks(&library);
    let shared = directories[0].join("shared.debug");
    run(Command::new("dwz").args(["-M", "shared.debug", "-m"]).args([&shared, &library, &other]));

    assert_full_names(&OneModule::at(&library), &marked);

    fs::remove_file(&shared).unwrap();
    let alone = OneModule::at(&library).symbolize(marked.iter().map(|&(_, address)| address));
    let nameless = alone.iter().flat_map(|frames| frames.iter()).filter(|frame| &*frame.name == "[inlined]");
    assert!(nameless.count() > 0, "dwz moved no name, so this shows nothing: {alone:?}");
}

#[test]
fn symbols_without_debug_information() {
    let directory = directory("symtab");
    let library = compile_library(&directory, &["-g"]);
    let stripped = directory.join("libfixture-symtab.so");
    strip(&library, &stripped, "--strip-debug");
    assert_symbol_names(&OneModule::at(&stripped), &marks(&library));
}

/// The recipe is that of "MiniDebugInfo" in the GDB manual.
#[test]
fn symbols_in_mini_debug_info() {
    let directory = directory("mini");
    let library = compile_library(&directory, &["-g"]);
    let marked = marks(&library);
    let mini = directory.join("mini");
    strip(&library, &mini, "--only-keep-debug");
    run(Command::new("objcopy").args(["--strip-debug", "--remove-section=.comment"]).arg(&mini));
    run(Command::new("objcopy").arg("--strip-all").arg(&library));
    run(Command::new("xz").arg(&mini));
    let added = format!(".gnu_debugdata={}", directory.join("mini.xz").display());
    run(Command::new("objcopy").args(["--add-section", &added]).arg(&library));
    assert_symbol_names(&OneModule::at(&library), &marked);
}

/// Only exported functions have names; the others are `file+0x...`, never their neighbour.
fn assert_exported_names(module: &OneModule, marked: &[(String, Svma)]) {
    for (mark, address) in marked {
        let expected =
            expectations().into_iter().find(|expected| expected.mark == *mark).expect("a known mark");
        let frames = &module.symbolize([*address])[0];
        let name = expected.exported.unwrap_or_else(|| format!("libfixture.so+{:#x}", address.0));
        assert_eq!(frames.iter().map(|frame| &*frame.name).collect::<Vec<_>>(), [name], "{mark}");
    }
}

#[test]
fn a_stripped_library_names_only_what_it_exports() {
    let library = compile_library(&directory("stripped"), &["-s"]);
    assert_exported_names(&OneModule::at(&library), &marks(&library));
}

#[test]
fn linkage_stubs_have_the_name_of_what_they_call() {
    for (name, flags) in [
        ("plt", ["-fcf-protection=none", "-Wl,-z,lazy"]),
        ("plt-ibt", ["-fcf-protection=full", "-Wl,-z,ibtplt"]),
    ] {
        let library = compile_library(&directory(name), &["-s", flags[0], flags[1]]);
        let disassembly = run(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&library));
        let stubs: Vec<(String, Svma)> = disassembly
            .lines()
            .filter_map(|line| {
                let (address, name) = line.strip_suffix("@plt>:")?.split_once(" <")?;
                Some((name.to_owned(), Svma(u64::from_str_radix(address, 16).ok()?)))
            })
            .collect();
        assert!(
            stubs.iter().any(|(name, _)| name == "plain_c"),
            "objdump shows no stub of plain_c: {stubs:?}"
        );
        for (function, address) in stubs.iter().filter(|(function, _)| !function.starts_with("_Z")) {
            let frames = &OneModule::at(&library).symbolize([*address])[0];
            assert_eq!(&*frames[0].name, format!("{function}@plt"));
        }
    }
}

#[test]
fn the_call_of_a_function_that_never_returns_is_on_its_own_line() {
    let program = directory("noreturn").join("noreturn");
    let source = PathBuf::from(SOURCES).join("noreturn.cc");
    run(Command::new("g++").args(["-O2", "-g", "-no-pie", "-o"]).arg(&program).arg(&source));
    let printed = run(&mut Command::new(&program));
    let return_address =
        u64::from_str_radix(printed.trim().trim_start_matches("0x"), 16).expect("an address");

    let bytes = fs::read(&program).unwrap();
    let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(bytes.as_slice()).unwrap();
    let next = file.symbols().any(|symbol| {
        symbol.name().is_ok_and(|name| name.contains("check"))
            && symbol.address() + symbol.size() == return_address
    });
    assert!(next, "the call must be the last instruction of its function for this test to say anything");

    let text = fs::read_to_string(&source).unwrap();
    let line = text.lines().position(|line| line.contains("// here: the call")).unwrap() as u32 + 1;
    let frames = OneModule::at(&program).symbolize([Svma(return_address - 1)]);
    let innermost = frames[0].last().unwrap();
    assert_eq!((&*innermost.name, innermost.line), ("check", Some(line)));
}

#[test]
fn a_module_that_cannot_be_read_still_has_its_name() {
    let missing = OneModule {
        elf: "/nonexistent".into(),
        seen_as: "/opt/x/libgone.so".into(),
        target_root: "/".into(),
    };
    let frames = &missing.symbolize([Svma(0x1234)])[0];
    assert_eq!(&*frames[0].name, "libgone.so+0x1234");
    assert_eq!(frames[0].module.as_deref(), Some("/opt/x/libgone.so"));
}
