//! Target programs: building them, starting them, asking for their truth, and never leaving one behind.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::eventually;

/// A source in `tests/targets/`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets").join(name)
}

/// Builds `tests/targets/NAME.cc` as a program.
pub fn program(name: &str) -> PathBuf {
    compile(name, name, &["-DPROGRAM"])
}

/// Builds `tests/targets/NAME.cc` as a shared library.
pub fn library(name: &str) -> PathBuf {
    compile(name, &format!("lib{name}.so"), &["-shared", "-fPIC"])
}

/// Builds `tests/targets/NAME.cc` as a program for 32-bit x86, without a C library.
pub fn program_i386(name: &str) -> PathBuf {
    compile(name, name, &["-m32", "-ffreestanding", "-nostdlib", "-static"])
}

/// Compiles anew each time (about a second): that is simpler to trust than a comparison of dates. The caller has
/// a `Workplace`, so nobody else compiles or runs the same file.
fn compile(name: &str, output: &str, flags: &[&str]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("targets");
    std::fs::create_dir_all(&directory).expect("create the directory of compiled targets");
    let output = directory.join(output);
    let status = Command::new("g++")
        .args(["-O2", "-g", "-pthread", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-o")
        .arg(&output)
        .arg(source(&format!("{name}.cc")))
        .status()
        .expect("run g++ (scripts/setup.sh installs it)");
    assert!(status.success(), "g++ cannot build {name}.cc");
    output
}

/// A Python to test with.
#[derive(Clone, Debug)]
pub struct Python {
    /// Its program.
    pub path: PathBuf,
    /// `3.11`, or `3.11 (Debian)`.
    pub name: String,
    /// Whether its C functions have names: pyenv builds keep their symbol table, Debian's are stripped.
    pub has_symbols: bool,
}

/// Debian's Python, which is always there, and pyenv's 3.8 to 3.13, where they are.
pub fn pythons() -> Vec<Python> {
    let mut found = vec![debian_python()];
    let pyenv = PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".pyenv/versions");
    for minor in 8..=13 {
        let wanted = format!("3.{minor}.");
        let versions = std::fs::read_dir(&pyenv).into_iter().flatten().flatten();
        let path = versions
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&wanted))
            .map(|entry| entry.path().join("bin/python"))
            .find(|python| python.exists());
        found.extend(path.map(|path| Python { path, name: format!("3.{minor}"), has_symbols: true }));
    }
    found
}

/// The system's own Python.
pub fn debian_python() -> Python {
    Python { path: "/usr/bin/python3".into(), name: "3.11 (Debian)".to_owned(), has_symbols: false }
}

/// A running target program, stopped and reaped when dropped.
pub struct Target {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Target {
    /// Starts a compiled program and waits until it is ready.
    pub fn start(program: impl AsRef<OsStr>, args: &[&str]) -> Self {
        Self::spawn(Command::new(program).args(args))
    }

    /// Starts a script of `tests/targets/` and waits until it is ready.
    pub fn start_python(python: &Python, script: &str, args: &[impl AsRef<OsStr>]) -> Self {
        Self::spawn(Command::new(&python.path).arg(source(script)).args(args))
    }

    /// Starts a command that speaks the target programs' protocol and waits until it is ready.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut target = Target { child, stdin, stdout };
        assert_eq!(target.read_line(), "ready", "{command:?}");
        target
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the program knows of itself now; numbers are cumulative.
    pub fn truth(&mut self) -> Value {
        self.stdin.as_mut().expect("not closed yet").write_all(b"\n").expect("write to the target");
        let line = self.read_line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
    }

    /// Ends its input, upon which it exits.
    pub fn end(&mut self) {
        self.stdin = None;
    }

    /// Waits for it to exit by itself.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("wait for the target")
    }

    /// The line `name` of `/proc/PID/task/TID/status` for each of its threads: (tid, value).
    pub fn task_status(&self, name: &str) -> Vec<(u32, String)> {
        task_ids(self.pid())
            .into_iter()
            .filter_map(|tid| Some((tid, status_line(self.pid(), tid, name)?)))
            .collect()
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("read from the target");
        line.trim_end().to_owned()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.end();
        let ended = eventually(Duration::from_secs(2), || matches!(self.child.try_wait(), Ok(Some(_))));
        if !ended {
            // It may have ended by itself meanwhile; both calls then only fail.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn task_ids(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the target runs");
    tasks.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn status_line(pid: u32, tid: u32, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

/// A number of a truth, which must be there.
#[track_caller]
pub fn number(truth: &Value, pointer: &str) -> f64 {
    truth.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {truth}"))
}

/// By how much a number of a truth grew.
#[track_caller]
pub fn growth(before: &Value, after: &Value, pointer: &str) -> f64 {
    number(after, pointer) - number(before, pointer)
}
