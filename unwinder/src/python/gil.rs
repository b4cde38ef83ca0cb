//! The global interpreter lock: who holds it, and who waits for it.
//!
//! A thread that waits for the lock sleeps in `futex` on a word of the lock's own structure (its condition
//! variable or mutex), so the futex's address alone tells this wait from all others: no symbol is needed.

use std::ops::Range;

use super::layout::{GilFields, GilPlace};
use super::snapshot::{field, u32_at, u64_at};
use super::{Location, PythonError};
use crate::{Avma, Memory, ReadPart};

/// The symbols of the lock's parts in 3.6, where each is a static variable of `ceval.c`: present in `.symtab`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GilSymbols {
    /// `gil_locked`.
    pub locked: Avma,
    /// `gil_last_holder`.
    pub last_holder: Avma,
    /// `gil_cond`, `gil_mutex`, `switch_cond` and `switch_mutex`, as far as they are known.
    pub waited_on: [Option<Avma>; 4],
}

/// One lock; from 3.12 on interpreters may each have their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Gil {
    last_holder: Avma,
    locked: Avma,
    enabled: Option<Avma>,
    waited_on: [Range<u64>; 4],
}

/// glibc's `pthread_cond_t` has 48 bytes, the largest of what is waited on.
const COND_SIZE: u64 = 48;

impl Gil {
    fn at(gil: Avma, fields: &GilFields) -> Gil {
        let extent = gil.0..gil.0.saturating_add(fields.size as u64);
        Gil {
            last_holder: field(gil, fields.last_holder),
            locked: field(gil, fields.locked),
            enabled: fields.enabled.map(|enabled| field(gil, enabled)),
            waited_on: [extent, 0..0, 0..0, 0..0],
        }
    }

    fn from_symbols(symbols: &GilSymbols) -> Gil {
        let range = |at: Option<Avma>| at.map_or(0..0, |at| at.0..at.0.saturating_add(COND_SIZE));
        Gil {
            last_holder: symbols.last_holder,
            locked: symbols.locked,
            enabled: None,
            waited_on: symbols.waited_on.map(range),
        }
    }

    /// Whether `futex` is a word of this lock.
    pub fn contains(&self, futex: Avma) -> bool {
        self.waited_on.iter().any(|range| range.contains(&futex.0))
    }

    /// The thread state that holds this lock now.
    pub fn holder(&self, memory: &impl Memory) -> Result<Option<Avma>, PythonError> {
        let (mut holder, mut locked, mut enabled) = ([0; 8], [0; 4], 1_u32.to_le_bytes());
        {
            let mut parts = [
                ReadPart { address: self.last_holder, bytes: &mut holder },
                ReadPart { address: self.locked, bytes: &mut locked },
                ReadPart { address: self.enabled.unwrap_or(self.locked), bytes: &mut enabled },
            ];
            let used = if self.enabled.is_some() { 3 } else { 2 };
            memory.read_many(parts.get_mut(..used).unwrap_or_default())?;
        }
        // `last_holder` keeps its value after the release; -1 in `locked` means not yet created.
        let held = u32_at(&locked, 0) == 1 && u32_at(&enabled, 0) != 0;
        Ok((held && u64_at(&holder, 0) != 0).then(|| Avma(u64_at(&holder, 0))))
    }
}

/// The locks of the interpreters at `interpreters`, each once.
pub(crate) fn find_gils(
    place: &GilPlace,
    location: &Location,
    interpreters: &[Avma],
    memory: &impl Memory,
    gils: &mut Vec<Gil>,
) -> Result<(), PythonError> {
    gils.clear();
    match place {
        GilPlace::Unknown => {}
        GilPlace::Symbols => gils.extend(location.gil_symbols.as_ref().map(Gil::from_symbols)),
        GilPlace::Runtime { gil } => gils.push(Gil::at(field(location.runtime, *gil), &GilFields::DEFAULT)),
        GilPlace::Interpreter { pointer, fields } => {
            for &interpreter in interpreters {
                let gil = Avma(memory.read_u64(field(interpreter, *pointer))?);
                let gil = Gil::at(gil, fields);
                // Subinterpreters without a lock of their own point to the main one's; NULL while being made.
                if gil.last_holder.0 > 0x1000 && !gils.contains(&gil) {
                    gils.push(gil);
                }
            }
        }
    }
    Ok(())
}
