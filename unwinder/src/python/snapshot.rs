//! Pieces of the target's memory, read together.
//!
//! A scattered read costs about a third of a microsecond per part, and hardly more for a longer part; so near
//! pieces are read as one. Two pieces less than a page apart have no unmapped page between them.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::PythonError;
use crate::{Avma, Memory, MemoryError, ReadPart};

/// Some bytes of the target that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Piece {
    pub address: Avma,
    pub length: usize,
}

impl Piece {
    pub fn new(address: Avma, length: usize) -> Piece {
        Piece { address, length }
    }

    fn end(&self) -> u64 {
        self.address.0.saturating_add(self.length as u64)
    }
}

/// A range of the target whose bytes are held.
#[derive(Clone, Copy, Debug)]
struct Region {
    address: Avma,
    length: usize,
    /// Where in `Snapshot::bytes`.
    at: usize,
    /// The highest end of this region and all before it.
    reach: u64,
}

impl Region {
    fn new(piece: &Piece, at: usize) -> Region {
        Region { address: piece.address, length: piece.length, at, reach: piece.end() }
    }

    /// Where `piece` is in `Snapshot::bytes`, if it lies inside.
    fn find(&self, piece: Piece) -> Option<Range<usize>> {
        let skip = usize::try_from(piece.address.offset_from(self.address)?).ok()?;
        let end = skip.checked_add(piece.length).filter(|&end| end <= self.length)?;
        Some(self.at + skip..self.at + end)
    }
}

/// Memory of the target at one instant, grown as it turns out what is needed. The target must not change it
/// meanwhile. Cleared and reused, it allocates only while growing.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    bytes: Vec<u8>,
    /// By address.
    regions: Vec<Region>,
    /// Small regions that were read one by one, by where they begin: a chain of thousands of frames that is met
    /// for the first time.
    singles: FxHashMap<Avma, Region>,
    joined: Vec<Piece>,
    parts: Vec<ReadPart<'static>>,
}

/// Unused bytes that are worth reading to save a part; less than a page, so that nothing unmapped is between.
const JOIN_GAP: u64 = 3072;
/// The largest piece that is only looked up by its start: larger ones hold many frames.
const MAX_SINGLE: usize = 512;
/// Linux takes at most 1024 parts (`UIO_MAXIOV`) in one call.
const MAX_PARTS: usize = 1024;
/// A thread's frames, code objects and names are far smaller.
const MAX_BYTES: usize = 64 << 20;

impl Snapshot {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.regions.clear();
        self.singles.clear();
    }

    /// The bytes of `piece`, if they are held.
    pub fn get(&self, piece: Piece) -> Option<&[u8]> {
        let single = self.singles.get(&piece.address).and_then(|single| single.find(piece));
        self.bytes.get(single.or_else(|| self.find(piece))?)
    }

    /// Regions may overlap: of those that begin before the piece, any that reaches far enough may hold it.
    fn find(&self, piece: Piece) -> Option<Range<usize>> {
        let after = self.regions.partition_point(|region| region.address <= piece.address);
        let before = self.regions.get(..after)?.iter().rev();
        before.take_while(|region| region.reach >= piece.end()).find_map(|region| region.find(piece))
    }

    /// The bytes of `piece`, read now if they are not held.
    pub fn bytes(&mut self, piece: Piece, memory: &impl Memory) -> Result<&[u8], MemoryError> {
        if self.get(piece).is_none() {
            let at = self.read(&[piece], memory)?;
            match piece.length {
                ..=MAX_SINGLE => _ = self.singles.insert(piece.address, Region::new(&piece, at)),
                _ => self.remember(&[piece], at),
            }
        }
        self.get(piece).ok_or(MemoryError { address: piece.address.0, length: piece.length })
    }

    /// Reads those of `pieces` that are not held, in as few calls as possible. Sorts them.
    pub fn fetch(&mut self, pieces: &mut [Piece], memory: &impl Memory) -> Result<(), MemoryError> {
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        pieces.sort_unstable();
        for &piece in pieces.iter().filter(|&&piece| self.get(piece).is_none()) {
            join(&mut joined, piece);
        }
        let outcome = joined.chunks(MAX_PARTS).try_for_each(|pieces| {
            let at = self.read(pieces, memory)?;
            self.remember(pieces, at);
            Ok(())
        });
        self.joined = joined;
        outcome
    }

    /// Reads `first` and `pieces` and then, into `again`, `pieces` and `first`, all in one call. What both held before
    /// is gone. Sorts the pieces.
    pub fn fetch_twice(
        &mut self,
        again: &mut Snapshot,
        first: Piece,
        pieces: &mut [Piece],
        memory: &impl Memory,
    ) -> Result<(), MemoryError> {
        self.clear();
        again.clear();
        let mut all = std::mem::take(&mut self.joined);
        all.clear();
        pieces.sort_unstable();
        pieces.iter().for_each(|&piece| join(&mut all, piece));
        let total = all.iter().map(|piece| piece.length).fold(first.length, usize::saturating_add);
        if total > MAX_BYTES || all.len() >= MAX_PARTS / 2 {
            self.joined = all;
            return Err(MemoryError { address: first.address.0, length: total });
        }
        all.insert(0, first);
        self.bytes.resize(total, 0);
        again.bytes.resize(total, 0);
        let mut parts = reuse(std::mem::take(&mut self.parts));
        push_parts(&mut parts, &all, &mut self.bytes);
        let half = parts.len();
        push_parts(&mut parts, &all, &mut again.bytes);
        if let Some(second) = parts.get_mut(half..) {
            second.rotate_left(1);
        }
        let outcome = memory.read_many(&mut parts);
        self.parts = reuse(parts);
        if outcome.is_ok() {
            self.remember(&all, 0);
            again.remember(&all, 0);
        }
        self.joined = all;
        outcome
    }

    /// Reads `pieces` in one call; gives where in `bytes` the first one is.
    fn read(&mut self, pieces: &[Piece], memory: &impl Memory) -> Result<usize, MemoryError> {
        let start = self.bytes.len();
        let mut end = start;
        for piece in pieces {
            end = end.saturating_add(piece.length);
            if end > MAX_BYTES {
                return Err(MemoryError { address: piece.address.0, length: piece.length });
            }
        }
        self.bytes.resize(end, 0);
        let mut parts = reuse(std::mem::take(&mut self.parts));
        push_parts(&mut parts, pieces, self.bytes.get_mut(start..).unwrap_or_default());
        let outcome = memory.read_many(&mut parts);
        self.parts = reuse(parts);
        if let Err(error) = outcome {
            self.bytes.truncate(start);
            return Err(error);
        }
        Ok(start)
    }

    /// Takes note that `pieces` are held from `at` on.
    fn remember(&mut self, pieces: &[Piece], mut at: usize) {
        for piece in pieces {
            self.regions.push(Region::new(piece, at));
            at += piece.length;
        }
        self.regions.sort_unstable_by_key(|region| region.address);
        let mut reach = 0;
        for region in &mut self.regions {
            reach = reach.max(region.address.0.saturating_add(region.length as u64));
            region.reach = reach;
        }
    }
}

