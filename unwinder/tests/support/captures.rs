//! Real threads, copied: what a sampler would hand to the unwinder.

use std::sync::Arc;

use nix::unistd::Pid;
use stackclock_unwinder::native::{AddressSpace, CodePlace, Module, ModuleStore};
use stackclock_unwinder::{Avma, Capture, Memory, StackBytes};

use super::{Stopped, Target, maps};

/// Copies the registers of a stopped thread and at most `limit` bytes of its stack, red zone included.
pub fn capture(target: &Target, tid: Pid, limit: usize) -> Capture {
    let stopped = Stopped::new(tid);
    let registers = stopped.registers();
    let start = registers.stack_copy_start().0;
    let lines = maps(target.pid());
    let stack = lines
        .iter()
        .find(|line| (line.start..line.end).contains(&registers.sp.0))
        .expect("sp is in a mapping");
    let length = usize::try_from(stack.end - start).expect("64 bit").min(limit);
    let mut bytes = vec![0; length];
    target.memory().read(Avma(start), &mut bytes).expect("stack is readable");
    Capture { registers, stack: StackBytes { start: Avma(start), bytes } }
}

/// A module and where it is mapped.
pub struct MappedModule {
    pub module: Arc<Module>,
    pub start: Avma,
    pub end: Avma,
    pub bias: u64,
}

/// The executable mappings of ELF files, and the address space made of them.
pub fn modules(target: &Target, store: &ModuleStore) -> (AddressSpace, Vec<MappedModule>) {
    let space = target.address_space(store);
    let executable = maps(target.pid()).into_iter().filter(|line| line.permissions.contains('x'));
    let modules = executable.filter_map(|line| {
        let CodePlace::Module { module, .. } = space.lookup(Avma(line.start)) else {
            return None;
        };
        let module = store.get(module)?;
        let bias = module.bias(Avma(line.start), line.file_offset)?;
        Some(MappedModule { module, start: Avma(line.start), end: Avma(line.end), bias })
    });
    let modules = modules.collect();
    (space, modules)
}
