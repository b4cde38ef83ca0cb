//! The memory of a live process, by `process_vm_readv(2)`.

use std::io::IoSliceMut;

use arrayvec::ArrayVec;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use stackclock_unwinder::{Avma, Memory, MemoryError, ReadPart};

/// Pieces handed to the kernel in one call; each further piece costs 0.35 us, a further call 1 us.
const PARTS_PER_CALL: usize = 64;

/// The memory of a process that runs. No thread is stopped for it: what is read may change while it is read.
#[derive(Clone, Copy, Debug)]
pub struct LiveMemory {
    pid: Pid,
}

impl LiveMemory {
    /// The memory of the process `pid`.
    pub fn of(pid: u32) -> Self {
        LiveMemory { pid: Pid::from_raw(pid as i32) }
    }

    /// Reads what can be read from `address` on, at most `into.len()` bytes: the end of a mapping ends it.
    pub fn read_up_to(&self, address: Avma, into: &mut [u8]) -> nix::Result<usize> {
        let remote = RemoteIoVec { base: address.0 as usize, len: into.len() };
        process_vm_readv(self.pid, &mut [IoSliceMut::new(into)], &[remote])
    }
}

impl Memory for LiveMemory {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        let length = into.len();
        match self.read_up_to(address, into) {
            Ok(read) if read == length => Ok(()),
            _ => Err(MemoryError { address: address.0, length }),
        }
    }

    fn read_many(&self, parts: &mut [ReadPart<'_>]) -> Result<(), MemoryError> {
        for chunk in parts.chunks_mut(PARTS_PER_CALL) {
            let mut remote = ArrayVec::<RemoteIoVec, PARTS_PER_CALL>::new();
            let mut local = ArrayVec::<IoSliceMut<'_>, PARTS_PER_CALL>::new();
            let first = chunk.first().map_or(0, |part| part.address.0);
            let mut length = 0;
            for part in chunk {
                length += part.bytes.len();
                remote.push(RemoteIoVec { base: part.address.0 as usize, len: part.bytes.len() });
                local.push(IoSliceMut::new(part.bytes));
            }
            // A shorter count means that a later piece could not be read (CPYTHON.md 5.7).
            if process_vm_readv(self.pid, &mut local, &remote) != Ok(length) {
                return Err(MemoryError { address: first, length });
            }
        }
        Ok(())
    }
}
