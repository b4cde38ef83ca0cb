//! `/proc/PID/task/TID/syscall`: where a sleeping thread entered the kernel (`fs/proc/base.c`, `lib/syscall.c`).

use stackclock_unwinder::Avma;

/// What the file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyscallState {
    /// On a CPU or waiting for one: its registers are its own.
    Running,
    /// Sleeping in a system call.
    InCall {
        /// System call number.
        number: u32,
        /// Its six arguments, in the order of the kernel's calling convention.
        arguments: [u64; 6],
        /// User stack pointer.
        sp: Avma,
        /// User instruction pointer: behind the `syscall` instruction.
        ip: Avma,
    },
    /// Sleeping for another reason than a system call: a page fault, a stop.
    NotInCall {
        /// User stack pointer; 0 for a kernel helper thread of the process.
        sp: Avma,
        /// User instruction pointer.
        ip: Avma,
    },
}

impl SyscallState {
    /// Parses the file's one line.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let first = words.next()?;
        if first == "running" {
            return Some(SyscallState::Running);
        }
        let mut hex = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        let number: i64 = first.parse().ok()?;
        let Ok(number) = u32::try_from(number) else {
            return Some(SyscallState::NotInCall { sp: Avma(hex()?), ip: Avma(hex()?) });
        };
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = hex()?;
        }
        Some(SyscallState::InCall { number, arguments, sp: Avma(hex()?), ip: Avma(hex()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_three_kinds_of_line_apart() {
        assert_eq!(SyscallState::parse("running\n"), Some(SyscallState::Running));
        assert_eq!(
            SyscallState::parse("202 0x7f01 0x80 0x2 0x0 0x0 0xffffffff 0x7ffd10 0x7f0230\n"),
            Some(SyscallState::InCall {
                number: 202,
                arguments: [0x7f01, 0x80, 2, 0, 0, 0xffff_ffff],
                sp: Avma(0x7ffd10),
                ip: Avma(0x7f0230)
            })
        );
        assert_eq!(
            SyscallState::parse("-1 0x7ffd10 0x401000\n"),
            Some(SyscallState::NotInCall { sp: Avma(0x7ffd10), ip: Avma(0x401000) })
        );
        for broken in ["", "x", "202 0x1", "202 1 2 3 4 5 6 7 8", "-1 0x1"] {
            assert_eq!(SyscallState::parse(broken), None, "{broken:?}");
        }
    }
}
