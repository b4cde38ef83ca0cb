//! Names of code made at run time, from perf map files.
//!
//! Java's perf agent, node's `--perf-basic-prof` and Python's `-X perf` write `/tmp/perf-PID.map` with one
//! `START SIZE name` per line, numbers hexadecimal: the kernel's `tools/perf/Documentation/jit-interface.txt`.

use std::io::{self, BufRead};

use crate::Avma;

/// More than any real map file has; the file is the target's, and it may write without end.
const MAX_MAP_BYTES: u64 = 256 << 20;

/// The functions that one process made at run time, by address.
#[derive(Clone, Debug, Default)]
pub struct PerfMap {
    /// Sorted by start, without overlap.
    functions: Vec<Function>,
}

#[derive(Clone, Debug)]
struct Function {
    start: Avma,
    end: Avma,
    name: Box<str>,
}

impl PerfMap {
    /// Reads a map file. Lines that are something else are passed over. Where functions overlap, memory was
    /// used again, and the later line is the true one.
    pub fn read(map: impl BufRead) -> io::Result<Self> {
        let mut functions: Vec<(usize, Function)> = Vec::new();
        for (order, line) in map.take(MAX_MAP_BYTES).split(b'\n').enumerate() {
            functions.extend(parse_line(&String::from_utf8_lossy(&line?)).map(|function| (order, function)));
        }
        functions.sort_by_key(|&(order, ref function)| (function.start, order));
        let mut kept: Vec<(usize, Function)> = Vec::with_capacity(functions.len());
        for (order, function) in functions {
            while kept.pop_if(|(old, before)| *old < order && before.end > function.start).is_some() {}
            match kept.last() {
                Some((_, newer)) if newer.end > function.start => {}
                _ => kept.push((order, function)),
            }
        }
        Ok(PerfMap { functions: kept.into_iter().map(|(_, function)| function).collect() })
    }

    /// The function whose bytes include `address`.
    pub fn name_at(&self, address: Avma) -> Option<&str> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (address < function.end).then_some(&function.name)
    }
}

fn parse_line(line: &str) -> Option<Function> {
    let mut parts = line.splitn(3, ' ');
    let start = u64::from_str_radix(parts.next()?.trim_start_matches("0x"), 16).ok()?;
    let size =
        u64::from_str_radix(parts.next()?.trim_start_matches("0x"), 16).ok().filter(|&size| size > 0)?;
    let name = parts.next()?.trim();
    let end = start.checked_add(size)?;
    (!name.is_empty()).then(|| Function { start: Avma(start), end: Avma(end), name: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_spaces_are_kept_whole_and_gaps_are_nobodys() {
        let map =
            PerfMap::read(&b"1000 20 LazyCompile:~run app.js:3\nnonsense\n2000 zz x\n1040 10 py::f\n"[..])
                .unwrap();
        assert_eq!(map.name_at(Avma(0x101f)), Some("LazyCompile:~run app.js:3"));
        assert_eq!(map.name_at(Avma(0x1020)), None);
        assert_eq!(map.name_at(Avma(0x1045)), Some("py::f"));
        assert_eq!(map.name_at(Avma(0xfff)), None);
    }

    #[test]
    fn of_overlapping_functions_the_later_line_holds() {
        let map = PerfMap::read(&b"1000 100 old\n1080 100 new\n"[..]).unwrap();
        assert_eq!(map.name_at(Avma(0x1080)), Some("new"));
        let map = PerfMap::read(&b"1080 100 old\n1000 100 new\n"[..]).unwrap();
        assert_eq!(map.name_at(Avma(0x1080)), Some("new"));
    }
}
