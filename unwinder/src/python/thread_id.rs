//! The kernel's tid of a Python thread before 3.11, where Python knows only its `pthread_t`.

use super::PythonThread;
use super::snapshot::{field, u32_at};
use crate::{Avma, Memory};

/// Where the tid is in the C library's `struct pthread`, to which a `pthread_t` points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TidPlace {
    offset: usize,
    confirmed: bool,
}

impl Default for TidPlace {
    fn default() -> Self {
        TidPlace { offset: GLIBC, confirmed: false }
    }
}

/// glibc on x86_64: `struct pthread.tid`, behind `tcbhead_t` padded to 0x2c0 bytes and a list node.
const GLIBC: usize = 0x2d0;
/// Where to search in a C library that is laid out otherwise.
const SEARCHED: usize = 0x800;

impl TidPlace {
    /// Confirms the place by a thread whose tid is known: the main thread's is the process's id. Searches the
    /// place when it is not the usual one.
    pub fn find(&mut self, pid: u32, threads: &[PythonThread], memory: &impl Memory) {
        if self.confirmed {
            return;
        }
        // The main thread's state is the oldest, so the last in its list.
        for thread in threads.iter().rev() {
            let mut bytes = [0; SEARCHED];
            let Some(readable) = read_up_to(thread.thread_id, &mut bytes, memory) else { continue };
            let places = (0..readable.len()).step_by(4);
            let found = std::iter::once(GLIBC).chain(places).find(|&at| u32_at(readable, at) == pid);
            if let Some(offset) = found {
                *self = TidPlace { offset, confirmed: true };
                return;
            }
        }
    }

    /// The address of the tid of the thread `thread_id`.
    pub fn address(&self, thread_id: Avma) -> Avma {
        field(thread_id, self.offset)
    }

    /// The tid of the thread `thread_id`; 0 when it cannot be read, as of a thread that has ended.
    pub fn read(&self, thread_id: Avma, memory: &impl Memory) -> u32 {
        memory.read_u32(self.address(thread_id)).unwrap_or(0)
    }
}

/// As much of the 0x800 bytes at `address` as is mapped, at least the usual place.
fn read_up_to<'a>(address: Avma, bytes: &'a mut [u8; SEARCHED], memory: &impl Memory) -> Option<&'a [u8]> {
    let length = [SEARCHED, GLIBC + 4]
        .into_iter()
        .find(|&length| bytes.get_mut(..length).is_some_and(|bytes| memory.read(address, bytes).is_ok()))?;
    bytes.get(..length)
}
