//! Live Python processes to read: started, found, and kept still by a read that blocks.

use std::cell::Cell;
use std::io::{BufRead, BufReader, IoSliceMut, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use object::{Object, ObjectSegment, ObjectSymbol};
use stackclock_unwinder::python::{GilSymbols, Interpreter, Location, PythonVersion};
use stackclock_unwinder::{Avma, Memory, MemoryError, ReadPart};

use crate::pythons::Python;

/// Number of the system call `read`, in which the targets block.
pub const READ: u32 = 0;

/// The memory of a live process.
#[derive(Debug)]
pub struct LiveMemory {
    pid: Pid,
    calls: Cell<usize>,
}

impl LiveMemory {
    /// How many times it has been read.
    pub fn calls(&self) -> usize {
        self.calls.get()
    }
}

impl Memory for LiveMemory {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        self.read_many(&mut [ReadPart { address, bytes: into }])
    }

    fn read_many(&self, parts: &mut [ReadPart<'_>]) -> Result<(), MemoryError> {
        self.calls.set(self.calls.get() + 1);
        let remote: Vec<_> = parts
            .iter()
            .map(|part| RemoteIoVec { base: part.address.0 as usize, len: part.bytes.len() })
            .collect();
        let wanted: usize = remote.iter().map(|part| part.len).sum();
        let address = remote.first().map_or(0, |part| part.base as u64);
        let mut local: Vec<_> = parts.iter_mut().map(|part| IoSliceMut::new(part.bytes)).collect();
        match process_vm_readv(self.pid, &mut local, &remote) {
            Ok(read) if read == wanted => Ok(()),
            _ => Err(MemoryError { address, length: wanted }),
        }
    }
}

/// A Python process that runs one of `tests/python/targets` and is told through its pipes when to go on.
#[derive(Debug)]
pub struct Target {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub python: Python,
}

impl Target {
    /// Starts `tests/python/targets/SCRIPT`.
    pub fn start(python: &Python, script: &str, arguments: &[&str]) -> Target {
        let mut child = python
            .runs(script)
            .args(arguments)
            .env("PYTHONIOENCODING", "utf-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an installed Python starts");
        let input = child.stdin.take().expect("stdin is a pipe");
        let output = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        Target { child, input, output, python: python.clone() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn memory(&self) -> LiveMemory {
        LiveMemory { pid: Pid::from_raw(self.pid() as i32), calls: Cell::new(0) }
    }

    /// The next line that the target prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the target's output can be read");
        assert!(!line.is_empty(), "{:?}: the target ended", self.python.path);
        line.trim_end().to_owned()
    }

    /// The next line, as JSON.
    pub fn json(&mut self) -> serde_json::Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Lets the target read one byte.
    pub fn go_on(&mut self) {
        self.input.write_all(b"\n").expect("the target reads");
        self.input.flush().expect("the target reads");
    }

    /// The contents of `/proc/PID/task/TID/syscall`.
    pub fn syscall(&self, tid: u32) -> String {
        std::fs::read_to_string(format!("/proc/{}/task/{tid}/syscall", self.pid())).unwrap_or_default()
    }

    /// Waits until the thread `tid` is blocked in the system call `number`.
    pub fn wait_blocked(&self, tid: u32, number: u32) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let wanted = format!("{number} ");
        while !self.syscall(tid).starts_with(&wanted) {
            assert!(Instant::now() < deadline, "thread {tid} does not block in system call {number}");
            std::thread::yield_now();
        }
    }

    /// The interpreter, found by its symbols.
    pub fn interpreter(&self) -> Interpreter {
        Interpreter::new(self.location(), &self.memory()).expect("a live interpreter can be read")
    }

    pub fn location(&self) -> Location {
        let (major, minor, patch) = self.python.version;
        let symbols = self.symbols();
        let symbol = |name: &str| symbols.iter().find(|(found, _)| found == name).map(|&(_, at)| at);
        let runtime = symbol(if minor == 6 { "interp_head" } else { "_PyRuntime" });
        let waited_on = ["gil_cond", "gil_mutex", "switch_cond", "switch_mutex"].map(symbol);
        let gil_symbols = symbol("gil_locked")
            .zip(symbol("gil_last_holder"))
            .map(|(locked, last_holder)| GilSymbols { locked, last_holder, waited_on });
        Location {
            version: PythonVersion { major, minor, patch },
            runtime: runtime.expect("a Python with symbols"),
            pid: self.pid(),
            gil_symbols,
        }
    }

    /// All symbols with data of the files mapped as libpython or python, at their addresses in the process.
    fn symbols(&self) -> Vec<(String, Avma)> {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid())).expect("a live process");
        let mut symbols = Vec::new();
        for line in maps.lines() {
            let columns: Vec<_> = line.split_whitespace().collect();
            let &[range, _, offset, _, _, path] = columns.as_slice() else { continue };
            let is_python = Path::new(path).file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                name.starts_with("libpython3.") || name.starts_with("python3")
            });
            if !is_python || u64::from_str_radix(offset, 16) != Ok(0) {
                continue;
            }
            let start = range.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
            let start = start.expect("an address");
            symbols.extend(file_symbols(&PathBuf::from(path), start));
        }
        symbols
    }
}

/// The symbols of the file at `path`, whose first bytes are mapped at `start`.
fn file_symbols(path: &Path, start: u64) -> Vec<(String, Avma)> {
    let bytes = std::fs::read(path).expect("a mapped file");
    let file = object::File::parse(bytes.as_slice()).expect("an ELF file");
    let first = file.segments().map(|segment| segment.address() & !0xfff).min().expect("a loaded file");
    let bias = start.wrapping_sub(first);
    file.dynamic_symbols()
        .chain(file.symbols())
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| {
            Some((symbol.name().ok()?.to_owned(), Avma(symbol.address().wrapping_add(bias))))
        })
        .collect()
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing is left behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
