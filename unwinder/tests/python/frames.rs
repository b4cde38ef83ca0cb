//! Frames of live interpreters against what these say of themselves.

use stackclock_unwinder::python::{CodeCache, CodeTable, PythonCapture, PythonStack, ThreadHints};

use crate::pythons::{Python, pythons};
use crate::target::Target;

/// Number of the system call in which the targets block.
const READ: u32 = 0;

/// Name, file and line, innermost first.
type Chain = Vec<(String, String, u32)>;

/// Reads threads of one target as a sampler does.
struct Reader {
    codes: CodeTable,
    cache: CodeCache,
    capture: PythonCapture,
    stack: PythonStack,
}

impl Reader {
    fn new() -> Reader {
        Reader {
            codes: CodeTable::default(),
            cache: CodeCache::default(),
            capture: PythonCapture::default(),
            stack: PythonStack::default(),
        }
    }

    /// The frames of the thread `tid` in all interpreters, of which one has it.
    fn chain(&mut self, target: &Target, tid: u32, hints: &mut ThreadHints) -> Chain {
        let interpreter = target.interpreter();
        let memory = target.memory();
        let thread = interpreter.threads().iter().find(|thread| thread.native_tid == tid);
        let thread = thread.unwrap_or_else(|| panic!("{:?}: thread {tid} not found", target.python));
        interpreter.capture(thread, hints, &memory, &mut self.capture).expect("a blocked thread can be read");
        self.codes.resolve(&interpreter, &mut self.cache, &self.capture, &memory, &mut self.stack);
        let code = |frame: &stackclock_unwinder::python::PythonFrame| {
            let code = self.codes.code(frame.code).expect("an id of this table");
            (code.name.to_string(), code.file.to_string(), frame.line)
        };
        self.stack.frames.iter().map(code).collect()
    }
}

fn parse_chain(chain: &serde_json::Value) -> Chain {
    let frame = |frame: &serde_json::Value| {
        let text = |at: usize| frame[at].as_str().expect("text").to_owned();
        (text(0), text(1), frame[2].as_u64().expect("a line") as u32)
    };
    chain.as_array().expect("a chain").iter().map(frame).collect()
}

fn check_chains(python: &Python) {
    let mut target = Target::start(python, "chains.py", &["3000"]);
    let chains = target.json();
    let mut reader = Reader::new();
    let chains = chains.as_object().expect("one chain per thread");
    assert_eq!(chains.len(), 5);
    for (tid, chain) in chains {
        let tid = tid.parse().expect("a tid");
        target.wait_blocked(tid, READ);
        let mut hints = ThreadHints::default();
        let expected = parse_chain(chain);
        // Once without hints and once with them.
        for _ in 0..2 {
            let found = reader.chain(&target, tid, &mut hints);
            assert_eq!(found.len(), expected.len(), "{:?}: {found:#?}", python.version);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{:?}", python.version);
            }
            assert_eq!(reader.stack.unknown, 0);
        }
    }
    println!("{:?}: {} threads, all frames and lines equal", python.version, chains.len());
}

#[test]
fn names_files_and_lines_are_the_interpreters_own() {
    pythons().iter().for_each(check_chains);
}
