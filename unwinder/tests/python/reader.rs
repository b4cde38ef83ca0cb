//! Reads targets' threads as a sampler does.

use stackclock_unwinder::python::{
    CodeCache, CodeTable, Interpreter, PythonCapture, PythonError, PythonStack, PythonThread, ThreadHints,
};

use crate::target::Target;

/// Name, file and line, innermost first.
pub type Chain = Vec<(String, String, u32)>;

/// What a recording keeps of one process.
#[derive(Default)]
pub struct Reader {
    pub codes: CodeTable,
    pub cache: CodeCache,
    pub capture: PythonCapture,
    pub stack: PythonStack,
}

impl Reader {
    /// Captures and resolves `thread`; the result is in `stack`.
    pub fn read(
        &mut self,
        target: &Target,
        interpreter: &Interpreter,
        thread: &PythonThread,
        hints: &mut ThreadHints,
    ) -> Result<(), PythonError> {
        let memory = target.memory();
        interpreter.capture(thread, hints, &memory, &mut self.capture)?;
        self.codes.resolve(interpreter, &mut self.cache, &self.capture, &memory, &mut self.stack);
        Ok(())
    }

    /// The frames that were read last.
    pub fn chain(&self) -> Chain {
        let frames = self.stack.frames.iter();
        frames
            .map(|frame| {
                let code = self.codes.code(frame.code).expect("an id of this table");
                (code.name.to_string(), code.file.to_string(), frame.line)
            })
            .collect()
    }
}

/// The thread state of the thread `tid`.
pub fn thread_of(interpreter: &Interpreter, tid: u32) -> PythonThread {
    let thread = interpreter.threads().iter().find(|thread| thread.native_tid == tid);
    *thread.unwrap_or_else(|| panic!("thread {tid} is not among {:?}", interpreter.threads()))
}
