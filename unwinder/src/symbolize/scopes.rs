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

use gimli::{DebuggingInformationEntry, DwAt, UnitOffset, UnitRef};
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

/// Scopes found so far, by the declaration that they enclose.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    known: FxHashMap<(gimli::UnitSectionOffset, UnitOffset), Option<String>>,
}

impl Scopes {
    /// The full name of the function of which `function` is a concrete or inlined instance with the bare name
    /// `name`; `None` when it is in no scope, or not that function.
    pub(super) fn qualify(
        &mut self,
        unit: UnitRef<'_, Section>,
        function: UnitOffset,
        name: &str,
    ) -> Option<String> {
        let declaration = declaration(unit, unit.entry(function).ok()?)?;
        if string(unit, &declaration, gimli::DW_AT_name)? != name {
            return None;
        }
        let key = (unit.header.offset(), declaration.offset());
        let scope =
            self.known.entry(key).or_insert_with(|| scope_of(unit, declaration.offset(), MAX_FUNCTIONS));
        let scope = scope.as_deref()?;
        match scope.strip_suffix(UNNAMED) {
            Some(outside) if name == "operator()" => Some(format!("{outside}{{lambda}}::{name}")),
            _ => Some(format!("{scope}::{name}")),
        }
    }
}

/// Follows an entry to where the function was first declared.
fn declaration(unit: UnitRef<'_, Section>, mut entry: Entry) -> Option<Entry> {
    for _ in 0..MAX_LINKS {
        let link = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
        let Some(link) = link.iter().find_map(|&name| entry.attr_value(name)) else { return Some(entry) };
        // Links to other units (link-time optimisation) are not followed: the bare name has to do.
        let gimli::AttributeValue::UnitRef(next) = link else { return None };
        entry = unit.entry(next).ok()?;
    }
    None
}

/// The scope that encloses an entry, as `app::(anonymous namespace)::Local`; `None` at the outermost level.
fn scope_of(unit: UnitRef<'_, Section>, entry: UnitOffset, functions_left: usize) -> Option<String> {
    let mut scope: Option<String> = None;
    for ancestor in ancestors(unit, entry)? {
        let part = match ancestor.tag() {
            gimli::DW_TAG_namespace => named(unit, &ancestor, "(anonymous namespace)"),
            gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type => {
                named(unit, &ancestor, UNNAMED)
            }
            gimli::DW_TAG_subprogram => {
                // A function's own name says what encloses it, wherever its entry stands.
                scope = Some(function_name(unit, ancestor, functions_left.checked_sub(1)?)?);
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

fn function_name(unit: UnitRef<'_, Section>, function: Entry, functions_left: usize) -> Option<String> {
    let declaration = declaration(unit, function)?;
    if let Some(symbol) = string(unit, &declaration, gimli::DW_AT_linkage_name) {
        return Some(demangle(&symbol));
    }
    let name = string(unit, &declaration, gimli::DW_AT_name)?;
    match scope_of(unit, declaration.offset(), functions_left) {
        Some(scope) => Some(format!("{scope}::{name}")),
        None => Some(name),
    }
}

/// The entries that enclose the one at `target`, outermost first, without the unit's root.
fn ancestors(unit: UnitRef<'_, Section>, target: UnitOffset) -> Option<Vec<Entry>> {
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

fn named(unit: UnitRef<'_, Section>, entry: &Entry, otherwise: &str) -> String {
    string(unit, entry, gimli::DW_AT_name).unwrap_or_else(|| otherwise.to_owned())
}

fn string(unit: UnitRef<'_, Section>, entry: &Entry, attribute: DwAt) -> Option<String> {
    use gimli::Reader as _;
    let value = unit.attr_string(entry.attr_value(attribute)?).ok()?;
    value.to_string_lossy().ok().map(|text| text.into_owned())
}
