//! What a path through code knows of registers and of the words it has stored.

use iced_x86::{Code, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory};

use super::{Base, CallersBp, Place, ReturnRule};
use crate::Registers;

/// Stores remembered on one path; a path with more is given up.
const MAX_STORES: usize = 256;

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Is(Place),
    /// The word at a place whose base is itself a word; one at a register's base is [`Base::Word`].
    At(Place),
    Unknown,
}

/// rsp and the registers that a function must preserve, by iced's numbers: those by which frames are found.
const KEPT: [usize; 7] = [RSP, RBP, 3, 12, 13, 14, 15];
/// What those hold.
pub(super) type Kept = [Value; KEPT.len()];

const RSP: usize = 4;
const RBP: usize = 5;
/// Registers that a call may overwrite: rax, rcx, rdx, rsi, rdi, r8 to r11.
const CLOBBERED: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];

impl Place {
    fn moved(self, bytes: i64) -> Option<Place> {
        let offset = i64::from(self.offset).checked_add(bytes)?;
        Some(Place { base: self.base, offset: i32::try_from(offset).ok()? })
    }
}

impl Value {
    fn moved(self, bytes: i64) -> Value {
        match self {
            Value::Is(place) => place.moved(bytes).map_or(Value::Unknown, Value::Is),
            _ => Value::Unknown,
        }
    }

    fn word_at(place: Place) -> Value {
        match place {
            Place { base: Base::Register(register), offset } => {
                Value::Is(Place { base: Base::Word { register, offset }, offset: 0 })
            }
            Place { base: Base::Word { .. }, .. } => Value::At(place),
        }
    }
}

/// Bytes written on a path.
#[derive(Clone, Copy, Debug)]
struct Store {
    place: Place,
    size: i32,
    value: Value,
}

impl Store {
    fn overlaps(&self, place: Place, size: i32) -> bool {
        let (ours, theirs) = (i64::from(self.place.offset), i64::from(place.offset));
        self.place.base == place.base
            && ours < theirs + i64::from(size)
            && theirs < ours + i64::from(self.size)
    }
}

/// The state between two instructions of a path.
#[derive(Clone, Debug)]
pub(super) struct State {
    registers: [Value; 16],
    stores: Vec<Store>,
}

/// What an instruction does to a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    On,
    Nowhere,
}

impl State {
    pub(super) fn at_start() -> State {
        let mut registers = [Value::Unknown; 16];
        for number in KEPT {
            let base = Base::Register(dwarf_number(number));
            if let Some(register) = registers.get_mut(number) {
                *register = Value::Is(Place { base, offset: 0 });
            }
        }
        State { registers, stores: Vec::new() }
    }

    fn get(&self, register: Register) -> Value {
        number_of(register).and_then(|number| self.registers.get(number).copied()).unwrap_or(Value::Unknown)
    }

    fn set(&mut self, register: Register, value: Value) {
        if let Some(slot) = number_of(register).and_then(|number| self.registers.get_mut(number)) {
            *slot = value;
        }
    }

    pub(super) fn kept(&self) -> Kept {
        KEPT.map(|number| self.registers.get(number).copied().unwrap_or(Value::Unknown))
    }

    fn load(&self, place: Option<Place>) -> Value {
        let Some(place) = place else { return Value::Unknown };
        match self.stores.iter().rev().find(|store| store.overlaps(place, 8)) {
            None => Value::word_at(place),
            Some(store) if store.place == place && store.size == 8 => store.value,
            Some(_) => Value::Unknown,
        }
    }

    fn store(&mut self, place: Place, size: i32, value: Value) -> Goes {
        self.stores.retain(|store| store.place != place || store.size > size);
        self.stores.push(Store { place, size, value });
        if self.stores.len() > MAX_STORES { Goes::Nowhere } else { Goes::On }
    }

    fn push(&mut self, value: Value) -> Goes {
        let top = self.get(Register::RSP).moved(-8);
        self.set(Register::RSP, top);
        match top {
            Value::Is(place) => self.store(place, 8, value),
            _ => Goes::On,
        }
    }

    fn pop(&mut self) -> Value {
        let top = self.get(Register::RSP);
        let value = match top {
            Value::Is(place) => self.load(Some(place)),
            _ => Value::Unknown,
        };
        self.set(Register::RSP, top.moved(8));
        value
    }

    /// The memory operand's address, where it is one register and a displacement.
    fn address(&self, instruction: &Instruction) -> Option<Place> {
        let plain = instruction.memory_index() == Register::None
            && instruction.segment_prefix() == Register::None
            && instruction.memory_base().is_gpr64();
        match self.get(instruction.memory_base()) {
            Value::Is(place) if plain => place.moved(instruction.memory_displacement64() as i64),
            _ => None,
        }
    }

