//! Processes to point the profiler at. Each ends with the test that started it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A child process that is killed and reaped when dropped.
pub struct Target(Child);

impl Target {
    /// A process that computes and does nothing else.
    pub fn busy() -> Target {
        Target::shell("echo ready; while :; do :; done")
    }

    /// A process that sleeps and does nothing else.
    pub fn sleeping() -> Target {
        let target = Target::shell("echo ready; exec sleep 1000");
        // Its word comes before its sleep.
        let sleeps = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", target.pid())).expect("it runs");
            stat.contains("(sleep) S")
        };
        while !sleeps() {
            std::thread::yield_now();
        }
        target
    }

    fn shell(script: &str) -> Target {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout is piped")).read_line(&mut line).expect("its word");
        assert_eq!(line, "ready\n");
        Target(child)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Both fail for a process that has ended, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
