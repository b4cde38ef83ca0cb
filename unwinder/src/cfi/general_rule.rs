//! Rules in full generality, executed by their letter.

use gimli::{EndianSlice, Evaluation, EvaluationResult, LittleEndian, Location, Value};

use crate::{Avma, Memory, Registers, Truncation};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Most operations of one expression that are executed.
const MAX_OPERATIONS: u32 = 1000;

/// How to find a CFA.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CfaSource {
    /// A register plus an offset.
    Register {
        /// DWARF number.
        register: u16,
        /// Bytes to add.
        offset: i64,
    },
    /// The value of a DWARF expression.
    Expression(Box<[u8]>),
}

/// How to find the caller's value of a register (DWARF 5 section 6.4.1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum RegisterSource {
    /// Not recoverable.
    Undefined,
    /// The same value.
    Unchanged,
    /// The word at CFA + offset.
    AtCfa(i64),
    /// CFA + offset itself.
    IsCfa(i64),
    /// The value of another register.
    Register(u16),
    /// The word at the address that the expression gives.
    AtExpression(Box<[u8]>),
    /// What the expression gives.
    IsExpression(Box<[u8]>),
    /// This number.
    Constant(u64),
}

/// One row, all of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct GeneralRule {
    /// How to find the CFA.
    pub(crate) cfa: CfaSource,
    /// Rules that the row states, by DWARF register number.
    pub(crate) registers: Vec<(u16, RegisterSource)>,
    /// Whether the caller was interrupted by a signal, so that its address is that of an instruction.
    pub(crate) signal_frame: bool,
}

/// Why a general rule could not be executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StepError {
    /// It needs this register.
    UnknownRegister(u16),
    /// It is truncated for another reason.
    Truncated(Truncation),
}

/// What a general rule is executed on. `register` gives a register's value in this frame, if it is known.
pub(crate) struct Frame<'a, M, R> {
    pub(crate) memory: &'a M,
    pub(crate) register: R,
}

impl GeneralRule {
    /// An empty rule, to be filled.
    pub(super) fn scratch() -> Self {
        GeneralRule {
            cfa: CfaSource::Register { register: 0, offset: 0 },
            registers: Vec::new(),
            signal_frame: false,
        }
    }

    /// What the row says about a register, if anything.
    pub(crate) fn register(&self, register: u16) -> Option<&RegisterSource> {
        self.registers.iter().find(|(number, _)| *number == register).map(|(_, source)| source)
    }
}

impl<M: Memory, R: Fn(u16) -> Option<u64>> Frame<'_, M, R> {
    /// The frame's CFA.
    pub(crate) fn cfa(&self, rule: &GeneralRule) -> Result<Avma, StepError> {
        match &rule.cfa {
            CfaSource::Register { register, offset } => Ok(Avma(self.known(*register)?).offset(*offset)),
            CfaSource::Expression(bytes) => self.evaluate(bytes, None).map(Avma),
        }
    }

    /// The caller's value of a register; `Ok(None)` when it cannot be known.
    pub(crate) fn callers(
        &self,
        rule: &GeneralRule,
        register: u16,
        cfa: Avma,
    ) -> Result<Option<u64>, StepError> {
        let Some(source) = rule.register(register) else {
            // What a row does not mention is unchanged if the ABI makes callees preserve it; the caller's sp is
            // the CFA by definition.
            return Ok(match register {
                Registers::RSP => Some(cfa.0),
                _ if Registers::is_callee_saved(register) => (self.register)(register),
                _ => None,
            });
        };
        Ok(match source {
            RegisterSource::Undefined => None,
            RegisterSource::Unchanged => (self.register)(register),
            RegisterSource::AtCfa(offset) => Some(self.word(cfa.offset(*offset))?),
            RegisterSource::IsCfa(offset) => Some(cfa.offset(*offset).0),
            RegisterSource::Register(other) => (self.register)(*other),
            RegisterSource::AtExpression(bytes) => Some(self.word(Avma(self.evaluate(bytes, Some(cfa))?))?),
            RegisterSource::IsExpression(bytes) => Some(self.evaluate(bytes, Some(cfa))?),
            RegisterSource::Constant(value) => Some(*value),
        })
    }

    fn known(&self, register: u16) -> Result<u64, StepError> {
        (self.register)(register).ok_or(StepError::UnknownRegister(register))
    }

    fn word(&self, address: Avma) -> Result<u64, StepError> {
        self.memory.read_u64(address).map_err(|_| StepError::Truncated(Truncation::OutOfBytes))
    }

    /// Runs an expression; register rules start with the CFA on the expression's stack.
    fn evaluate(&self, expression: &[u8], cfa: Option<Avma>) -> Result<u64, StepError> {
        const BROKEN: StepError = StepError::Truncated(Truncation::BadUnwindInfo);
        let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
        let mut evaluation: Evaluation<Bytes<'_>> =
            Evaluation::new(EndianSlice::new(expression, LittleEndian), encoding);
        evaluation.set_max_iterations(MAX_OPERATIONS);
        if let Some(cfa) = cfa {
            evaluation.set_initial_value(cfa.0);
        }
        let mut state = evaluation.evaluate();
        loop {
            state = match state.map_err(|_| BROKEN)? {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory { address, size, space: None, .. } => {
                    let mut word = [0; 8];
                    let into = word.get_mut(..size.into()).ok_or(BROKEN)?;
                    self.memory
                        .read(Avma(address), into)
                        .map_err(|_| StepError::Truncated(Truncation::OutOfBytes))?;
                    evaluation.resume_with_memory(Value::Generic(u64::from_le_bytes(word)))
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.known(register.0)?))
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(cfa.ok_or(BROKEN)?.0)
                }
                _ => return Err(BROKEN),
            };
        }
        match evaluation.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Ok(address),
                _ => Err(BROKEN),
            },
            _ => Err(BROKEN),
        }
    }
}
