//! Processes to point the profiler at. Each ends with the test that started it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// A child process that is killed and reaped when dropped.
pub struct Target(Child);

impl Target {
    /// Starts a program; when this returns, it has been executed.
    pub fn spawn(command: &mut Command) -> Target {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Target(child.unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// A process that computes and does nothing else.
    pub fn busy() -> Target {
        Target::shell("echo ready; while :; do :; done")
    }

    /// A process that sleeps and does nothing else.
    pub fn sleeping() -> Target {
        Target::shell("echo ready; exec sleep 1000")
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

    /// A child that has ended and whose status nobody has collected yet.
    pub fn zombie() -> Target {
        let target = Target::spawn(&mut Command::new("true"));
        let pid = Pid::from_raw(target.pid() as i32);
        waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).expect("it ends");
        target
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Both fail for a process that has ended, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The id of some thread of the kernel.
pub fn kernel_thread() -> u32 {
    const PF_KTHREAD: u64 = 0x0020_0000;
    let is_kernel_thread = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The flags are field 9 of proc(5); the name, field 2, may contain anything up to the last `)`.
        let flags = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(6)?.parse().ok());
        flags.is_some_and(|flags: u64| flags & PF_KTHREAD != 0)
    };
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(is_kernel_thread).expect("a kernel thread: this test needs the PID namespace of the host")
}
