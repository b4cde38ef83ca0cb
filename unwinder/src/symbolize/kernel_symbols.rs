//! Names of kernel functions, from `/proc/kallsyms`.

use std::io::{self, BufRead};

/// The kernel's function symbols by address.
#[derive(Clone, Debug, Default)]
pub struct KernelSymbols {
    /// Sorted by address.
    functions: Vec<(u64, Box<str>)>,
}

/// A function has no stated size; beyond this distance the address is not in it but in a module that was
/// unloaded, or in code without symbols. The largest real functions have some hundred kilobytes.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;

impl KernelSymbols {
    /// Reads the format of `/proc/kallsyms`: `ffffffff81000000 T _stext`, with `\t[module]` appended for a
    /// module's symbols. Lines that are something else are passed over. Where the kernel hides its addresses
    /// (all are 0, see `kptr_restrict` in proc(5)) nothing is named.
    pub fn read(kallsyms: impl BufRead) -> io::Result<Self> {
        let mut functions = Vec::new();
        for line in kallsyms.split(b'\n') {
            let line = line?;
            functions.extend(std::str::from_utf8(&line).ok().and_then(parse_line));
        }
        functions.sort();
        functions.dedup_by_key(|&mut (address, _)| address);
        Ok(KernelSymbols { functions })
    }

    /// The function that `address` lies in.
    pub fn name_at(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|&(start, _)| start <= address);
        let (start, name) = self.functions.get(after.checked_sub(1)?)?;
        (address.checked_sub(*start)? < MAX_FUNCTION_BYTES).then_some(name)
    }
}

fn parse_line(line: &str) -> Option<(u64, Box<str>)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|&address| address != 0)?;
    let kind = words.next()?;
    let name = words.next()?;
    matches!(kind, "t" | "T" | "w" | "W").then(|| (address, name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KALLSYMS: &str = "ffffffff81000000 T _stext\n\
                            not a line\n\
                            ffffffff81000100 t do_one_thing\n\
                            ffffffff81000200 D some_data\n\
                            ffffffffc0000000 t nf_hook\t[nf_tables]\n";

    #[test]
    fn names_the_function_that_covers_an_address() {
        let symbols = KernelSymbols::read(KALLSYMS.as_bytes()).unwrap();
        assert_eq!(symbols.name_at(0xffffffff81000000), Some("_stext"));
        assert_eq!(symbols.name_at(0xffffffff810000ff), Some("_stext"));
        assert_eq!(symbols.name_at(0xffffffff81000280), Some("do_one_thing"));
        assert_eq!(symbols.name_at(0xffffffffc0000010), Some("nf_hook"));
        assert_eq!(symbols.name_at(0xffffffff80ffffff), None);
        assert_eq!(symbols.name_at(0xffffffffa0000000), None, "far from every function");
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        let hidden = "0000000000000000 T _stext\n0000000000000000 t do_one_thing\n";
        let symbols = KernelSymbols::read(hidden.as_bytes()).unwrap();
        assert_eq!(symbols.name_at(0), None);
        assert_eq!(symbols.name_at(0xffffffff81000000), None);
    }
}
