//! Processes that cannot be sampled: each is refused in three lines with its own exit status, and the output that
//! was asked for is left as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use nix::unistd::Uid;

use crate::support::target::{Target, kernel_thread};
use crate::support::{assert_names_in, assert_three_lines, elf32, stackclock};

/// Beyond the kernel's largest process id, 2^22 (`PID_MAX_LIMIT`, include/linux/threads.h).
const NO_PID: u32 = (1 << 22) + 1;

/// Records a process into a folder where `old.folded` has content, which must stay.
#[track_caller]
fn refused(pid: u32, status: i32) -> [String; 3] {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("old.folded"), "old 1\n").expect("a file");
    let output = stackclock()
        .args(["record", "-d", "1", "-o", "new.svg", "-o", "old.folded", "-p", &pid.to_string()])
        .current_dir(&folder)
        .output()
        .expect("it runs");
    let lines = assert_three_lines(&output, status);
    assert_names_in(folder.path(), &["old.folded"]);
    assert_eq!(fs::read_to_string(folder.path().join("old.folded")).expect("it is there"), "old 1\n");
    lines
}

#[test]
fn a_process_that_does_not_exist() {
    let [error, ..] = refused(NO_PID, 3);
    assert_eq!(error, format!("error: no process {NO_PID}"));
}

#[test]
fn one_missing_process_among_others_is_enough() {
    let target = Target::busy();
    let folder = tempfile::tempdir().expect("a folder");
    let pids = [target.pid().to_string(), NO_PID.to_string()];
    let output = stackclock()
        .args(["record", "-d", "1", "-o", "new.svg", "-p", &pids[0], "-p", &pids[1]])
        .current_dir(&folder)
        .output()
        .expect("it runs");
    assert_three_lines(&output, 3);
    assert_names_in(folder.path(), &[]);
}

#[test]
fn a_kernel_thread() {
    let [error, ..] = refused(kernel_thread(), 1);
    assert!(error.contains("kernel thread"), "{error}");
}

#[test]
fn a_zombie() {
    let zombie = Target::zombie();
    let [error, ..] = refused(zombie.pid(), 1);
    assert!(error.contains("zombie"), "{error}");
}

#[test]
fn a_32_bit_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("pauses");
    elf32::write(&program);
    let target = Target::spawn(&mut Command::new(&program));
    let [error, ..] = refused(target.pid(), 1);
    assert!(error.contains("64-bit"), "{error}");
}

#[test]
fn the_profiler_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = r#"exec "$0" record -d 1 -o new.svg -p $$"#;
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_stackclock")])
        .current_dir(&folder)
        .output()
        .expect("it runs");
    let [error, ..] = assert_three_lines(&output, 1);
    assert!(error.contains("itself"), "{error}");
    assert_names_in(folder.path(), &[]);
}

#[test]
fn a_process_of_another_user() {
    let target = Target::busy();
    // Whoever we are, process 1 belongs to root; as root we become nobody and look at a child of root.
    let pid = if Uid::current().is_root() { target.pid() } else { 1 };
    let folder = tempfile::tempdir().expect("a folder");
    let output = record_as_nobody(folder.path(), pid);
    let [error, cause, help] = assert_three_lines(&output, 4);
    assert_eq!(error, format!("error: cannot read memory of process {pid} (owner root)"));
    assert!(cause.contains("uid 0") && cause.contains("CAP_SYS_PTRACE"), "{cause}");
    assert!(help.contains("sudo -E stackclock") && help.contains("--cap-add=SYS_PTRACE"), "{help}");
    assert_names_in(&folder.path().join("out"), &[]);
}

/// Runs a copy of the binary, where everybody may run it, as a user without rights (as root), or as it is.
fn record_as_nobody(folder: &Path, pid: u32) -> Output {
    let out = folder.join("out");
    fs::create_dir(&out).expect("a folder");
    for (path, mode) in [(folder, 0o755), (&out, 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode can be set");
    }
    let binary = folder.join("stackclock");
    fs::copy(env!("CARGO_BIN_EXE_stackclock"), &binary).expect("the binary can be copied");
    let mut command = if Uid::current().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&binary);
        command
    } else {
        Command::new(&binary)
    };
    command.args(["record", "-d", "1", "-o", "new.svg", "-p", &pid.to_string()]);
    command.current_dir(&out).output().expect("it runs")
}
