//! Running threads when nothing may be stopped: their Python frames, as far as they hold still.
//!
//! Registers of a running thread are in its CPU. So nothing is known of its native frames, and a thread without Python
//! frames has a remark for a stack. Python frames lie in memory (`unwinder/src/python/running.rs`).

use stackclock_collapse::RunState;

use super::{Look, PtraceBackend, Subject};
use crate::backend::{Account, Observation, PythonSight, Sight};
use crate::options::FrameSelection;

impl PtraceBackend {
    /// Reads what can be read of a thread that runs, or wants to: which of the two, the scheduler's counters tell later.
    pub(super) fn look_at_running(&mut self, subject: &mut Subject<'_>) -> Look {
        let Some(thread) = subject.thread() else { return Look::Gone };
        let account = Account::at_once(thread.last);
        let Subject { tick, target, index, sink } = subject;
        let python = match self.frames {
            FrameSelection::NativeOnly => PythonSight::None,
            FrameSelection::Merged | FrameSelection::PythonOnly => {
                target.capture_running_python(*index, &mut self.running, &mut self.python)
            }
        };
        let sight = Sight::Running(match python {
            PythonSight::None => PythonSight::None,
            PythonSight::Failed => PythonSight::Failed,
            PythonSight::Captured(reading) => PythonSight::Captured((&self.python, reading)),
        });
        let holds_gil = target.holds_gil(*index);
        let state = RunState::Running;
        sink.observe(target, *index, Observation { at_ns: tick.at_ns, state, holds_gil, account, sight });
        Look::Done
    }
}
