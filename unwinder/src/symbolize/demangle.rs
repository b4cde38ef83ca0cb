//! From linker names to what the programmer wrote.
//!
//! Names are shown as py-spy and perf show them, short enough for a flame graph: template arguments stay,
//! since they tell instances apart; return types, parameters, Rust's hashes, symbol versions and the suffixes
//! that compilers give to clones and outlined parts of one function (`.cold`, `.part.0`, `.constprop.1`) go.

use std::fmt;
use std::sync::Arc;

use cpp_demangle::{DemangleOptions, ParseOptions};
use rustc_hash::FxHashMap;

/// Longer symbols are shown as they are. The longest real ones (expression templates) have some ten thousand
/// bytes; demangling is not linear in the length.
const MAX_MANGLED_BYTES: usize = 32 << 10;

/// Longer names are cut. Substitutions let a mangled name of a few bytes stand for exponentially many.
const MAX_DEMANGLED_BYTES: usize = 16 << 10;

/// Nesting that parser and printer follow, each level on our own stack; somewhat above the parser's default of
/// 96, for the sake of expression templates.
const RECURSION_LIMIT: u32 = 160;

/// What stands at the end of a name that was cut.
const CUT: &str = "...";

/// Readable names by linker's name: demangling costs more than all else that is done for an address, and one
/// function is met at many addresses.
#[derive(Debug, Default)]
pub(super) struct DemangledNames {
    known: FxHashMap<Box<str>, Arc<str>>,
}

impl DemangledNames {
    /// The readable form of a symbol's name, see [`demangle`].
    pub(super) fn of(&mut self, symbol: &str) -> Arc<str> {
        if let Some(name) = self.known.get(symbol) {
            return name.clone();
        }
        let name: Arc<str> = demangle(symbol).into();
        self.known.insert(symbol.into(), name.clone());
        name
    }
}

/// The readable form of a symbol's name; names that are not mangled come back as they are.
pub(super) fn demangle(symbol: &str) -> String {
    let name = strip_version(symbol);
    if name.len() > MAX_MANGLED_BYTES {
        return cut(name);
    }
    let name = strip_clone_suffix(name);
    rust(name).or_else(|| cpp(name)).unwrap_or_else(|| cut(name))
}

/// Whether a name is one that only a linker needs, so that it also carries the function's scope.
pub(super) fn is_mangled(symbol: &str) -> bool {
    symbol.starts_with("_Z") || symbol.starts_with("_R")
}

/// `memcpy@@GLIBC_2.14` is `memcpy`.
fn strip_version(symbol: &str) -> &str {
    match symbol.split_once('@') {
        Some((name, _)) if !name.is_empty() => name,
        _ => symbol,
    }
}

/// The function's own name, without what GCC and LLVM append to the parts and copies they make of it.
fn strip_clone_suffix(symbol: &str) -> &str {
    const SUFFIXES: [&str; 9] = [
        ".cold",
        ".part.",
        ".isra.",
        ".constprop.",
        ".lto_priv.",
        ".llvm.",
        ".hot",
        ".clone.",
        ".localalias",
    ];
    let end = SUFFIXES.iter().filter_map(|suffix| symbol.find(suffix)).filter(|&at| at > 0).min();
    end.and_then(|end| symbol.get(..end)).unwrap_or(symbol)
}

/// Rust's two manglings: `_R...` (v0), and the older one, which is that of a C++ name whose last part is a hash.
fn rust(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_R") && !has_rust_hash(symbol) {
        return None;
    }
    let demangled = rustc_demangle::try_demangle(symbol).ok()?;
    let mut name = BoundedName::default();
    // The alternate form leaves the hash out.
    let printed = fmt::write(&mut name, format_args!("{demangled:#}"));
    name.finish(printed)
}

/// `17h` and sixteen hexadecimal digits, as the last path component of rustc's older mangling.
fn has_rust_hash(symbol: &str) -> bool {
    symbol.match_indices("17h").any(|(at, _)| {
        let hash = symbol.as_bytes().get(at + 3..at + 19);
        hash.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            && symbol.as_bytes().get(at + 19) == Some(&b'E')
    })
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(RECURSION_LIMIT);
    let parsed = cpp_demangle::Symbol::new_with_options(symbol, &parse).ok()?;
    let options = DemangleOptions::new()
        .no_params()
        .no_return_type()
        .hide_expression_literal_types()
        .recursion_limit(RECURSION_LIMIT);
    let mut name = BoundedName::default();
    let printed = parsed.structured_demangle(&mut name, &options);
    name.finish(printed).map(|name| without_scope_parameters(&name))
}

/// Takes the parameters out of scopes too, and the qualifiers that stand behind them:
/// `f(int)::{lambda(int)#1}::operator() const` is `f::{lambda(int)#1}::operator()`.
fn without_scope_parameters(name: &str) -> String {
    const QUALIFIERS: [&str; 5] = [" const", " volatile", " &&", " &", " noexcept"];
    let mut kept = String::with_capacity(name.len());
    // Where in `kept` the parentheses that are still open begin.
    let mut open: Vec<usize> = Vec::new();
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
        if next == '(' {
            open.push(kept.len());
        }
        kept.push(next);
        if next != ')' {
            continue;
        }
        let mut after = rest;
        while let Some(shorter) = QUALIFIERS.iter().find_map(|qualifier| after.strip_prefix(qualifier)) {
            after = shorter;
        }
        let group = open.pop().and_then(|at| kept.split_at_checked(at));
        let Some((before, group)) = group else { continue };
        let is_name = group == "(anonymous namespace)" || (group == "()" && before.ends_with("operator"));
        if after.is_empty() {
            rest = after;
        } else if after.starts_with("::") {
            rest = after;
            if !is_name {
                kept.truncate(before.len());
            }
        }
    }
    kept
}

