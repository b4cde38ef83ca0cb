//! Namespaces and classes of functions for which the compiler recorded no linker's name.
//!
//! GCC records `DW_AT_linkage_name` only of functions that a linker could see. Of a lambda, or of a function in
//! an anonymous namespace, that was inlined there is just `operator()` or `helper`; its scope is where its
//! declaration stands in the tree of entries (DWARF 5, section 3.3):
//!
//! ```text
//!   namespace app
//!     subprogram outer, _ZN3app5outerEi
//!       structure_type                       inlined_subroutine
//!         subprogram operator()  ◄─────────── abstract_origin       => app::outer::{lambda}::operator()
//! ```
//!
//! Entries do not point to their parents, so the way to one is searched from the root of its unit, past the
//! siblings before it, which `DW_AT_sibling` makes quick.

use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwAt, UnitOffset, UnitRef, UnitSectionOffset,
};
use rustc_hash::FxHashMap;

use super::debug_info::Section;
use super::demangle::demangle;

/// Deeper scopes are not followed; real ones nest about ten deep.
const MAX_DEPTH: usize = 64;

/// From a concrete function over its abstract origin to its declaration there are two steps.
const MAX_LINKS: usize = 4;

/// A function's scope may be another function (of a lambda), and so on.
const MAX_FUNCTIONS: usize = 8;

/// A class without a name, until it turns out to be a lambda's.
const UNNAMED: &str = "{unnamed}";

type Entry = DebuggingInformationEntry<Section>;
type Unit<'a> = UnitRef<'a, Section>;

/// Scopes found so far, by the entry that an instance of the function refers to.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    known: FxHashMap<(UnitSectionOffset, Link), Option<Declared>>,
}

/// A function's declaration.
#[derive(Clone, Debug)]
struct Declared {
    name: String,
    scope: Option<String>,
}

/// How an entry refers to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Link {
    /// In the same unit.
    Unit(UnitOffset),
    /// In another unit of the file, as link-time optimisation and `dwz` write it.
    File(DebugInfoOffset),
    /// In the supplementary file.
    Supplementary(DebugInfoOffset),
}

impl Scopes {
    /// The full name of the function of which `function` is a concrete or inlined instance with the bare name
    /// `name`; `None` when it is in no scope, or not that function.
    pub(super) fn qualify(&mut self, unit: Unit<'_>, function: UnitOffset, name: &str) -> Option<String> {
        let link = link(&unit.entry(function).ok()?).unwrap_or(Link::Unit(function));
        let key = (unit.header.offset(), link);
        let find = || follow(unit, link, MAX_LINKS, &mut |unit, entry| declared(unit, entry, MAX_FUNCTIONS));
        let declared = self.known.entry(key).or_insert_with(find).as_ref()?;
        let scope = declared.scope.as_deref().filter(|_| declared.name == name)?;
        match scope.strip_suffix(UNNAMED) {
            Some(outside) if name == "operator()" => Some(format!("{outside}{{lambda}}::{name}")),
            _ => Some(format!("{scope}::{name}")),
        }
    }
}

fn declared(unit: Unit<'_>, declaration: &Entry, functions_left: usize) -> Option<Declared> {
    let name = string(unit, declaration, gimli::DW_AT_name)?;
    Some(Declared { name, scope: scope_of(unit, declaration.offset(), functions_left) })
}

/// The entry that an instance of a function, or its definition outside of its class, refers to.
fn link(entry: &Entry) -> Option<Link> {
    let attributes = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
    match attributes.iter().find_map(|&name| entry.attr_value(name))? {
        AttributeValue::UnitRef(offset) => Some(Link::Unit(offset)),
        AttributeValue::DebugInfoRef(offset) => Some(Link::File(offset)),
        AttributeValue::DebugInfoRefSup(offset) => Some(Link::Supplementary(offset)),
        _ => None,
    }
}

/// Follows links to where the function was first declared, and looks at it there.
fn follow<T>(
    unit: Unit<'_>,
    to: Link,
    links_left: usize,
    look: &mut dyn FnMut(Unit<'_>, &Entry) -> Option<T>,
) -> Option<T> {
    let links_left = links_left.checked_sub(1)?;
    let (dwarf, offset) = match to {
        Link::Unit(offset) => {
            let entry = unit.entry(offset).ok()?;
            return match link(&entry) {
                Some(next) => follow(unit, next, links_left, look),
                None => look(unit, &entry),
            };
        }
        Link::File(offset) => (unit.dwarf, offset),
        Link::Supplementary(offset) => (unit.dwarf.sup()?, offset),
    };
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        if let Some(offset) = offset.to_unit_offset(&header) {
            let unit = dwarf.unit(header).ok()?;
            return follow(unit.unit_ref(dwarf), Link::Unit(offset), links_left, look);
        }
    }
    None
}

/// The scope that encloses an entry, as `app::(anonymous namespace)::Local`; `None` at the outermost level.
fn scope_of(unit: Unit<'_>, entry: UnitOffset, functions_left: usize) -> Option<String> {
    let mut scope: Option<String> = None;
    for ancestor in ancestors(unit, entry)? {
        let part = match ancestor.tag() {
            gimli::DW_TAG_namespace => named(unit, &ancestor, "(anonymous namespace)"),
            gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type => {
                named(unit, &ancestor, UNNAMED)
            }
            gimli::DW_TAG_subprogram => {
                // A function's own name says what encloses it, wherever its entry stands.
                let functions_left = functions_left.checked_sub(1)?;
                let link = link(&ancestor).unwrap_or(Link::Unit(ancestor.offset()));
                let mut name = |unit: Unit<'_>, entry: &Entry| function_name(unit, entry, functions_left);
                scope = Some(follow(unit, link, MAX_LINKS, &mut name)?);
                continue;
            }
            _ => continue,
        };
        scope = Some(match scope {
            Some(outer) => outer + "::" + &part,
            None => part,
        });
    }
    scope
}

fn function_name(unit: Unit<'_>, declaration: &Entry, functions_left: usize) -> Option<String> {
    if let Some(symbol) = string(unit, declaration, gimli::DW_AT_linkage_name) {
        return Some(demangle(&symbol));
    }
    let Declared { name, scope } = declared(unit, declaration, functions_left)?;
    Some(match scope {
        Some(scope) => format!("{scope}::{name}"),
        None => name,
    })
}

/// The entries that enclose the one at `target`, outermost first, without the unit's root.
fn ancestors(unit: Unit<'_>, target: UnitOffset) -> Option<Vec<Entry>> {
    let mut ancestors = Vec::new();
    let mut parent = None;
    for _ in 0..MAX_DEPTH {
        let mut tree = unit.entries_tree(parent).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut enclosing = None;
        while let Some(child) = children.next().ok()? {
            let offset = child.entry().offset();
            if offset == target {
                return Some(ancestors);
            }
            if offset > target {
                break;
            }
            enclosing = Some(offset);
        }
        ancestors.push(unit.entry(enclosing?).ok()?);
        parent = enclosing;
    }
    None
}

fn named(unit: Unit<'_>, entry: &Entry, otherwise: &str) -> String {
    string(unit, entry, gimli::DW_AT_name).unwrap_or_else(|| otherwise.to_owned())
}

fn string(unit: Unit<'_>, entry: &Entry, attribute: DwAt) -> Option<String> {
    use gimli::Reader as _;
    let value = unit.attr_string(entry.attr_value(attribute)?).ok()?;
    value.to_string_lossy().ok().map(|text| text.into_owned())
}