    /// What a call leaves: the registers and the stack that the callee must preserve.
    fn call(&mut self) {
        for number in CLOBBERED {
            if let Some(register) = self.registers.get_mut(number) {
                *register = Value::Unknown;
            }
        }
        if let Value::Is(top) = self.get(Register::RSP) {
            self.stores.retain(|store| store.place.base != top.base || store.place.offset >= top.offset);
        }
    }

    pub(super) fn execute(&mut self, instruction: &Instruction, info: &mut InstructionInfoFactory) -> Goes {
        let to = instruction.op0_register();
        let to_register = instruction.op0_kind() == OpKind::Register && to.is_gpr64();
        let from_register =
            instruction.op1_kind() == OpKind::Register && instruction.op1_register().is_gpr64();
        match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Mov, OpKind::Register) if to_register && from_register => {
                self.set(to, self.get(instruction.op1_register()));
            }
            (Mnemonic::Mov, OpKind::Memory) if to_register => {
                self.set(to, self.load(self.address(instruction)));
            }
            (Mnemonic::Mov, OpKind::Register)
                if from_register && instruction.op0_kind() == OpKind::Memory =>
            {
                let value = self.get(instruction.op1_register());
                return match self.address(instruction) {
                    Some(place) => self.store(place, 8, value),
                    None => Goes::On,
                };
            }
            (Mnemonic::Lea, _) if to_register => {
                self.set(to, self.address(instruction).map_or(Value::Unknown, Value::Is));
            }
            (Mnemonic::Add | Mnemonic::Sub, _) if to_register && instruction.try_immediate(1).is_ok() => {
                let immediate = instruction.try_immediate(1).unwrap_or_default() as i64;
                let grows = instruction.mnemonic() == Mnemonic::Add;
                let bytes = if grows { immediate } else { immediate.wrapping_neg() };
                self.set(to, self.get(to).moved(bytes));
            }
            (Mnemonic::Inc, _) if to_register => self.set(to, self.get(to).moved(1)),
            (Mnemonic::Dec, _) if to_register => self.set(to, self.get(to).moved(-1)),
            (Mnemonic::Push, _) if instruction.stack_pointer_increment() == -8 => {
                let value = if to_register { self.get(to) } else { Value::Unknown };
                return self.push(value);
            }
            (Mnemonic::Pop, _) if to_register => {
                let value = self.pop();
                self.set(to, value);
            }
            (Mnemonic::Leave, _) if instruction.code() == Code::Leaveq => {
                self.set(Register::RSP, self.get(Register::RBP));
                let value = self.pop();
                self.set(Register::RBP, value);
            }
            (Mnemonic::Call, _) => self.call(),
            _ => return self.execute_other(instruction, info),
        }
        Goes::On
    }

    /// All that is not understood: what it writes is unknown from then on.
    fn execute_other(&mut self, instruction: &Instruction, info: &mut InstructionInfoFactory) -> Goes {
        let moved = self.get(Register::RSP).moved(instruction.stack_pointer_increment().into());
        let used = info.info(instruction);
        for memory in used.used_memory().iter().filter(|memory| writes(memory.access())) {
            let Some((place, size)) = self.extent(memory) else { continue };
            if self.store(place, size, Value::Unknown) == Goes::Nowhere {
                return Goes::Nowhere;
            }
        }
        for register in used.used_registers().iter().filter(|used| writes(used.access())) {
            self.set(register.register().full_register(), Value::Unknown);
        }
        if instruction.mnemonic() == Mnemonic::Syscall {
            self.set(Register::RAX, Value::Unknown);
        }
        if instruction.is_stack_instruction() {
            self.set(Register::RSP, moved);
        }
        Goes::On
    }

    fn extent(&self, memory: &UsedMemory) -> Option<(Place, i32)> {
        let Value::Is(place) = self.get(memory.base()) else { return None };
        if memory.index() != Register::None || !memory.base().is_gpr64() {
            return None;
        }
        let size = i32::try_from(memory.memory_size().size()).ok().filter(|&size| size > 0)?;
        Some((place.moved(memory.displacement() as i64)?, size))
    }

    /// What `ret` would do here, if that can be said.
    pub(super) fn returns(&self) -> Option<ReturnRule> {
        let Value::Is(return_address) = self.get(Register::RSP) else { return None };
        // A word that the path has stored itself is no caller's.
        if self.stores.iter().any(|store| store.overlaps(return_address, 8)) {
            return None;
        }
        let bp = match self.get(Register::RBP) {
            Value::Is(place) => CallersBp::Is(place),
            Value::At(place) => CallersBp::At(place),
            Value::Unknown => CallersBp::Unknown,
        };
        Some(ReturnRule { return_address, bp })
    }
}

fn writes(access: OpAccess) -> bool {
    !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
}

/// iced numbers the general registers as instructions encode them.
fn number_of(register: Register) -> Option<usize> {
    register.is_gpr64().then(|| register.number())
}

fn dwarf_number(number: usize) -> u16 {
    match number {
        RSP => Registers::RSP,
        RBP => Registers::RBP,
        3 => Registers::RBX,
        other => other as u16,
    }
}