/// A name that stops growing at [`MAX_DEMANGLED_BYTES`].
#[derive(Default)]
struct BoundedName {
    text: String,
    is_full: bool,
}

impl BoundedName {
    /// The name, when printing went well or was stopped here; other errors mean that it is not a name.
    fn finish(self, printed: fmt::Result) -> Option<String> {
        match printed {
            Ok(()) => Some(self.text),
            Err(fmt::Error) => self.is_full.then(|| self.text + CUT),
        }
    }
}

impl fmt::Write for BoundedName {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len() + text.len() > MAX_DEMANGLED_BYTES {
            self.is_full = true;
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

fn cut(name: &str) -> String {
    if name.len() <= MAX_DEMANGLED_BYTES {
        return name.to_owned();
    }
    let end = name.floor_char_boundary(MAX_DEMANGLED_BYTES);
    name.get(..end).unwrap_or_default().to_owned() + CUT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpp_names_keep_template_arguments_and_lose_parameters() {
        assert_eq!(demangle("_ZNK5Shard6handleEi"), "Shard::handle");
        assert_eq!(
            demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back"
        );
        assert_eq!(demangle("_ZN12_GLOBAL__N_14workEv"), "(anonymous namespace)::work");
        assert_eq!(demangle("_ZN3FooclEi"), "Foo::operator()");
        assert_eq!(demangle("_ZN3FoocvbEv"), "Foo::operator bool");
        assert_eq!(demangle("_ZN3FooD1Ev"), "Foo::~Foo");
    }

    #[test]
    fn scopes_lose_their_parameters_too() {
        assert_eq!(demangle("_ZZ4mainENKUliE_clEi"), "main::{lambda(int)#1}::operator()");
        assert_eq!(demangle("_ZZN1S3runEPKcENKUlvE0_clEv"), "S::run::{lambda()#2}::operator()");
        assert_eq!(
            demangle("_ZZN12_GLOBAL__N_14workEiENKUlvE_clEv"),
            "(anonymous namespace)::work::{lambda()#1}::operator()"
        );
    }

    #[test]
    fn parts_and_clones_have_the_name_of_their_function() {
        assert_eq!(demangle("_ZNK5Shard6handleEi.cold"), "Shard::handle");
        assert_eq!(demangle("_ZNK5Shard6handleEi.constprop.0.isra.0"), "Shard::handle");
        assert_eq!(demangle("_PyEval_EvalFrameDefault.cold"), "_PyEval_EvalFrameDefault");
        assert_eq!(demangle("inflate.part.3"), "inflate");
        assert_eq!(demangle("memcpy@@GLIBC_2.14"), "memcpy");
    }

    #[test]
    fn rust_names_lose_their_hash() {
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123456"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(demangle("_RNvCskwGfYPst2Cb_7mycrate4main"), "mycrate::main");
    }

    #[test]
    fn what_is_not_mangled_stays() {
        for name in ["main", "_start", "__libc_start_main", "_Z", "_ZN", "_R", "operator()", ".cold"] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn hostile_names_are_bounded() {
        let nested = format!("_Z1f{}i", "P".repeat(20_000));
        assert!(demangle(&nested).len() <= nested.len() + CUT.len());
        // Each substitution doubles what the one before stands for.
        let mut doubling = String::from("_Z1fI1AIiiE");
        for level in 0..200 {
            doubling += &format!("1AIS{}_S{}_E", base36(level), base36(level));
        }
        doubling += "Evv";
        assert!(demangle(&doubling).len() <= MAX_DEMANGLED_BYTES + CUT.len());
        let long = "x".repeat(1 << 20);
        assert_eq!(demangle(&long).len(), MAX_DEMANGLED_BYTES + CUT.len());
    }

    /// A thread's stack has at least 2 MiB unless its maker says otherwise.
    #[test]
    fn deep_nesting_fits_a_quarter_of_a_threads_stack() {
        let deep = || {
            for shape in
                ["P", "PF", "1AI", "1AILi1E1BI", "Z1f", "N1AI", "DpT_", "DTsz", "XadL_Z1f", "M1A", "UlT_E"]
            {
                demangle(&format!("_Z1fI{}", shape.repeat(2000)));
                demangle(&format!("_Z1f{}i", shape.repeat(2000)));
                for depth in [20, 40, 60, 80, 100, 120, 140, 160] {
                    demangle(&format!("_Z1f{}i{}", shape.repeat(depth), "E".repeat(depth)));
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(deep);
        thread.expect("a thread").join().expect("no panic");
    }

    fn base36(number: usize) -> String {
        let digit = |value: usize| char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % 36]);
        if number < 36 {
            digit(number).to_string()
        } else {
            format!("{}{}", digit(number / 36), digit(number))
        }
    }
}
