//! Running the `stackclock` command.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::profile::{self, Thread};
use super::target::Target;

/// The built command.
pub fn stackclock() -> Command {
    Command::new(env!("CARGO_BIN_EXE_stackclock"))
}

/// Records a target into a file; `options` as on the command line, split at blanks.
pub fn record(target: &Target, options: &str, output: &Path) {
    let pid = target.pid().to_string();
    run(stackclock().args(["record", "-p", &pid, "-o"]).arg(output).args(options.split_whitespace()));
}

/// Records a target and reads the recorded threads back.
pub fn record_threads(target: &Target, options: &str, speedscope: &Path) -> Vec<Thread> {
    record(target, options, speedscope);
    profile::speedscope(speedscope)
}

/// A recording between two truths of its target.
pub struct TruthfulRecording {
    /// The truth when sampling had just begun.
    pub before: Value,
    /// The truth just before sampling ended.
    pub after: Value,
    /// What was recorded between.
    pub threads: Vec<Thread>,
}

/// Records a target for this long and has it tell its truth at both ends. Looking up symbols and writing, which take
/// their own time and CPU, are outside.
pub fn record_with_truth(
    target: &mut Target,
    rate: u32,
    length: Duration,
    speedscope: &Path,
) -> TruthfulRecording {
    let (pid, rate) = (target.pid().to_string(), rate.to_string());
    let mut command = stackclock();
    command.args(["record", "--idle", "-p", &pid, "-r", &rate, "-o"]).arg(speedscope);
    let mut recording = Recording::start(&mut command);
    let before = target.truth();
    std::thread::sleep(length);
    let after = target.truth();
    recording.signal(Signal::SIGINT);
    assert_eq!(recording.wait().code(), Some(0));
    TruthfulRecording { before, after, threads: profile::speedscope(speedscope) }
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().expect("run stackclock");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// A recording under way; killed and reaped when dropped.
pub struct Recording {
    child: Child,
}

impl Recording {
    /// Starts it and waits until it says on stderr that it has begun.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("run stackclock");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("read stackclock's stderr");
        assert!(!line.is_empty() && !line.starts_with("error"), "{command:?}: {line:?}");
        // Its further words are not needed, but it must be able to say them.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Recording { child }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("signal stackclock");
    }

    /// Waits until it ends and returns its exit status.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().expect("wait for stackclock")
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
