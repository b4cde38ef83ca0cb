//! Python -> `sorted` -> Python -> `functools.reduce` -> Python -> C++ -> Python: the merged stack has exactly this
//! order, in every Python from 3.8 to 3.13 that the machine has, running and blocked.

use crate::support::Workplace;
use crate::support::profile::{self, function, is_broken};
use crate::support::profiler::record_threads;
use crate::support::target::{Python, Target, library, pythons};

/// The functions of nested.py and nested.cc from the root on, and what is at the bottom in each mode.
const DOWN: [&str; 7] =
    ["outermost", "sort_key", "reduce_step", "nested_entry", "nested_inner", "called_back", "bottom"];
const BOTTOMS: [(&str, Option<&str>); 4] = [
    ("sleep", None),
    ("spin", None),
    ("native-wait", Some("nested_wait")),
    ("native-spin", Some("nested_spin")),
];

#[test]
fn nested_python_and_native_calls_are_merged_in_call_order() {
    let work = Workplace::new("nested");
    let library = library("nested");
    for python in pythons() {
        for (mode, last) in BOTTOMS {
            let what = format!("Python {}, {mode}", python.name);
            let target = Target::start_python(&python, "nested.py", &[library.as_os_str(), mode.as_ref()]);
            let file = work.file(&format!("{}-{mode}.speedscope.json", python.name));
            let threads = record_threads(&target, "--idle -d 0.6 -r 100", &file);
            let nested = threads
                .iter()
                .find(|thread| thread.share_in("outermost") > 0.0)
                .unwrap_or_else(|| panic!("{what}: no stack with `outermost`"));
            check_order(&what, &python, nested, last);
            check_state(&what, mode, nested);
        }
    }
}

fn check_order(what: &str, python: &Python, nested: &profile::Thread, last: Option<&str>) {
    let expected: Vec<&str> = DOWN.into_iter().chain(last).collect();
    for (stack, _) in nested.samples.iter().filter(|(stack, _)| !is_broken(stack)) {
        let functions: Vec<&str> = stack.iter().map(|frame| function(frame)).collect();
        let ours = |name: &&str| DOWN.contains(name) || name.starts_with("nested_");
        let order: Vec<&str> = functions.iter().copied().filter(ours).collect();
        assert_eq!(order, expected, "{what}: {stack:#?}");
        if python.has_symbols {
            let between = |outer: &str, inner: &str, native: &str| {
                let position =
                    |name: &str| functions.iter().position(|function| *function == name).expect("present");
                functions[position(outer)..position(inner)].iter().any(|function| function.contains(native))
            };
            assert!(between("outermost", "sort_key", "list_sort"), "{what}: {stack:#?}");
            assert!(between("sort_key", "reduce_step", "functools_reduce"), "{what}: {stack:#?}");
        }
    }
    let broken = nested.share(is_broken);
    assert!(broken <= 0.02, "{what}: {:.1} % of the time has a broken stack", 100.0 * broken);
}

fn check_state(what: &str, mode: &str, nested: &profile::Thread) {
    let (share, state) = match mode {
        "sleep" => (nested.share_in_state("[blocked: "), "blocked"),
        "native-wait" => (nested.share_in_state("[blocked: futex]"), "blocked in futex"),
        // Whatever else runs here may keep it waiting for a CPU.
        _ => (nested.share_running() + nested.share_in_state("[runnable]"), "running or runnable"),
    };
    assert!(share > 0.95, "{what}: only {:.1} % {state}", 100.0 * share);
}
