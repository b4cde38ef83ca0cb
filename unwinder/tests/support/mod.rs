//! Live processes for tests and benchmarks: build a program, run it, stop it, look at it.

// Each test binary uses its part of this.
#![allow(dead_code)]

pub mod captures;
pub mod framehop;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::ptrace;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use stackclock_unwinder::native::{
    AddressSpace, ContentKey, Mapped, Mapping, ModuleFile, ModuleSource, ModuleStore,
};
use stackclock_unwinder::{Avma, Memory, MemoryError, Registers};

/// A compiled test program; the folder it is in lives as long.
pub struct Program {
    pub path: PathBuf,
    _folder: tempfile::TempDir,
}

/// Compiles `tests/programs/NAME` with g++.
pub fn compile(name: &str, flags: &[&str]) -> Program {
    let folder = tempfile::tempdir().expect("temporary folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let path = folder.path().join("program");
    let status = Command::new("g++")
        .args(flags)
        .args(["-g", "-pthread", "-o"])
        .arg(&path)
        .arg(&source)
        .status()
        .expect("g++ is installed");
    assert!(status.success(), "g++ {flags:?} {name}");
    Program { path, _folder: folder }
}

/// A running child that has said that it is ready; killed when dropped.
pub struct Target {
    child: Child,
    /// The lines it printed before `ready`.
    pub lines: Vec<String>,
}

impl Target {
    /// Starts a command and reads its standard output up to the line `ready`.
    pub fn start(command: &mut Command) -> Target {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("target starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut target = Target { child, lines: Vec::new() };
        for line in output.lines() {
            let line = line.expect("target's output");
            if line == "ready" {
                return target;
            }
            target.lines.push(line);
        }
        panic!("{command:?} ended without being ready; it said {:?}", target.lines);
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// What the target printed as `key value`.
    pub fn value(&self, key: &str) -> &str {
        let of_key = |line: &'_ String| line.split_once(' ').is_some_and(|(first, _)| first == key);
        let line = self.lines.iter().find(|line| of_key(line)).unwrap_or_else(|| panic!("no line {key}"));
        line.split_once(' ').expect("checked").1
    }

    /// What the target printed as `key 0xaddress`.
    pub fn address(&self, key: &str) -> u64 {
        u64::from_str_radix(self.value(key).trim_start_matches("0x"), 16).expect("an address")
    }

    /// Waits until thread `tid` sleeps in `read`, as `/proc/PID/task/TID/syscall` tells it.
    pub fn wait_until_blocked_in_read(&self, tid: Pid) -> BlockedAt {
        loop {
            let path = format!("/proc/{}/task/{tid}/syscall", self.pid());
            let text = fs::read_to_string(path).expect("thread lives");
            if let Some(blocked) = BlockedAt::parse(&text) {
                return blocked;
            }
            std::thread::yield_now();
        }
    }

    pub fn memory(&self) -> ProcessMemory {
        ProcessMemory(fs::File::open(format!("/proc/{}/mem", self.pid())).expect("same user"))
    }

    /// Loads every executable mapping.
    pub fn address_space(&self, store: &ModuleStore) -> AddressSpace {
        address_space(self.pid(), store)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// pc and sp of a sleeping thread, and its system call's arguments.
pub struct BlockedAt {
    pub registers: Registers,
}

impl BlockedAt {
    /// From the text of the file, if the call is number 0.
    fn parse(text: &str) -> Option<BlockedAt> {
        let fields: Vec<_> = text.split_whitespace().collect();
        let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        if *fields.first()? != "0" {
            return None;
        }
        let (&[sp, pc], arguments) = (fields.last_chunk()?, fields.get(1..7).unwrap_or_default());
        let mut registers = Registers::new(Avma(hex(pc)?), Avma(hex(sp)?));
        let numbers = [Registers::RDI, Registers::RSI, Registers::RDX, 10, 8, 9];
        for (number, argument) in numbers.into_iter().zip(arguments) {
            registers.set(number, hex(argument));
        }
        Some(BlockedAt { registers })
    }
}

/// A thread stopped with ptrace, until dropped.
pub struct Stopped(pub Pid);

impl Stopped {
    pub fn new(tid: Pid) -> Stopped {
        ptrace::seize(tid, ptrace::Options::empty()).expect("own child");
        ptrace::interrupt(tid).expect("seized");
        match waitpid(tid, Some(nix::sys::wait::WaitPidFlag::__WALL)).expect("traced") {
            WaitStatus::PtraceEvent(..) | WaitStatus::Stopped(..) => Stopped(tid),
            other => panic!("{tid} did not stop: {other:?}"),
        }
    }

    pub fn registers(&self) -> Registers {
        let user = ptrace::getregs(self.0).expect("stopped");
        let mut registers = Registers::new(Avma(user.rip), Avma(user.rsp));
        let values = [
            user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8, user.r9,
            user.r10, user.r11, user.r12, user.r13, user.r14, user.r15,
        ];
        for (number, value) in (0..).zip(values) {
            registers.set(number, Some(value));
        }
        registers
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // The target may have been killed meanwhile.
        let _ = ptrace::detach(self.0, None);
    }
}

/// `/proc/PID/mem`.
pub struct ProcessMemory(fs::File);

impl Memory for ProcessMemory {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        let error = MemoryError { address: address.0, length: into.len() };
        self.0.read_exact_at(into, address.0).map_err(|_| error)
    }
}

/// One line of `/proc/PID/maps`.
pub struct MapsLine {
    pub start: u64,
    pub end: u64,
    pub permissions: String,
    pub file_offset: u64,
    pub path: String,
}

pub fn maps(pid: Pid) -> Vec<MapsLine> {
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).expect("process lives");
    let hex = |text: &str| u64::from_str_radix(text, 16).expect("hexadecimal");
    let parse = |line: &str| {
        let mut fields = line.split_whitespace();
        let mut next = || fields.next().unwrap_or_default().to_owned();
        let (range, permissions, file_offset, _device, _inode) = (next(), next(), next(), next(), next());
        let (start, end) = range.split_once('-').expect("a range");
        MapsLine {
            start: hex(start),
            end: hex(end),
            permissions,
            file_offset: hex(&file_offset),
            path: next(),
        }
    };
    text.lines().map(parse).collect()
}

pub fn address_space(pid: Pid, store: &ModuleStore) -> AddressSpace {
    let memory = fs::File::open(format!("/proc/{pid}/mem")).expect("same user");
    let executable = maps(pid).into_iter().filter(|line| line.permissions.contains('x'));
    let mappings = executable.filter_map(|line| {
        let mapped = match line.path.as_str() {
            "[vdso]" => {
                let mut bytes = vec![0; (line.end - line.start) as usize];
                memory.read_exact_at(&mut bytes, line.start).expect("vdso is readable");
                let file = ModuleFile {
                    path: line.path.clone(),
                    source: ModuleSource::Bytes(bytes),
                    key: ContentKey(u64::MAX, 0),
                    debug_root: None,
                };
                Mapped::Module(store.load(file).expect("vdso is an ELF file"))
            }
            "[vsyscall]" => return None,
            // libffi's closures: shared memory, no file that could be opened.
            path if path.starts_with("/memfd:") || !path.starts_with('/') => Mapped::AnonymousExecutable,
            path => {
                let source = fs::File::open(path).expect("mapped file is there");
                let metadata = source.metadata().expect("open");
                let file = ModuleFile {
                    path: line.path.clone(),
                    source: ModuleSource::File(source),
                    key: ContentKey(metadata.dev(), metadata.ino()),
                    debug_root: None,
                };
                Mapped::Module(store.load(file).expect("an ELF file"))
            }
        };
        Some(Mapping { start: Avma(line.start), end: Avma(line.end), file_offset: line.file_offset, mapped })
    });
    AddressSpace::new(store, mappings)
}
