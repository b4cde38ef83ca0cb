//! A dump as people read it, in py-spy's form:
//!
//! ```text
//! Process 4242: python3 train.py
//! Python v3.11.2
//!
//! Thread 4242 (blocked: futex): "python3"
//!     nested_wait (nested.cc:18, libnested.so)
//!     bottom (nested.py:35)
//! ```

use std::fmt;
use std::io::{self, Write};

use super::model::{Dump, DumpedFrame, DumpedProcess, DumpedThread, State};
use crate::error::OneLine;

/// Writes it.
pub fn write(dump: &Dump, out: &mut dyn Write) -> io::Result<()> {
    for (at, process) in dump.processes.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write_process(process, out)?;
    }
    Ok(())
}

fn write_process(process: &DumpedProcess, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Process {}: {}", process.pid, OneLine(&process.command))?;
    if let Some(version) = &process.python {
        writeln!(out, "Python v{}", OneLine(version))?;
    }
    for thread in &process.threads {
        writeln!(out)?;
        writeln!(out, "Thread {} ({}): \"{}\"", thread.tid, Doing(thread), OneLine(&thread.name))?;
        for frame in &thread.frames {
            writeln!(out, "    {}", OneLine(Line(frame)))?;
        }
    }
    Ok(())
}

/// `running, holds the GIL`.
struct Doing<'a>(&'a DumpedThread);

impl fmt::Display for Doing<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = self.0;
        out.write_str(match thread.state {
            State::Running => "running",
            State::Runnable => "runnable: waits for a CPU",
            State::GilWait => "waits for the GIL",
            State::Blocked => "blocked",
            State::Uninterruptible => "uninterruptible",
            State::Stopped => "stopped",
        })?;
        if let Some(syscall) = &thread.syscall {
            write!(out, ": {syscall}")?;
        }
        if thread.holds_gil {
            out.write_str(", holds the GIL")?;
        }
        Ok(())
    }
}

/// `function (file:line, module)`, as far as it is known.
struct Line<'a>(&'a DumpedFrame);

impl fmt::Display for Line<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DumpedFrame { function, file, line, module, .. } = self.0;
        let place = match (file, line) {
            (Some(file), Some(line)) => Some(format!("{file}:{line}")),
            (Some(file), None) => Some(file.clone()),
            (None, _) => None,
        };
        match (place, module) {
            (Some(place), Some(module)) => write!(out, "{function} ({place}, {module})"),
            (Some(place), None) => write!(out, "{function} ({place})"),
            (None, Some(module)) => write!(out, "{function} ({module})"),
            (None, None) => out.write_str(function),
        }
    }
}

#[cfg(test)]
mod tests {
    use stackclock_collapse::{
        Code, FileNames, Frame, FrameKind, Process, Profile, RunState, Seen, StackId, Syscall, Timeline,
    };

    use super::*;

    /// One of everything, in an order that is not the printed one.
    fn by_hand() -> Profile {
        let frame = |name: &str, kind, file: Option<(&str, u32)>, module: Option<&str>| Frame {
            name: name.into(),
            file: file.map(|(file, _)| file.into()),
            line: file.map(|(_, line)| line),
            module: module.map(Into::into),
            kind,
        };
        let ops = Some("/srv/app/libops.so");
        let main = frame("<module>", FrameKind::Python, Some(("/srv/app/train.py", 30)), None);
        let stacks = [
            vec![
                main.clone(),
                frame("ops::matmul", FrameKind::Native, Some(("/build/ops/matmul.cpp", 88)), ops),
                frame("ops::fma", FrameKind::Inlined, Some(("/build/ops/simd.h", 12)), ops),
            ],
            vec![
                frame("ThreadPool::run()", FrameKind::Native, None, ops),
                frame("0x7f00", FrameKind::Native, None, None),
            ],
            vec![Frame::remark(FrameKind::Error, "[truncated: no unwind information]"), main],
            vec![],
        ];
        let states = [
            (1, 12, RunState::Running, 0, true),
            (1, 11, RunState::Blocked(Syscall::from_name("futex").unwrap()), 1, false),
            (1, 10, RunState::GilWait, 2, false),
            (0, 33, RunState::Runnable, 3, false),
            (0, 32, RunState::Uninterruptible, 1, false),
            (0, 31, RunState::Stopped, 1, false),
        ];
        let mut timeline = Timeline::default();
        let process = |pid, name: &str, python: Option<&str>| Process {
            pid,
            name: name.to_owned(),
            python: python.map(str::to_owned),
        };
        let processes = [
            timeline.add_process(process(31, "server --port 1", None)),
            timeline.add_process(process(10, "python3 train\n.py", Some("3.11.2"))),
        ];
        timeline.add_process(process(99, "ended", None));
        let numbered = |number| stackclock_collapse::FrameId(number);
        let mut raw = stackclock_collapse::StackTable::default();
        let ids: Vec<StackId> =
            (0..stacks.len() as u32).map(|at| raw.push(StackId::EMPTY, numbered(at))).collect();
        for (process, tid, state, stack, holds_gil) in states {
            let seen = Seen { state, stack: ids[stack], holds_gil };
            timeline.add_thread(processes[process], tid, format!("worker {tid}"), 0, seen);
        }
        timeline.finish(1, |profile, stack| {
            let at = ids.iter().position(|id| *id == stack).unwrap();
            stacks[at].iter().fold(StackId::EMPTY, |stack, frame| {
                let frame = profile.frames.intern(frame.clone());
                profile.stacks.push(stack, frame)
            })
        })
    }

    fn text(code: Code, files: FileNames) -> String {
        let mut out = Vec::new();
        write(&Dump::new(&by_hand(), &files, code), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[track_caller]
    fn assert_golden(name: &str, actual: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/dump").join(name);
        if std::env::var_os("STACKCLOCK_BLESS").is_some_and(|value| value == "1") {
            return std::fs::write(&path, actual).unwrap();
        }
        let expected = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; STACKCLOCK_BLESS=1 writes it", path.display()));
        assert!(
            actual == expected,
            "{} differs; STACKCLOCK_BLESS=1 rewrites it. Now it is:\n{actual}",
            path.display()
        );
    }

    #[test]
    fn text_is_py_spys_form() {
        assert_golden("all.txt", &text(Code::All, FileNames::default()));
    }

    #[test]
    fn files_in_full_and_python_alone() {
        assert_golden("python-full.txt", &text(Code::Python, FileNames::Full));
    }

    #[test]
    fn json_has_every_field() {
        let dump = Dump::new(&by_hand(), &FileNames::default(), Code::All);
        assert_golden("all.json", &(serde_json::to_string_pretty(&dump).unwrap() + "\n"));
    }
}
