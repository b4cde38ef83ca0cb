//! One entry of a stack, ready for people to read.

use std::sync::Arc;

use crate::RunState;

/// What kind of code, or of remark, a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FrameKind {
    /// A Python function.
    Python,
    /// A function of a compiled language.
    Native,
    /// A function that the compiler inlined into the native frame below it.
    Inlined,
    /// A kernel function.
    Kernel,
    /// Not code: what the thread was waiting for, as `[blocked: futex]`.
    State,
    /// Not code: what is wrong with this stack, as `[truncated: no unwind information]`.
    Error,
    /// Not code: the process or thread that the stack belongs to, as `thread (4242): worker`.
    Root,
}

impl FrameKind {
    /// Whether frames of this kind stand for code, so that time can be spent *in* them.
    pub fn is_code(self) -> bool {
        matches!(self, FrameKind::Python | FrameKind::Native | FrameKind::Inlined | FrameKind::Kernel)
    }
}

/// A symbolized frame. Equal frames are interned to one [`FrameId`](crate::FrameId).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Frame {
    /// Function name, demangled; `module+0x1234` when there is no symbol.
    pub name: Arc<str>,
    /// Source file as the debug information or the code object names it, in full.
    pub file: Option<Arc<str>>,
    /// Line in `file` that was executing (for callers: the line of the call).
    pub line: Option<u32>,
    /// The mapped file a native frame lies in, as the target sees its path.
    pub module: Option<Arc<str>>,
    /// What kind of frame this is.
    pub kind: FrameKind,
}

impl Frame {
    /// How the frame is printed: `function (file:line)`, `function (file)`, `function (module)` or, when nothing
    /// but a name is known and for frames that are no code, the name alone.
    ///
    /// ```
    /// use stackclock_collapse::Frame;
    /// for text in ["train (train.py:12)", "operator()(int) (ops.cpp:7)", "epoll_wait (libc.so.6)", "[gil]"] {
    ///     assert_eq!(Frame::from_text(text).text(), text);
    /// }
    /// ```
    pub fn text(&self) -> String {
        match (&self.file, self.line, &self.module) {
            (Some(file), Some(line), _) => format!("{} ({file}:{line})", self.name),
            (Some(file), None, _) => format!("{} ({file})", self.name),
            (None, _, Some(module)) => format!("{} ({module})", self.name),
            (None, _, None) => self.name.to_string(),
        }
    }

    /// The frame that prints as `text`, as far as text tells: `from_text(t).text() == t` for every `t`.
    ///
    /// The kind is a guess from the file name and the brackets of remarks; what lies between the last ` (` and
    /// a final `)` is a place when it has a line number or looks like a file.
    pub fn from_text(text: &str) -> Self {
        if is_root_text(text) {
            return Frame::remark(FrameKind::Root, text);
        }
        if text.starts_with('[') && text.ends_with(']') {
            let is_state = RunState::from_frame_name(text).is_some();
            return Frame::remark(if is_state { FrameKind::State } else { FrameKind::Error }, text);
        }
        let place = text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        match place {
            Some((name, place)) if !name.is_empty() && !place.is_empty() => Frame::at_place(name, place),
            _ => Frame { name: text.into(), file: None, line: None, module: None, kind: FrameKind::Native },
        }
    }

    /// A code frame whose place is `file:line`, `file` or `module`.
    fn at_place(name: &str, place: &str) -> Self {
        let (file, line) = match place.rsplit_once(':') {
            // `from_text` must give back the very text, so `+7` and `007` are no line numbers.
            Some((file, digits)) => match digits.parse::<u32>() {
                Ok(line) if line.to_string() == digits && !file.is_empty() => (file, Some(line)),
                _ => (place, None),
            },
            None => (place, None),
        };
        Frame::in_file(name, file, line)
    }

    /// A code frame of which only a file is known that may be a source file or a mapped one: it is taken as a
    /// source file when it has a line or is Python's by its name.
    pub fn in_file(name: &str, file: &str, line: Option<u32>) -> Self {
        let kind = if is_python_file(file) { FrameKind::Python } else { FrameKind::Native };
        let is_source = line.is_some() || kind == FrameKind::Python;
        Frame {
            name: name.into(),
            file: is_source.then(|| file.into()),
            line,
            module: (!is_source).then(|| file.into()),
            kind,
        }
    }

    /// A frame that is a remark, not code: see [`FrameKind::State`] and [`FrameKind::Error`].
    pub fn remark(kind: FrameKind, name: impl Into<Arc<str>>) -> Self {
        Frame { name: name.into(), file: None, line: None, module: None, kind }
    }
}

/// Whether a file name says that its frames are Python's: `x.py`, `<string>`, `<frozen importlib._bootstrap>`.
pub(crate) fn is_python_file(file: &str) -> bool {
    file.ends_with(".py") || file.ends_with(".pyx") || (file.starts_with('<') && file.ends_with('>'))
}

/// Whether this is the text of a process or thread frame, as [`View`](crate::View) and py-spy print it.
fn is_root_text(text: &str) -> bool {
    let number_then = |rest: &str, end: &str| {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        digits.len() < rest.len() && digits.starts_with(end)
    };
    text.strip_prefix("process ").is_some_and(|rest| number_then(rest, ":\""))
        || text.strip_prefix("thread (").is_some_and(|rest| number_then(rest, ")"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_parsing_whatever_it_is() {
        let texts = [
            "",
            "(",
            ")",
            " ()",
            "a ()",
            "a (b",
            "f (a.py:007)",
            "f (a.py:+7)",
            "f (:7)",
            "f (a:99999999999)",
            "[x]",
            "std::vector<int (*)(char)> (v.h:3)",
            "thread (12): w",
            "process 7:\"a b\"",
            "größe (λ.py:1)",
            "f (x) (y)",
        ];
        for text in texts {
            assert_eq!(Frame::from_text(text).text(), text);
        }
    }

    #[test]
    fn places_and_kinds_are_recognised() {
        let python = Frame::from_text("<module> (pkg/train.py:12)");
        assert_eq!((python.kind, python.line), (FrameKind::Python, Some(12)));
        assert_eq!(python.file.as_deref(), Some("pkg/train.py"));
        let native = Frame::from_text("epoll_wait (libc.so.6)");
        assert_eq!((native.kind, native.module.as_deref()), (FrameKind::Native, Some("libc.so.6")));
        assert_eq!(Frame::from_text("[blocked: futex]").kind, FrameKind::State);
        assert_eq!(Frame::from_text("[truncated: bad CFA]").kind, FrameKind::Error);
        assert_eq!(Frame::from_text("thread (0x7F00): main").kind, FrameKind::Root);
    }
}
