//! What processes and threads are called.

use std::fs;

use stackclock_collapse::Process;

/// Names longer than this are cut: they head columns and flame graphs.
const MOST_NAME_CHARS: usize = 80;

/// The name of a process: its command line with the program's folder left out, or the kernel's `comm` for a
/// process that has none.
pub fn describe(pid: u32) -> Process {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments: Vec<_> = command
        .split(|&byte| byte == 0)
        .filter(|part| !part.is_empty())
        .map(String::from_utf8_lossy)
        .collect();
    let name = match arguments.split_first() {
        Some((program, rest)) => {
            let program = program.rsplit_once('/').map_or(&**program, |(_, name)| name);
            [program].into_iter().chain(rest.iter().map(|argument| &**argument)).collect::<Vec<_>>().join(" ")
        }
        None => comm(&format!("/proc/{pid}/comm")).unwrap_or_default(),
    };
    Process { pid, name: one_line(&name), python: None }
}

/// The name a thread has given itself, or was given.
pub fn thread_name(pid: u32, tid: u32) -> Option<String> {
    comm(&format!("/proc/{pid}/task/{tid}/comm"))
}

fn comm(path: &str) -> Option<String> {
    let comm = fs::read(path).ok()?;
    Some(one_line(String::from_utf8_lossy(&comm).trim_end_matches('\n')))
}

fn one_line(name: &str) -> String {
    let printable = name.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut name: String = printable.take(MOST_NAME_CHARS + 1).collect();
    if name.chars().count() > MOST_NAME_CHARS {
        name.pop();
        name.push('…');
    }
    name
}