/// Adds a piece to pieces in order; to the last one, if it is near.
fn join(joined: &mut Vec<Piece>, piece: Piece) {
    match joined.last_mut() {
        Some(last) if piece.address.0 <= last.end().saturating_add(JOIN_GAP) => {
            let end = last.end().max(piece.end());
            last.length = (end - last.address.0) as usize;
        }
        _ => joined.push(piece),
    }
}

/// Divides `bytes` among `pieces`.
fn push_parts<'b>(parts: &mut Vec<ReadPart<'b>>, pieces: &[Piece], mut bytes: &'b mut [u8]) {
    for piece in pieces {
        let Some((own, rest)) = bytes.split_at_mut_checked(piece.length) else { break };
        parts.push(ReadPart { address: piece.address, bytes: own });
        bytes = rest;
    }
}

/// An empty vector with the allocation of `parts`: collecting from a vector's own iterator keeps it.
fn reuse<'to>(mut parts: Vec<ReadPart<'_>>) -> Vec<ReadPart<'to>> {
    parts.clear();
    parts.into_iter().map_while(|_| None).collect()
}

/// The little-endian u64 at `at`; 0 beyond the end, which callers rule out by the length they ask for.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

/// The little-endian u32 at `at`, likewise.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word))
}

/// The address at `at`, likewise.
pub(crate) fn avma_at(bytes: &[u8], at: usize) -> Avma {
    Avma(u64_at(bytes, at))
}

/// The address of the field `field` bytes into the structure at `base`.
pub(crate) fn field(base: Avma, field: usize) -> Avma {
    base.offset(field as i64)
}

/// Notices a linked list that leads back into itself, by Brent's method: one remembered address, moved ahead
/// whenever the number of steps has doubled.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    remembered: Avma,
    steps: u64,
}

impl LoopGuard {
    pub fn visit(&mut self, address: Avma, list: &'static str) -> Result<(), PythonError> {
        if address == self.remembered {
            return Err(PythonError::Loop(list));
        }
        self.steps += 1;
        if self.steps.is_power_of_two() {
            self.remembered = address;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each byte is the low byte of its address.
    struct Counting;

    impl Memory for Counting {
        fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
            for (offset, byte) in into.iter_mut().enumerate() {
                *byte = (address.0 as usize + offset) as u8;
            }
            Ok(())
        }
    }

    /// Fetched in rounds, so that pieces lie before, inside, across and behind what is held already.
    #[test]
    fn every_fetched_piece_is_found() {
        let mut snapshot = Snapshot::default();
        let piece = |at: u64, length| Piece::new(Avma(0x10000 + at), length);
        let rounds = [
            vec![piece(0x1000, 0x90), piece(0x9000, 8)],
            vec![piece(0xf00, 0x90), piece(0x1180, 0x90)],
            vec![piece(0x1040, 0x90), piece(0x100, 0x4000)],
            vec![piece(0x8ff0, 0x18), piece(0x9004, 0x10)],
        ];
        let mut fetched = Vec::new();
        for mut round in rounds {
            snapshot.fetch(&mut round, &Counting).expect("readable");
            let single = piece(0x20000 + 8 * fetched.len() as u64, 16);
            snapshot.bytes(single, &Counting).expect("readable");
            fetched.extend(round.into_iter().chain([single]));
            for &piece in &fetched {
                let bytes = snapshot.get(piece).unwrap_or_else(|| panic!("{piece:?} is not held"));
                let expected: Vec<u8> =
                    (0..piece.length).map(|at| (piece.address.0 as usize + at) as u8).collect();
                assert_eq!(bytes, expected);
            }
        }
    }

    #[test]
    fn a_list_that_leads_back_is_noticed() {
        for (before, length) in [(0, 1), (0, 7), (5, 1), (100, 33)] {
            let mut guard = LoopGuard::default();
            let addresses =
                (1..).map(|step| if step <= before { step } else { before + 1 + (step - before) % length });
            let mut visits = addresses.take(1000).map(|address: u64| guard.visit(Avma(address * 8), "items"));
            assert!(visits.any(|visit| visit == Err(PythonError::Loop("items"))), "{before} {length}");
        }
    }
}
