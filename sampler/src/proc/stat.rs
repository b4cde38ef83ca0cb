//! `/proc/PID/task/TID/stat`: only the state letter (`fs/proc/array.c`, `task_state_array`).

/// A thread's scheduling state as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// `R`: on a CPU or waiting for one.
    Running,
    /// `S`, and `I` of idle kernel helpers.
    Sleeping,
    /// `D`.
    Uninterruptible,
    /// `T` stopped by a signal, `t` by a tracer.
    Stopped,
    /// `Z` and `X`: has ended.
    Dead,
}

impl TaskState {
    /// Parses the beginning of the file's line. The name before the letter is in parentheses and may itself
    /// contain any of these characters, so the last closing parenthesis counts.
    pub fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(") ")?;
        Some(match rest.bytes().next()? {
            b'R' => TaskState::Running,
            b'S' | b'I' => TaskState::Sleeping,
            b'D' => TaskState::Uninterruptible,
            b'T' | b't' => TaskState::Stopped,
            b'Z' | b'X' | b'x' => TaskState::Dead,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_letter_behind_any_name() {
        assert_eq!(TaskState::parse("12 (python3) S 1 12"), Some(TaskState::Sleeping));
        assert_eq!(TaskState::parse("12 (a) R (b) D 1 12"), Some(TaskState::Uninterruptible));
        assert_eq!(TaskState::parse("12 (x) t 1"), Some(TaskState::Stopped));
        assert_eq!(TaskState::parse("12 (x) Z 1"), Some(TaskState::Dead));
        assert_eq!(TaskState::parse("12 (x"), None);
        assert_eq!(TaskState::parse("12 (x) "), None);
    }
}
