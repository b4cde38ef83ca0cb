//! Processes that cannot be profiled: one clear error of three lines, the right exit status, and no file.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Workplace;
use crate::support::eventually;
use crate::support::profiler::stackclock;
use crate::support::target::{Target, program, program_i386};

/// The user `nobody` and its group, by number in every Debian.
const NOBODY: u32 = 65534;

#[test]
fn a_pid_of_no_process_is_refused() {
    let work = Workplace::new("no-such-process");
    // Beyond the kernel's largest pid (PID_MAX_LIMIT, 2^22).
    check_refusal(&mut stackclock(), &work.file("out.svg"), (1 << 22) + 1, 3, "no process");
}

#[test]
fn a_kernel_thread_is_refused() {
    let work = Workplace::new("kernel-thread");
    let pid = kernel_thread().expect("this test needs to see a kernel thread in /proc; containers hide them");
    check_refusal(&mut stackclock(), &work.file("out.svg"), pid, 1, "kernel thread");
}

#[test]
fn a_zombie_is_refused() {
    let work = Workplace::new("zombie");
    let mut child = Command::new("true").spawn().expect("run true");
    let stat = format!("/proc/{}/stat", child.id());
    let is_zombie = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
    assert!(eventually(std::time::Duration::from_secs(10), is_zombie), "not a zombie yet");
    check_refusal(&mut stackclock(), &work.file("out.svg"), child.id(), 1, "zombie");
    child.wait().expect("reap it");
}

#[test]
fn a_32_bit_process_is_refused() {
    let work = Workplace::new("i386");
    let target = Target::start(program_i386("i386"), &[]);
    check_refusal(&mut stackclock(), &work.file("out.svg"), target.pid(), 1, "32-bit");
}

/// Root tries it as `nobody` on a process of root's; anyone else tries it on root's first process.
#[test]
fn a_process_of_another_user_is_refused() {
    let work = Workplace::new("other-user");
    if !nix::unistd::geteuid().is_root() {
        return check_refusal(&mut stackclock(), &work.file("out.svg"), 1, 4, "uid");
    }
    let target = Target::start(program("spinners"), &["1"]);
    // The build's own directory may be in a home that others cannot enter.
    let public = std::env::temp_dir().join(format!("stackclock-e2e-{}", std::process::id()));
    std::fs::create_dir(&public).expect("create a directory for nobody");
    std::fs::set_permissions(&public, PermissionsExt::from_mode(0o777)).expect("open it");
    let copy = public.join("stackclock");
    std::fs::copy(env!("CARGO_BIN_EXE_stackclock"), &copy).expect("copy stackclock");
    let mut as_nobody = Command::new(&copy);
    as_nobody.uid(NOBODY).gid(NOBODY).current_dir(&public);
    let refusal = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        check_refusal(&mut as_nobody, &public.join("out.svg"), target.pid(), 4, "uid");
    }));
    std::fs::remove_dir_all(&public).expect("clean up");
    if let Err(failure) = refusal {
        std::panic::resume_unwind(failure);
    }
}

/// `record -p PID -o FILE` says its three lines, one of which has `word` in it, and leaves no file.
#[track_caller]
fn check_refusal(command: &mut Command, file: &Path, pid: u32, status: i32, word: &str) {
    let output = command
        .args(["record", "-d", "1", "-p", &pid.to_string(), "-o"])
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .expect("run stackclock");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert!(output.stdout.is_empty(), "{:?}", String::from_utf8_lossy(&output.stdout));
    let labels: Vec<&str> = stderr.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(labels, ["error:", "cause:", "help:"], "{stderr}");
    assert!(stderr.contains(word), "no {word:?} in:\n{stderr}");
    let left: Vec<_> =
        std::fs::read_dir(file.parent().expect("a directory")).expect("list it").flatten().collect();
    let left = left.iter().filter(|entry| entry.file_name().to_string_lossy().contains("out")).count();
    assert_eq!(left, 0, "a file was left behind");
}

/// Some process with PF_KTHREAD (0x200000, include/linux/sched.h) among its flags, the ninth field of its stat.
fn kernel_thread() -> Option<u32> {
    let processes = std::fs::read_dir("/proc").expect("/proc is mounted");
    processes.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let flags: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(6)?.parse().ok()?;
        (flags & 0x20_0000 != 0).then_some(pid)
    })
}
